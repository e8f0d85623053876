"""Groups without consumers: since when, whether they come at even distances, and whether the group is used at all."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.caching import cached_with_value
from spark_jobs.domain.model.history import RETRY, UNKNOWN, Place
from spark_jobs.domain.model.statuses import Status
from spark_jobs.domain.model.window import SECOND, Time, offline_times

#: Consumers come at even distances, if so many times at least, and none is so many times another one.
_RUNS, _EVEN = 3, 1.5


@cached_with_value
def absences(step: AuditedStep) -> Sequence[Time]:
    """The maximal times of the window without a connection, in order (microseconds)."""
    empty = [interval for interval in step.intervals if interval.status == Status.REPLAYED and not interval.members]
    connected = [span.time for span in step.membership_spans if empty and span.state.connections]
    return offline_times(((interval.start, interval.end) for interval in empty), connected)


def is_brief(step: AuditedStep, start: int, end: int) -> bool:
    """Return whether the group was without consumers for so short a time, as in a restart of all, that a queue which
    stood for as long would be no ERROR.
    """
    return end - start < step.settings.thresholds.stalled_after_seconds * SECOND


@cached_with_value
def is_between_runs(step: AuditedStep) -> bool:
    """Return whether consumers left at even distances, until the end of the step, and nothing waited each time."""
    first = min((interval.start for interval in step.intervals if interval.members), default=step.window.end)
    left_at = [start for start, _ in absences(step) if start > first]
    apart = [later - earlier for earlier, later in pairwise(left_at)]
    is_even = len(left_at) >= _RUNS and max(*apart, step.window.end - left_at[-1]) < _EVEN * min(apart)
    return is_even and not any(_waits(step, at) for at in left_at)


def _waits(step: AuditedStep, at: int) -> bool:
    """Return whether more than the allowed lag waits in a queue at the last sample until then, or there is none."""
    for samples in (samples for topic, samples in step.history.offsets.items() if not topic.startswith(RETRY)):
        seen = samples.inside(step.window.read_from, at + 1)
        if seen.start == seen.stop or (samples.lag[seen.stop - 1] > step.settings.thresholds.allowed_lag).any():
            return True
    return False


@cached_with_value
def is_unused(step: AuditedStep, until: int) -> bool:
    """Return whether no member is connected in the window before `until`, and at its first samples all queues with
    messages have offsets below the oldest message that the broker keeps, or none was ever committed. A group without
    offsets that gets members in the window is new.
    """
    joined_at = _joined_at(step)
    if not step.memberships or (joined_at is not None and joined_at < until):
        return False
    topics = (topic for topic in step.history.offsets if not topic.startswith(RETRY))
    states = [is_old for topic in topics for is_old in _old_queues(step, topic, is_new=joined_at is not None)]
    return bool(states) and all(states)


@cached_with_value
def is_not_yet_there(step: AuditedStep, until: int) -> bool:
    """Return whether the group's first members and its first offsets are both seen after `until`: it is new."""
    joined_at = _joined_at(step)
    seen = (samples.times[samples.inside(step.window.read_from, until)] for samples in step.history.offsets.values())
    return joined_at is not None and joined_at >= until and not any(map(len, seen))


def _joined_at(step: AuditedStep) -> int | None:
    """When the first member of the window is seen (microseconds); None: there is none."""
    return min((span.start for span in step.membership_spans if span.state.connections), default=None)


def _old_queues(step: AuditedStep, topic: str, *, is_new: bool) -> list[bool]:
    """Of each queue with messages for the group at its first sample in the window, whether its offset is that old;
    without an offset, whether the group is not new.
    """
    samples = step.history.offsets[topic]
    seen = samples.inside(step.window.read_from, step.window.end)
    if seen.start == seen.stop:
        return []
    end, consumed = samples.end_offset[seen.start], samples.consumed_to[seen.start]
    waits = (end != UNKNOWN) & (end > 0) & (end > consumed)
    columns, stored = np.flatnonzero(waits).tolist(), samples.last_timestamp[seen.start]
    return [
        not is_new
        if consumed[column] == UNKNOWN
        else _is_old(step, topic, samples.queues[column], int(consumed[column]), int(stored[column]))
        for column in columns
    ]


def _is_old(step: AuditedStep, topic: str, queue: Place, consumed: int, stored: int) -> bool:
    """Return whether the first offset of a queue is below the oldest message there, or no message is left."""
    oldest = _oldest(step, topic, queue)
    is_below = oldest is not None and consumed < oldest
    return is_below or all_expired(step, topic, queue, consumed, stored)


def _oldest(step: AuditedStep, topic: str, queue: Place) -> int | None:
    """The first oldest offset of a queue in the window; None: unknown."""
    return next(iter(step.history.oldest_offsets(topic, queue, step.window.read_from, step.window.end)), None)


def all_expired(step: AuditedStep, topic: str, queue: Place, consumed: int, stored: int) -> bool:
    """Return whether the broker deleted all messages of a queue: it has no store time of the one before the offset
    (`stored` 0, `AdminBrokerProcessor`), and a lower oldest offset. It would correct that if a message were left
    (`ConsumeQueue.correctMinOffset`, RocketMQ issue #8753).
    """
    oldest = _oldest(step, topic, queue)
    return stored == 0 and oldest is not None and oldest < consumed
