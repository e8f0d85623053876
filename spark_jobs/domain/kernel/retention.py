"""How long brokers still keep the waiting messages of a queue: by their oldest offsets, and by age."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.kernel.audited_step import IntervalProgress
from spark_jobs.domain.model.history import UNKNOWN, TopicReadings
from spark_jobs.domain.model.thresholds import Thresholds
from spark_jobs.domain.model.window import SECOND, StepWindow

_A_DAY = 86_400


class QueueOffsets(NamedTuple):
    """A queue's offsets: next to consume, oldest that the broker still has; messages a second, None: unknown."""

    consumer_offset: int
    min_offset: int
    consumed_per_second: float | None
    deleted_per_second: float | None

    @property
    def left(self) -> int:
        """Messages from the oldest that the broker has to the next to consume; below 0: it deleted some before."""
        return self.consumer_offset - self.min_offset

    @property
    def seconds_left(self) -> float | None:
        """Seconds until messages are deleted before they are consumed, at these rates; None: never, or unknown."""
        if self.left < 0:
            return 0.0
        if self.consumed_per_second is None or self.deleted_per_second is None:
            return None
        gain = self.deleted_per_second - self.consumed_per_second
        return self.left / gain if gain > 0 else None


class Minimums:
    """The oldest offsets of a topic's queues in a step's window, and how fast they grew since its first snapshot."""

    def __init__(self, readings: TopicReadings, window: StepWindow) -> None:
        inside = readings.inside(window.read_from, window.end)
        present = readings.present[inside]
        self._columns = readings.columns
        self._times = readings.times[inside]
        self._min_offset = readings.min_offset[inside]
        rows = np.arange(len(present))[:, np.newaxis]
        #: Per snapshot and queue the last row so far that has it, −1: none.
        self._last = np.maximum.accumulate(np.where(present, rows, -1), axis=0)
        self._first = present.argmax(axis=0) if len(present) else np.empty(0, np.int64)

    def at(self, queue: tuple[str, int], moment: int) -> tuple[int, float | None] | None:
        """The oldest offset, and messages deleted a second (None: it is the first that is known); None: not known."""
        column = self._columns.get(queue)
        row = int(np.searchsorted(self._times, moment, side="right")) - 1
        if column is None or row < 0 or self._last[row, column] < 0:
            return None
        first, last = int(self._first[column]), int(self._last[row, column])
        oldest, before = int(self._min_offset[last, column]), int(self._min_offset[first, column])
        if oldest == UNKNOWN:
            return None
        grown = None if before == UNKNOWN else oldest - before
        return oldest, per_second(grown, int(self._times[last] - self._times[first]))

    def waiting(self, progress: IntervalProgress, place: int) -> QueueOffsets | None:
        """A queue at its last reading in an interval; None: an offset is not known."""
        at, consumer_offset = int(progress.last_reading_at[place]), int(progress.consumer_offset[place])
        oldest = self.at(progress.queues[place], at)
        if oldest is None or consumer_offset == UNKNOWN:
            return None
        consumed = int(progress.consumed[place])
        pace = per_second(None if consumed == UNKNOWN else consumed, at - progress.start)
        return QueueOffsets(consumer_offset, oldest[0], pace, oldest[1])


def per_second(messages: int | None, time: int) -> float | None:
    """Messages a second, given messages and a time in microseconds; None: unknown."""
    return None if messages is None or not time else messages / (time / SECOND)


def seconds_left_by_age(progress: IntervalProgress, thresholds: Thresholds) -> NDArray[np.float64]:
    """Per queue of an interval, until the oldest message that was not consumed may be deleted; nan: unknown.

    It is no older than the last one consumed, which is what is known. The broker deletes whole files whose last message
    is older than `fileReservedTime` hours, once a day at `deleteWhen` (04), so that a rate of deletion tells nothing
    before (`DefaultMessageStore.CleanCommitLogService`). What is a day older still is deleted: what waits is younger.
    What waits in a queue that was not behind when the interval began is younger than the interval.
    """
    age = progress.age_ms / 1000
    is_known = (progress.age_ms != UNKNOWN) & (progress.lag_first != UNKNOWN)
    lasted = (progress.last_reading_at - progress.start) / SECOND
    age = np.where(progress.lag_first <= thresholds.allowed_lag, np.minimum(age, lasted), age)
    is_known &= age < thresholds.reserved_seconds + _A_DAY
    return np.where(is_known, np.maximum(thresholds.reserved_seconds - age, 0), np.nan)
