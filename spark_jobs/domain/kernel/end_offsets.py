"""End offsets that fall: whether a topic was created again, or its broker has another part of the same messages. And
committed offsets that are beyond the end since.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.model.history import UNKNOWN, Matrix
from spark_jobs.domain.model.window import MILLISECOND, SECOND

#: By how much the clocks of brokers and recorder may differ.
CLOCK_TOLERANCE = 60 * SECOND


class EndReadings(NamedTuple):
    """Readings of a step as matrices of snapshots × queues, and the rows of the readings before (-1: none).

    `times`: microseconds; `stored`: store time of the last consumed message, milliseconds.
    """

    times: NDArray[np.int64]
    end: Matrix
    consumed_to: Matrix
    stored: Matrix
    previous: Matrix


@dataclass(frozen=True)
class Falls:
    """Falls of the end offset in an unchanged log: `same_log`, at the readings that show it. `produced`: messages since
    the reading before, where that is not the difference of end offsets; `is_produced`: where it is so.
    """

    same_log: NDArray[np.bool_]
    produced: Matrix
    is_produced: NDArray[np.bool_]


def falls(readings: EndReadings, fell: NDArray[np.bool_]) -> Falls:
    """Return what the later readings say of each fall (`fell`: at the readings that show one).

    A slave that serves, or a broker that lost its last messages, has old messages: the group's offset went back to one
    that was stored before the fall. Where no offset says so, the end offset comes back by a jump: at least half of what
    it fell. What it comes back by was not produced.
    """
    result = Falls(np.zeros_like(fell), np.full_like(readings.end, UNKNOWN), np.zeros_like(fell))
    # The last first: of falls before the end offset is back, the first one fell from the highest.
    for row, column in reversed(np.argwhere(fell).tolist()):
        high, returned = int(readings.end[readings.previous[row, column], column]), _return(readings, row, column)
        is_old = _is_old(readings, row, column)
        if is_old or (is_old is None and returned is not None):
            result.same_log[row, column] = True
            if returned is not None:
                result.is_produced[row : returned + 1, column] = True
                result.produced[row:returned, column] = UNKNOWN
                result.produced[returned, column] = readings.end[returned, column] - high
    return result


def stand_beyond(changed: NDArray[np.bool_], beyond: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The readings whose committed offset is one that a reading showed beyond the end: of the topic's former life.
    `changed`: at the readings that show another offset than the one before; `beyond`: at those that show it beyond.
    """
    row = np.arange(len(beyond))[:, None]
    since, last_beyond = (np.maximum.accumulate(np.where(mask, row, -1), axis=0) for mask in (changed, beyond))
    return np.asarray((last_beyond >= since) & (last_beyond >= 0))


def _return(readings: EndReadings, row: int, column: int) -> int | None:
    """The reading that shows the end offset where it was before the fall, by a jump; None: it grew, or none does."""
    end, before = readings.end[:, column], readings.previous[:, column]
    high = end[before[row]]
    later = np.flatnonzero(end[row:] >= high)
    if not len(later):
        return None
    returned = row + int(later[0])
    last = end[before[returned]]
    return returned if last != UNKNOWN and 2 * (end[returned] - last) >= high - end[row] else None


def _is_old(readings: EndReadings, row: int, column: int) -> bool | None:
    """Return whether the offset that the group went back to is of a message from before the fall; None: it did not, or
    that is unknown.
    """
    before = readings.previous[row, column]
    consumed, stored = readings.consumed_to[row:, column], readings.stored[row:, column]
    is_back = (consumed > 0) & (stored > 0) & (consumed < readings.consumed_to[before, column])
    if not is_back.any():
        return None
    fell_after = int(readings.times[before]) - CLOCK_TOLERANCE
    return bool(stored[int(is_back.argmax())] * MILLISECOND < fell_after)
