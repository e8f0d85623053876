"""The readings of one interval with a known lag, and the sliding window that ends at each of them.

A window ends at a reading. It is the shortest run of readings that spans `verdict_window_seconds` and has
`verdict_window_readings`; it begins inside the interval, before the step if need be, and does not reach over a gap.
Where no reading of a queue has a whole window (the interval is too short), what there is stands for one: the readings
up to the last, two at least.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.history import UNKNOWN, Matrix, OffsetReadings
from spark_jobs.domain.window import SECOND, AuditSettings

Mask = NDArray[np.bool_]


class ReadingWindows:
    """The snapshots of the interval `[interval_start, end)` × the columns asked for; the windows are those that end at
    readings from `start` on, which is the row `first_row`. Places of readings are rows; -1: none.
    """

    def __init__(
        self,
        readings: OffsetReadings,
        columns: NDArray[np.int64],
        *,
        interval_start: int,
        start: int,
        end: int,
        settings: AuditSettings,
    ) -> None:
        rows = readings.inside(interval_start, end)
        self.interval_start, self.start, self.end, self.settings = interval_start, start, end, settings
        self.times = readings.times[rows]
        self.first_row = int(np.searchsorted(self.times, start))
        self.offset, self.lag = readings.consumed_to[rows][:, columns], readings.lag[rows][:, columns]
        self.stored = readings.last_timestamp[rows][:, columns]
        self.known = self.lag != UNKNOWN
        self.row = np.arange(len(self.times))[:, None]

    def latest(self, mask: Mask) -> Matrix:
        """The last reading, up to each, at which this holds."""
        return np.asarray(np.maximum.accumulate(np.where(mask, self.row, -1), axis=0))

    @cached_property
    def _latest_known(self) -> Matrix:
        return self.latest(self.known)

    @cached_property
    def before(self) -> Matrix:
        """The queue's known reading before each."""
        before = np.full(self.known.shape, -1, dtype=np.int64)
        before[1:] = self._latest_known[:-1]
        return before

    @cached_property
    def is_after_gap(self) -> Mask:
        """The known readings that no window reaches beyond: the first, and those after a gap."""
        lasting = self.times[:, None] - self.times[np.maximum(self.before, 0)]
        return np.asarray(self.known & ((self.before < 0) | (lasting > self.settings.max_gap)))

    @cached_property
    def run(self) -> Matrix:
        """Where the readings without a gap begin that each belongs to."""
        return self.latest(self.is_after_gap)

    @cached_property
    def count(self) -> Matrix:
        """How many known readings there are up to each."""
        return np.cumsum(self.known, axis=0)

    @cached_property
    def in_order(self) -> Matrix:
        """Per column its known readings, in the order of time, before all others."""
        return np.argsort(~self.known, axis=0, kind="stable")

    @cached_property
    def firsts(self) -> Matrix:
        """The first reading of the window that ends at each; -1: it has none."""
        thresholds = self.settings.thresholds
        reaches = np.searchsorted(self.times, self.times - thresholds.verdict_window_seconds * SECOND, "right") - 1
        by_time = np.where(reaches[:, None] >= 0, self._latest_known[np.maximum(reaches, 0)], -1)
        number = self.count - thresholds.verdict_window_readings
        by_count = np.where(number >= 0, at_rows(self.in_order, number), -1)
        first = np.minimum(by_time, by_count)
        whole = np.where(self.known & (first >= self.run), first, -1)
        whole[: self.first_row] = -1
        return self._with_short_ones(whole)

    def _with_short_ones(self, whole: Matrix) -> Matrix:
        """Of a column without a whole window, all that its last known reading can look back on."""
        last, column = self._latest_known[-1], np.arange(whole.shape[1])
        begins = self.run[last, column]
        short = np.flatnonzero((whole < 0).all(axis=0) & (last >= self.first_row) & (begins < last))
        whole[last[short], short] = begins[short]
        return whole


def at_rows(matrix: NDArray[np.int64], rows: Matrix) -> NDArray[np.int64]:
    """The matrix at these rows of its columns; anything where there is none."""
    return np.take_along_axis(matrix, np.maximum(rows, 0), axis=0)


def greatest_since(values: Matrix, first: Matrix) -> Matrix:
    """The greatest of `values[first[row, column] : row + 1, column]`, by the greatest of 1, 2, 4 … rows up to each."""
    rows = np.arange(len(values))[:, None]
    length, width, found = rows - first + 1, 1, values
    greatest = values
    while width <= length.max(initial=0):
        covers = (length >= width) & (length < 2 * width)
        found = np.where(covers, np.maximum(greatest, at_rows(greatest, np.minimum(first + width - 1, rows))), found)
        wider = greatest.copy()
        wider[width:] = np.maximum(greatest[width:], greatest[:-width])
        greatest, width = wider, 2 * width
    return found
