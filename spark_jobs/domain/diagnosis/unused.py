"""Groups that are not used any more: nothing is connected, and their offsets are older than what brokers keep."""

import numpy as np

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.caching import cached_with_value
from spark_jobs.domain.model.history import RETRY, UNKNOWN, Place


@cached_with_value
def is_unused(step: AuditedStep) -> bool:
    """Return whether no member is connected in all of the window, and at its first samples all queues with messages
    have offsets below the oldest message that the broker keeps, or none was ever committed.
    """
    connected = any(span.state.connections for spans in step.memberships.values() for span in spans)
    if connected or not step.memberships:
        return False
    states = [
        is_old for topic in step.history.offsets if not topic.startswith(RETRY) for is_old in _old_queues(step, topic)
    ]
    return bool(states) and all(states)


def _old_queues(step: AuditedStep, topic: str) -> list[bool]:
    """Of each queue with messages for the group at its first sample in the window, whether its offset is that old."""
    samples = step.history.offsets[topic]
    seen = samples.inside(step.window.read_from, step.window.end)
    if seen.start == seen.stop:
        return []
    end, consumed = samples.end_offset[seen.start], samples.consumed_to[seen.start]
    waits = (end != UNKNOWN) & (end > 0) & (end > consumed)
    columns = np.flatnonzero(waits).tolist()
    return [_is_old(step, topic, samples.queues[column], int(consumed[column])) for column in columns]


def _is_old(step: AuditedStep, topic: str, queue: Place, consumed: int) -> bool:
    """Return whether the first offset of a queue is unknown, or below the oldest message there."""
    if consumed == UNKNOWN:
        return True
    stored = step.history.topics.get(topic)
    oldest = stored.known_minimums(queue, step.window.read_from, step.window.end) if stored else None
    return oldest is not None and bool(len(oldest)) and consumed < int(oldest[0])
