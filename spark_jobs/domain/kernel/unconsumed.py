"""Queues whose consumer offset stands, or was never committed, while messages wait, however few."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.kernel.sample_windows import Mask, at_rows, latest_rows, previous_rows
from spark_jobs.domain.model.caching import cached_with_value
from spark_jobs.domain.model.history import UNKNOWN, Matrix, OffsetSamples, Place
from spark_jobs.domain.model.series import Timed
from spark_jobs.domain.model.window import SECOND, Time


class Unconsumed(NamedTuple):
    """A maximal span `[start, end)` in which the consumer offset of a queue stands and messages wait; microseconds.

    `start`: the last sample that shows otherwise; `seen_at`: the last one that shows it; `end`: the next one.
    `waiting`: messages at `seen_at`, without a commit those `produced` since `start`. `others_commit`: other queues of
    the topic have a committed offset.
    """

    queue: Place
    start: int
    seen_at: int
    end: int
    offset: int
    waiting: int
    produced: int
    is_committed: bool
    others_commit: bool


@cached_with_value
def unconsumed(samples: OffsetSamples, time: Time, max_gap: int, seconds: int) -> Sequence[Unconsumed]:
    """The spans of all queues of a topic that samples of a time show for so many seconds, by queue and time."""
    may_stand, may_stand_at = _may_stand(samples, seconds)
    if not may_stand_at.any_inside(*time):  # as mostly
        return []
    seen = samples.inside(*time)
    columns = np.flatnonzero(may_stand[seen].any(axis=0))
    times, commits = samples.times[seen], np.asarray((samples.consumed_to[seen] > 0).any(axis=0))
    matrices = (samples.consumed_to, samples.end_offset, samples.lag)
    is_read, (consumed, end, lag) = _is_read(samples)[seen][:, columns], (it[seen][:, columns] for it in matrices)
    begins, waiting = _begins(times, is_read, consumed, end, lag, max_gap)
    rows = np.arange(len(times))[:, None]
    following = _following(is_read)
    lasting = times[:, None] - times[begins]
    is_last = (following == rows) | (at_rows(begins, following) != begins)
    is_long = lasting >= seconds * SECOND
    lasts: Mask = np.asarray(is_read & (begins < rows) & is_last & is_long)
    spans = []
    for column, row in np.argwhere(np.transpose(lasts)).tolist():
        seen_at, after = int(times[row]), int(following[row, column])
        until = int(times[after]) if after > row else time[1]
        spans.append(
            Unconsumed(
                queue=samples.queues[columns[column]],
                start=int(times[begins[row, column]]),
                seen_at=seen_at,
                end=min(until, seen_at + max_gap),
                offset=int(consumed[row, column]),
                waiting=int(waiting[row, column]),
                produced=int(end[row, column] - end[begins[row, column], column]),
                is_committed=bool(consumed[row, column] != UNKNOWN),
                others_commit=bool(commits.sum() > commits[columns[column]]),
            )
        )
    return spans


@cached_with_value
def _is_read(samples: OffsetSamples) -> Mask:
    """Per sample and queue, True if both offsets are known."""
    is_known = (samples.end_offset != UNKNOWN) & (samples.consumer_offset != UNKNOWN)
    return np.asarray(samples.present & is_known)


@cached_with_value
def _may_stand(samples: OffsetSamples, seconds: int) -> tuple[Mask, Timed]:
    """Per sample and queue, False if nothing waits there, or the offset was another one so many seconds before; and
    the samples of which a queue may stand.
    """
    before = samples.times.searchsorted(samples.times - seconds * SECOND, side="right") - 1
    is_read, consumed = _is_read(samples), samples.consumed_to
    is_same = (consumed == consumed[before]) | ~is_read[before]
    may_stand = np.asarray(is_read & (samples.lag != 0) & is_same & (before >= 0)[:, None])
    return may_stand, samples.showing(may_stand)


def _begins(
    times: NDArray[np.int64], is_read: Mask, consumed: Matrix, end: Matrix, lag: Matrix, max_gap: int
) -> tuple[Matrix, Matrix]:
    """Per sample the row of the last one at which the queue does not stand, and the messages that wait at it."""
    rows = np.arange(len(times))[:, None]
    before = previous_rows(is_read)
    is_gap = (before < 0) | (times[:, None] - times[np.maximum(before, 0)] > max_gap)
    never = consumed == UNKNOWN
    moved = is_gap | (consumed != at_rows(consumed, before)) | (end < at_rows(end, before)) | (~never & (lag == 0))
    since = latest_rows(is_read & moved)
    is_empty = never & (end == at_rows(end, since))
    otherwise = latest_rows(is_read & (moved | is_empty))
    return np.where(is_read, otherwise, rows), np.where(never, end - at_rows(end, otherwise), lag)


def _following(is_read: Mask) -> Matrix:
    """Per sample the row of the queue's next one; the row itself where there is none."""
    rows = np.arange(len(is_read))[:, None]
    later = np.where(is_read, rows, len(is_read))[::-1]
    after = np.full(is_read.shape, len(is_read), dtype=np.int64)
    after[:-1] = np.minimum.accumulate(later, axis=0)[::-1][1:]
    return np.where(after < len(is_read), after, rows)
