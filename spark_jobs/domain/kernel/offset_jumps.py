"""Samples at which an offset goes further than ever before, and first commits at or beyond the end of that time."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.kernel.unconsumed import unconsumed
from spark_jobs.domain.model.caching import cached_with_value
from spark_jobs.domain.model.history import UNKNOWN, Matrix, OffsetSamples, Place
from spark_jobs.domain.model.window import AuditSettings, Time

#: A jump is far if it is so many times the mean of the queue's other samples.
FAR = 10


class Jump(NamedTuple):
    """Between the samples at `before` and `at` (microseconds) the offset went from `since` to `to`: `messages` above
    any offset before. `stood_since`: the first sample that shows the offset `since`. `usual`: messages by which the
    queue's other samples differ on average. `waiting`: queues of the topic with a backlog at `before`.
    """

    queue: Place
    before: int
    at: int
    since: int
    to: int
    messages: int
    stood_since: int
    usual: float
    waiting: int

    @property
    def is_far(self) -> bool:
        """Return whether it is far above the queue's pace."""
        return self.messages >= FAR * self.usual


def offset_jumps(samples: OffsetSamples, start: int, end: int, settings: AuditSettings) -> Iterator[Jump]:
    """The jumps by more than `rewind_tolerance` between neighbors in `[start, end)`, of queues that jump seldom."""
    seen, thresholds = samples.inside(start, end), settings.thresholds
    if seen.stop - seen.start < 2:
        return
    known, moved = (matrix[seen.start : seen.stop - 1] for matrix in _moves(samples, settings.max_gap))
    total, most = moved.sum(axis=0), moved.max(axis=0)
    if not (most > np.maximum(thresholds.rewind_tolerance, FAR / 2 * (total - most) / len(moved))).any():  # as mostly
        return
    pairs = np.maximum(known.sum(axis=0) - 1, 1)
    times, offsets, lag = samples.times[seen], samples.consumed_to[seen], samples.lag[seen]
    high = np.maximum.accumulate(offsets, axis=0)
    growth = np.where(known, offsets[1:] - np.where(known, high[:-1], 0), 0)
    waiting = (lag > thresholds.allowed_lag).sum(axis=1)
    usual = (total - moved) / pairs
    is_jump = (growth > thresholds.rewind_tolerance) & (growth >= FAR / 2 * usual)
    for row, column in np.argwhere(is_jump).tolist():
        since = int(offsets[row, column])
        differs = np.flatnonzero(offsets[: row + 1, column] != since)
        first = int(differs[-1]) + 1 if len(differs) else 0
        yield Jump(
            samples.queues[column],
            int(times[row]),
            int(times[row + 1]),
            since,
            int(offsets[row + 1, column]),
            int(growth[row, column]),
            int(times[first]),
            float(usual[row, column]),
            int(waiting[row]),
        )


@cached_with_value
def _moves(samples: OffsetSamples, max_gap: int) -> tuple[NDArray[np.bool_], Matrix]:
    """Per pair of neighbors and queue: whether both offsets are known, and how far the offset went forward, else 0."""
    offsets, gaps = samples.consumed_to, np.diff(samples.times) > max_gap
    known = (offsets[1:] != UNKNOWN) & (offsets[:-1] != UNKNOWN) & ~gaps[:, None]
    return known, np.where(known, np.maximum(offsets[1:] - np.where(known, offsets[:-1], 0), 0), 0)


#: The queue's first step is so many times the furthest one of the topic's other queues.
_FURTHER = 2


def first_commits_at_end(samples: OffsetSamples, time: Time, settings: AuditSettings) -> Iterator[Jump]:
    """The jumps over messages of queues without a commit for `stalled_after_seconds`, in a group with other commits.

    They are twice as far as any other queue moved: a new group may begin where it likes.
    """
    consumed = samples.consumed_to
    for span in unconsumed(samples, time, settings.max_gap, settings.thresholds.stalled_after_seconds):
        before, at = (int(np.searchsorted(samples.times, moment)) for moment in (span.seen_at, span.end))
        if span.is_committed or not span.others_commit or at >= len(samples.times) or samples.times[at] != span.end:
            continue
        column = samples.columns[span.queue]
        to, end = int(consumed[at, column]), int(samples.end_offset[before, column])
        known = (consumed[before] != UNKNOWN) & (consumed[at] != UNKNOWN)
        furthest = int((consumed[at] - consumed[before])[known].max(initial=0))
        if known.any() and to >= end and span.produced > max(settings.thresholds.rewind_tolerance, _FURTHER * furthest):
            since = end - span.produced
            waiting = int((samples.lag[before] > settings.thresholds.allowed_lag).sum())
            yield Jump(span.queue, span.seen_at, span.end, since, to, span.produced, span.start, 0.0, waiting)
