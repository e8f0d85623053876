"""In which room members are that were not there: RocketMQ finds the room in a client id, and these have none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.rocketmq.allocation import room_of
from spark_jobs.domain.rocketmq.strategies import StrategySettings


def with_new_room(configured: StrategySettings, steps: Sequence[AuditedStep]) -> StrategySettings:
    """New members go where they help most: to the room of the member with most queues of a topic when any were last
    owned, the first of equals; to none where none ever were. The same settings where no rooms are configured.
    """
    if configured.client_room is None:
        return configured
    shares = [
        (interval.end, len(queues), client_id)
        for step in steps
        for interval in step.intervals
        if interval.is_ordinary and interval.allocation is not None
        for client_id, queues in interval.allocation.queues_of_client.items()
    ]
    _, _, busiest = max(shares, key=lambda share: share[:2], default=(0, 0, ""))
    return replace(configured, new_room=room_of(configured.client_room, busiest) or "")
