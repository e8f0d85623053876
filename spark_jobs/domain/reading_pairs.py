"""Every offset reading beside the queue's reading before it: what lies between them is computed once for a step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.history import UNKNOWN, Matrix, OffsetReadings
from spark_jobs.domain.reading_windows import at_rows
from spark_jobs.domain.window import MILLISECOND


@dataclass(frozen=True)
class ReadingPairs:
    """The readings of a step beside the reading before each of them: matrices of snapshots × queues.

    `previous`: the place of the queue's reading before, -1: none. `produced`, `forward` and `back`: messages since
    then, `UNKNOWN` where they are not known or, for the consumer's two directions, where it went the other way.
    """

    readings: OffsetReadings
    times: NDArray[np.int64]
    present: NDArray[np.bool_]
    consumed_to: Matrix
    lag: Matrix
    last_timestamp: Matrix
    previous: Matrix
    produced: Matrix
    forward: Matrix
    back: Matrix
    moved: NDArray[np.bool_]


def reading_pairs(readings: OffsetReadings, seen: slice) -> ReadingPairs:
    """The readings at these places; the first of each queue has none before it."""
    present, end = readings.present[seen], readings.end_offset[seen]
    said, known = readings.consumer_offset[seen], readings.consumed_to[seen]
    previous = _previous(present)
    has_previous = present & (previous >= 0)
    end_before, known_before = at_rows(end, previous), at_rows(known, previous)
    comparable = has_previous & (end != UNKNOWN) & (end_before != UNKNOWN) & (end >= end_before)
    went = has_previous & (known_before != UNKNOWN) & (said != UNKNOWN)
    growth = said - known_before  # where one of them is unknown nobody looks at it
    forward = comparable & went & (known != UNKNOWN) & (growth >= 0)
    back = comparable & went & (growth < 0)
    both_known = has_previous & (known != UNKNOWN) & (known_before != UNKNOWN)
    return ReadingPairs(
        readings=readings,
        times=readings.times[seen],
        present=present,
        consumed_to=known,
        lag=readings.lag[seen],
        last_timestamp=readings.last_timestamp[seen],
        previous=previous,
        produced=np.where(comparable, end - end_before, UNKNOWN),
        forward=np.where(forward, growth, UNKNOWN),
        back=np.where(back, -growth, UNKNOWN),
        moved=both_known & (known != known_before),
    )


def age_ms(at: Matrix, stored: Matrix, lag: Matrix) -> Matrix:
    """From the storing of the last consumed message (ms) to the reading (microseconds), in ms, where a lag is left."""
    age = at // MILLISECOND - np.maximum(stored, 0)
    return np.where((lag > 0) & (stored > 0) & (age >= 0), age, UNKNOWN)


def _previous(present: NDArray[np.bool_]) -> Matrix:
    """Per reading the place of the queue's last reading before it; -1: there is none."""
    row = np.arange(len(present))[:, None]
    if present.all():  # as mostly
        return np.broadcast_to(row - 1, present.shape)
    before = np.full(present.shape, -1, dtype=np.int64)
    before[1:] = np.maximum.accumulate(np.where(present, row, -1), axis=0)[:-1]
    return before
