"""How long things may take, and how much may pile up, before it counts."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

_A_WEEK = 7 * 86_400
Seconds = Annotated[int, Field(gt=0, le=_A_WEEK)]
Tolerance = Annotated[int, Field(ge=0, le=_A_WEEK)]
Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
Ratio = Annotated[float, Field(gt=1, allow_inf_nan=False)]


class Thresholds(BaseModel):
    """How long things may take, in seconds (by the client's timers), and how many messages there may be."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    convergence_seconds: Tolerance = 20
    heartbeat_seconds: Tolerance = 30
    persistent_after_seconds: Tolerance = 150
    storm_rebalances: Annotated[Count, Field(ge=2)] = 5
    storm_seconds: Seconds = 600
    flapping_times: Annotated[Count, Field(ge=1)] = 3
    redelivery_messages: Count = 10_000
    route_poll_seconds: Tolerance = 30
    silent_after_seconds: Tolerance = 60
    pull_idle_seconds: Tolerance = 120
    cached_messages: Count = 1000
    cached_mib: Count = 100
    cached_span: Count = 1000
    busy_percent: Count = 90
    busy_after_seconds: Tolerance = 120
    near_capacity_percent: Count = 80
    near_capacity_seconds: Tolerance = 300
    rt_rise_ratio: Ratio = 3.0
    slow_rt_ms: Count = 100
    failing_percent: Annotated[Count, Field(ge=1, le=100)] = 10
    failing_messages: Annotated[Count, Field(ge=1)] = 10
    allowed_lag: Count = 32
    verdict_window_seconds: Seconds = 300
    verdict_window_readings: Annotated[int, Field(ge=2, le=1000)] = 5
    stalled_after_seconds: Tolerance = 120
    rewind_tolerance: Count = 64
    skew_ratio: Ratio = 2.0
    skew_messages_per_queue: Count = 100
    retention_seconds: Tolerance = 21_600
    reserved_seconds: Annotated[int, Field(gt=0, le=366 * 86_400)] = 259_200

    @property
    def settled_seconds(self) -> int:
        """After a change: until the group agrees, and all members have sent their next heartbeats."""
        return self.convergence_seconds + self.heartbeat_seconds
