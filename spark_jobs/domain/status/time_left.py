"""How long until a group has caught up, and until brokers delete what it has not consumed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.kernel.audited_step import AuditedStep, IntervalProgress
from spark_jobs.domain.kernel.retention import Minimums, seconds_left_by_age
from spark_jobs.domain.model.history import UNKNOWN, OffsetReadings
from spark_jobs.domain.model.thresholds import Thresholds
from spark_jobs.domain.model.window import SECOND

#: What a client has consumed looks for so long as if it waited (`ClientConfig.persistConsumerOffsetInterval`).
_COMMIT_SECONDS = 5

Seconds = NDArray[np.float64]


class TimeLeft(NamedTuple):
    """At the last readings of a step; the columns of `group_status`, None is unknown.

    `catches_up`: whether the lag of every queue that is behind shrinks. `catch_up_seconds`: until the last of them has
    no lag, None also where it never does. `retention_left_seconds`: until the oldest message that waits in such a queue
    may be deleted, None also where none waits.
    """

    catches_up: bool | None = None
    catch_up_seconds: float | None = None
    retention_left_seconds: float | None = None


def time_left(step: AuditedStep) -> TimeLeft:
    """The times left at the end of a step, by the last interval with readings of each topic."""
    rows = {row.interval.topic: row for row in step.progress if row.readings.any()}
    offsets, thresholds = step.history.offsets, step.settings.thresholds
    known = [until_caught_up(offsets[topic], row, thresholds) for topic, row in rows.items() if topic in offsets]
    waits = np.concatenate([np.empty(0), *known])
    deleted = min((seconds for row in rows.values() for seconds in _until_deleted(step, row)), default=None)
    left = None if deleted is None else round(deleted, 1)
    if np.isinf(waits).any():
        return TimeLeft(False, None, left)
    if not waits.size or np.isnan(waits).any():
        return TimeLeft(None, None, left)
    return TimeLeft(True, round(float(waits.max()), 1), left)


def until_caught_up(readings: OffsetReadings, row: IntervalProgress, thresholds: Thresholds) -> Seconds:
    """One per queue of the interval with a known lag: seconds until that is 0, at the pace of its last readings, those
    of `verdict_window_seconds`. 0: the lag is allowed; inf: it does not shrink; nan: a single reading shows no pace.
    """
    seen = readings.inside(row.start, row.end)
    window = readings.times[seen.stop - 1] - thresholds.verdict_window_seconds * SECOND
    rows = slice(max(seen.start, int(readings.times.searchsorted(window))), seen.stop)
    columns = [readings.columns[queue] for queue in row.queues if queue in readings.columns]
    known = readings.lag[rows][:, columns] != UNKNOWN
    columns, known = np.array(columns, np.int64)[known.any(axis=0)], known[:, known.any(axis=0)]
    times, lag, offset = (part[rows] for part in (readings.times, readings.lag, readings.consumed_to))
    first, last = known.argmax(axis=0), len(known) - 1 - known[::-1].argmax(axis=0)
    seconds, waiting = (times[last] - times[first]) / SECOND, lag[last, columns]
    with np.errstate(divide="ignore", invalid="ignore"):  # a lag / 0 is inf, and no change in no time, 0 / 0, is nan
        shrinks = (lag[first, columns] - waiting) / seconds
        consumed = np.fmax((offset[last, columns] - offset[first, columns]) / seconds, 0)
        left = np.where(shrinks < 0, np.inf, waiting / shrinks)
    return np.where(waiting > thresholds.allowed_lag + consumed * _COMMIT_SECONDS, left, 0.0)


def _until_deleted(step: AuditedStep, row: IntervalProgress) -> Iterator[float]:
    """Seconds until messages of lagging queues are deleted, where known: by the broker's oldest offsets, and by age."""
    thresholds, topic = step.settings.thresholds, row.interval.topic
    behind = np.flatnonzero(row.lag_last > thresholds.allowed_lag)
    if len(behind) and topic in step.history.topics:
        minimums = Minimums(step.history.topics[topic], step.window)
        queues = (minimums.waiting(row, place) for place in behind.tolist())
        yield from (queue.seconds_left for queue in queues if queue and queue.seconds_left is not None)
    by_age = seconds_left_by_age(row, thresholds)[behind]
    yield from by_age[~np.isnan(by_age)].tolist()
