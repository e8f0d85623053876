"""How long until a group has caught up, and until brokers delete what it has not consumed."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.kernel.audited_step import AuditedStep, IntervalProgress
from spark_jobs.domain.kernel.matrices import first_true, last_true
from spark_jobs.domain.model.history import UNKNOWN, Floats, OffsetSamples
from spark_jobs.domain.model.thresholds import Thresholds
from spark_jobs.domain.model.window import SECOND

#: What a client has consumed looks for so long as if it waited (`ClientConfig.persistConsumerOffsetInterval`).
COMMIT_SECONDS = 5
_A_DAY = 86_400


class TimeLeft(NamedTuple):
    """At the last samples of a step; the columns of `group_status`, None is unknown.

    `catches_up`: whether the lag of every queue that is behind shrinks. `catch_up_seconds`: until the last of them has
    no lag. `retention_left_seconds`: until the oldest message that waits in such a queue may be deleted.
    """

    catches_up: bool | None = None
    catch_up_seconds: float | None = None
    retention_left_seconds: float | None = None


def time_left(step: AuditedStep) -> TimeLeft:
    """The times left at the end of a step, by the last interval with samples of each topic."""
    rows = {row.interval.topic: row for row in step.progress if row.readings.any()}
    offsets, thresholds = step.history.offsets, step.settings.thresholds
    known = [until_caught_up(offsets[topic], row, thresholds) for topic, row in rows.items() if topic in offsets]
    waits = np.concatenate([np.empty(0), *known])
    deleted = min((seconds for row in rows.values() for seconds in _until_deleted(step, row)), default=None)
    until_deleted = None if deleted is None else round(deleted, 1)
    if np.isinf(waits).any():
        return TimeLeft(False, None, until_deleted)
    nothing_is_known_of_some = any(((row.lag_last == UNKNOWN) & (row.produced > 0)).any() for row in rows.values())
    if not waits.size or np.isnan(waits).any() or nothing_is_known_of_some:
        return TimeLeft(None, None, until_deleted)
    return TimeLeft(True, round(float(waits.max()), 1), until_deleted)


def until_caught_up(samples: OffsetSamples, row: IntervalProgress, thresholds: Thresholds) -> Floats:
    """One per queue with a known lag: seconds until it is 0 at the last pace; inf: it does not shrink, nan: unknown."""
    if (row.lag_last != UNKNOWN).all() and not (row.lag_max > thresholds.allowed_lag).any():  # as mostly
        return np.zeros(len(row.queues))
    inside = samples.inside(row.start, row.end)
    window = samples.times[inside.stop - 1] - thresholds.verdict_window_seconds * SECOND
    rows = slice(max(inside.start, int(samples.times.searchsorted(window))), inside.stop)
    columns = np.array([samples.columns[queue] for queue in row.queues if queue in samples.columns], np.int64)
    known = samples.lag[rows][:, columns] != UNKNOWN
    columns, known = columns[known.any(axis=0)], known[:, known.any(axis=0)]
    times, lag, offset = (part[rows] for part in (samples.times, samples.lag, samples.consumed_to))
    first, last = first_true(known), last_true(known)
    seconds, waiting = (times[last] - times[first]) / SECOND, lag[last, columns]
    with np.errstate(divide="ignore", invalid="ignore"):  # a lag / 0 is inf, and no change in no time, 0 / 0, is nan
        shrinks = (lag[first, columns] - waiting) / seconds
        consumed = np.fmax((offset[last, columns] - offset[first, columns]) / seconds, 0)
        seconds_left = np.where(shrinks < 0, np.inf, waiting / shrinks)
    return np.where(waiting > thresholds.allowed_lag + consumed * COMMIT_SECONDS, seconds_left, 0.0)


def _until_deleted(step: AuditedStep, row: IntervalProgress) -> Iterator[float]:
    """Floats until messages of lagging queues are deleted, where known: by the broker's oldest offsets, and by age."""
    thresholds = step.settings.thresholds
    lagging = (row.lag_last > thresholds.allowed_lag).nonzero()[0]
    if not len(lagging):
        return
    queues = (waiting_offsets(step, row, place) for place in lagging.tolist())
    yield from (queue.seconds_left for queue in queues if queue and queue.seconds_left is not None)
    by_age = seconds_left_by_age(row, thresholds)[lagging]
    yield from by_age[~np.isnan(by_age)].tolist()


class QueueOffsets(NamedTuple):
    """A queue's offsets: next to consume, oldest that the broker still has; messages a second, None: unknown."""

    consumer_offset: int
    min_offset: int
    consumed_per_second: float | None
    deleted_per_second: float | None

    @property
    def messages_left(self) -> int:
        """Messages from the oldest that the broker has to the next to consume; below 0: it deleted some before."""
        return self.consumer_offset - self.min_offset

    @property
    def seconds_left(self) -> float | None:
        """Floats until messages are deleted before they are consumed, at these rates; None: never, or unknown."""
        if self.messages_left < 0:
            return 0.0
        if self.consumed_per_second is None or self.deleted_per_second is None:
            return None
        gain = self.deleted_per_second - self.consumed_per_second
        return self.messages_left / gain if gain > 0 else None


def waiting_offsets(step: AuditedStep, progress: IntervalProgress, place: int) -> QueueOffsets | None:
    """A queue at its last sample in an interval; None: an offset is not known. The broker deletes messages at the pace
    at which the oldest offset grew since the first snapshot of the window that has the queue.
    """
    samples, window, queue = step.history.topics.get(progress.interval.topic), step.window, progress.queues[place]
    at, consumer_offset = int(progress.last_reading_at[place]), int(progress.consumer_offset[place])
    if samples is None or queue not in samples.columns or consumer_offset == UNKNOWN:
        return None
    seen, column = samples.inside(window.read_from, min(at + 1, window.end)), samples.columns[queue]
    rows = seen.start + np.flatnonzero(samples.present[seen, column])
    if not len(rows) or samples.min_offset[rows[-1], column] == UNKNOWN:
        return None
    first, oldest = (int(samples.min_offset[row, column]) for row in (rows[0], rows[-1]))
    lasting = int(samples.times[rows[-1]] - samples.times[rows[0]])
    pace = _per_second(0, int(progress.consumed[place]), at - progress.start)
    return QueueOffsets(consumer_offset, oldest, pace, _per_second(first, oldest, lasting))


def _per_second(before: int, after: int, time: int) -> float | None:
    """Messages a second, given numbers of messages (or `UNKNOWN`) and the time between them in microseconds."""
    return None if UNKNOWN in (before, after) or not time else (after - before) / (time / SECOND)


def seconds_left_by_age(progress: IntervalProgress, thresholds: Thresholds) -> Floats:
    """Per queue of an interval, until the oldest message that was not consumed may be deleted; nan: unknown.

    It is younger than the last one consumed and, without a lag at first, than the interval. The broker deletes files
    older than `fileReservedTime` once a day (`DefaultMessageStore.CleanCommitLogService`).
    """
    age = progress.age_ms / 1000
    is_known = (progress.age_ms != UNKNOWN) & (progress.lag_first != UNKNOWN)
    lasted = (progress.last_reading_at - progress.start) / SECOND
    age = np.where(progress.lag_first <= thresholds.allowed_lag, np.minimum(age, lasted), age)
    is_known &= age < thresholds.reserved_seconds + _A_DAY
    return np.where(is_known, np.maximum(thresholds.reserved_seconds - age, 0), np.nan)
