"""Times in which a queue's consumer offset does not move although messages wait."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.model.history import UNKNOWN, OffsetReadings, Place
from spark_jobs.domain.model.window import SECOND, AuditSettings


class Stand(NamedTuple):
    """From the first reading that shows the `offset` to the first that shows another, or the last one of all;
    microseconds. `lag`: messages that wait at the last reading.
    """

    place: Place
    start: int
    end: int
    offset: int
    lag: int


def standing_times(readings: OffsetReadings, start: int, end: int, settings: AuditSettings) -> Iterator[Stand]:
    """One per queue and time of at least `verdict_window_seconds` in `[start, end)` without a gap of `max_gap`, in
    which messages wait and the offset is the same.
    """
    seen = readings.inside(start, end)
    times, offsets, lag = readings.times[seen], readings.consumed_to[seen], readings.lag[seen]
    if len(times) < 2:
        return
    is_same = (lag[1:] > 0) & (offsets[1:] == offsets[:-1]) & (offsets[1:] != UNKNOWN)
    is_same &= (np.diff(times) <= settings.max_gap)[:, None]
    row = np.arange(len(times))[:, None]
    first = np.maximum.accumulate(np.where(np.vstack([np.zeros_like(is_same[:1]), is_same]), 0, row), axis=0)
    long_enough = times[:, None] - times[first] >= settings.thresholds.verdict_window_seconds * SECOND
    for column in np.flatnonzero(long_enough.any(axis=0)).tolist():
        for begin in np.unique(first[long_enough[:, column], column]).tolist():
            last = int(np.flatnonzero(first[:, column] == begin)[-1])
            until = min(int(times[last + 1]) if last + 1 < len(times) else end, int(times[last]) + settings.max_gap)
            at_last = int(offsets[last, column]), int(lag[last, column])
            yield Stand(readings.queues[column], int(times[begin]), until, *at_last)
