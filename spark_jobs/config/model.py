"""The keys of a configuration file, their types and defaults."""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from spark_jobs.config.values import Count, NamePattern, Ratio, RoomPattern, Seconds, StrategyName, Tolerance
from spark_jobs.domain.intervals import StepGrid
from spark_jobs.errors import IntervalError

#: YAML gives lists; frozen values hold tuples.
_List = Field(strict=False)


class _Section(BaseModel):
    """A mapping of the file: unknown keys and near-misses of type are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Thresholds(_Section):
    """How long things may take before they count, in seconds (semantics of the client's timers), and how much it may
    be, in messages.
    """

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
    cached_span: Count = 2000
    busy_percent: Count = 90
    busy_after_seconds: Tolerance = 120
    rt_rise_ratio: Ratio = 3.0
    slow_rt_ms: Count = 100
    allowed_lag: Count = 32
    stalled_after_seconds: Tolerance = 120
    rewind_tolerance: Count = 64
    skew_ratio: Ratio = 2.0
    skew_messages_per_queue: Count = 100
    retention_seconds: Tolerance = 21_600


class QueueList(_Section):
    """Queues of one broker that CONFIG gives to every client whose whole id matches `client`."""

    client: NamePattern
    topic: str
    broker: str
    queues: Annotated[tuple[Count, ...], _List]


class GroupEntry(_Section):
    """Settings of the groups that match; without `group`, of every group of the clusters that match."""

    cluster: NamePattern = ".*"
    group: NamePattern | None = None
    strategy: StrategyName | None = None
    virtual_node_count: Count | None = None
    rooms: Annotated[tuple[str, ...], _List] | None = None
    broker_room: RoomPattern | None = None
    client_room: RoomPattern | None = None
    config_queues: Annotated[tuple[QueueList, ...], _List] | None = None


class Quality(_Section):
    """What the data-quality gate allows."""

    max_quarantined_percent: Annotated[float, Field(ge=0, le=100)] = 1.0
    seen_percent: Annotated[float, Field(ge=0, le=100)] = 90.0
    offset_tolerance: Count = 10_000
    usual_days: Annotated[Count, Field(ge=1)] = 14
    usual_deviations: Annotated[float, Field(gt=0)] = 5.0


class Configuration(_Section):
    """The effective configuration of a run: what the file says over the defaults."""

    step_seconds: Seconds = 3600
    cadence_seconds: Seconds = 20
    max_gap_seconds: Seconds | None = None
    thresholds: Thresholds = Thresholds()
    quality: Quality = Quality()
    groups: Annotated[tuple[GroupEntry, ...], _List] = ()

    @model_validator(mode="after")
    def _check_times(self) -> Self:
        try:
            _ = self.grid
        except IntervalError as error:
            raise ValueError(f"step_seconds: {error}") from None
        for name, seconds, what in (
            ("step_seconds", self.step_seconds, "a step would hold no snapshot"),
            ("max_gap_seconds", self.max_gap_seconds, "a gap would follow every snapshot"),
        ):
            if seconds is not None and seconds < self.cadence_seconds:
                shorter = f"is shorter than cadence_seconds ({self.cadence_seconds})"
                raise ValueError(f"{name} ({seconds}) {shorter}: {what}")
        return self

    @property
    def grid(self) -> StepGrid:
        """The audit steps of the warehouse."""
        return StepGrid(timedelta(seconds=self.step_seconds))

    @property
    def cadence(self) -> timedelta:
        """Time between two snapshots of the same thing."""
        return timedelta(seconds=self.cadence_seconds)

    @property
    def max_gap(self) -> timedelta:
        """How long a state holds without another snapshot; 3 × cadence unless set."""
        return timedelta(seconds=self.max_gap_seconds) if self.max_gap_seconds else 3 * self.cadence

    @property
    def warm_up(self) -> timedelta:
        """How far before a step its states are replayed, so that what lasts is told from what is new."""
        return timedelta(seconds=self.thresholds.persistent_after_seconds) + self.max_gap

    @property
    def look_back(self) -> timedelta:
        """How far before a step snapshots are read: the warm-up, and the state that held when it began."""
        return self.warm_up + self.max_gap

    def canonical_json(self) -> str:
        """One line with sorted keys and effective values: equal for files that mean the same."""
        values: dict[str, Any] = self.model_dump(mode="json", exclude_none=True)
        values["max_gap_seconds"] = int(self.max_gap.total_seconds())
        return json.dumps(values, sort_keys=True, separators=(",", ":"))

    def hash(self) -> str:
        """SHA-256 of `canonical_json`, in hexadecimal."""
        return hashlib.sha256(self.canonical_json().encode()).hexdigest()
