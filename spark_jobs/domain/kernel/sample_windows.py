"""The samples of one interval with a known lag, and the sliding window that ends at each of them.

It is the shortest run that spans `verdict_window_seconds` and has `verdict_window_readings`, since the queue got its
owners, without a gap. A queue without a whole window has one of all samples up to its last, two at least.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.model.history import UNKNOWN, Mask, Matrix, Numbers, OffsetSamples
from spark_jobs.domain.model.window import MILLISECOND, SECOND, AuditSettings

#: Some of the queues of a topic's samples: all of them in their order, or the places of their columns.
Columns = Numbers | slice
Number = TypeVar("Number", np.int64, np.bool_)
#: A queue is consumed as messages come, if none waits for longer: twice the default distance of commits.
_CONSUMED_MS = 10_000


class Extents(NamedTuple):
    """The extent of the window that ends at each sample, as rows (-1: none).

    `before`: the queue's known sample before each; `run`: where the samples without a gap begin that each belongs to;
    `counted`: how many known samples there are up to each; `in_order`: per column its known samples, in the order of
    time, before all others; `firsts`: the first sample of the window that ends at each.
    """

    before: Matrix
    run: Matrix
    counted: Matrix
    in_order: Matrix
    firsts: Matrix


def chosen_columns(places: Sequence[int], count: int) -> Columns:
    """The columns at these places of so many; a slice, which copies nothing, for all in their order, as mostly."""
    return slice(None) if places == list(range(count)) else np.array(places, np.int64)


class SampleWindows:
    """The snapshots of an interval until `end` × the columns asked for, each with samples from its `since` on; the
    windows are those that end at samples from `start` on, which is the row `first_row`.
    """

    def __init__(
        self,
        samples: OffsetSamples,
        columns: Columns,
        *,
        since: Numbers,
        start: int,
        end: int,
        settings: AuditSettings,
    ) -> None:
        self._samples, self._rows, self._columns = samples, samples.inside(int(since.min()), end), columns
        self.since, self.start, self.end, self.settings = since, start, end, settings
        self.times = samples.times[self._rows]
        self.first_row = int(self.times.searchsorted(start))
        self.lag = self._chosen(samples.lag)
        self.known = (self.lag != UNKNOWN) & (self.times[:, None] >= since)
        self.row = np.arange(len(self.times))[:, None]

    def _chosen(self, matrix: Matrix) -> Matrix:
        return matrix[self._rows, self._columns]

    @cached_property
    def offset(self) -> Matrix:
        """The consumer offsets."""
        return self._chosen(self._samples.consumed_to)

    @cached_property
    def stored(self) -> Matrix:
        """The store times of the last consumed messages, milliseconds."""
        return self._chosen(self._samples.last_timestamp)

    @cached_property
    def extents(self) -> Extents:
        """The extents of all windows. Where no sample is missing, as mostly, one column stands for all."""
        extents = self._extents(self.known[:, :1] if self.known.all() else self.known)
        return Extents(*(np.broadcast_to(matrix, self.known.shape) for matrix in extents))

    @property
    def any_ends(self) -> Mask:
        """Per column, whether it has a window. Two samples are one, where none is missing and there is no gap."""
        if self.known.all() and (self.times[1:] - self.times[:-1] <= self.settings.max_gap).all():
            return np.full(len(self.since), len(self.times) > 1)
        return np.asarray((self.extents.firsts >= 0).any(axis=0))

    def _extents(self, known: Mask) -> Extents:
        latest, before = latest_rows(known), previous_rows(known)
        lasting = self.times[:, None] - self.times[np.maximum(before, 0)]
        # No window reaches beyond the first known sample, and those after a gap.
        run = latest_rows(known & ((before < 0) | (lasting > self.settings.max_gap)))
        counted: Matrix = np.cumsum(known, axis=0)
        in_order = np.argsort(~known, axis=0, kind="stable")
        firsts = self._with_short_ones(self._full_window_starts(known, latest, run, counted, in_order), latest, run)
        return Extents(before, run, counted, in_order, firsts)

    def _full_window_starts(
        self, known: Mask, latest: Matrix, run: Matrix, counted: Matrix, in_order: Matrix
    ) -> Matrix:
        """The first sample of the whole window that ends at each sample; -1: it has none."""
        thresholds = self.settings.thresholds
        reaches = self.times.searchsorted(self.times - thresholds.verdict_window_seconds * SECOND, "right") - 1
        by_time = np.where(reaches[:, None] >= 0, latest[np.maximum(reaches, 0)], -1)
        number = counted - thresholds.verdict_window_readings
        by_count = np.where(number >= 0, at_rows(in_order, number), -1)
        first = np.minimum(by_time, by_count)
        window_starts = np.where(known & (first >= run), first, -1)
        window_starts[: self.first_row] = -1
        return window_starts

    def _with_short_ones(self, window_starts: Matrix, latest: Matrix, run: Matrix) -> Matrix:
        """The first samples, where a column without a whole window gets one: all samples up to its last known one."""
        last, column = latest[-1], np.arange(window_starts.shape[1])
        begins = run[last, column]
        short = np.flatnonzero((window_starts < 0).all(axis=0) & (last >= self.first_row) & (begins < last))
        window_starts[last[short], short] = begins[short]
        return window_starts


def cut(matrices: Iterable[NDArray[Any]], *places: Columns) -> Iterator[Any]:
    """These rows, and columns, of each of the matrices."""
    return (matrix[places] for matrix in matrices)


def first_true(mask: Mask) -> Numbers:
    """Per column, the first row at which the mask holds; 0 where there is none."""
    return np.asarray(mask.argmax(axis=0), dtype=np.int64)


def last_true(mask: Mask) -> Numbers:
    """Per column, the last row at which the mask holds; the last one of all where there is none."""
    return len(mask) - 1 - first_true(mask[::-1])


def last_known(matrix: Matrix) -> Numbers:
    """Per column, the last known number; `UNKNOWN` where there is none."""
    known = matrix != UNKNOWN
    if not len(known):
        return np.full(matrix.shape[1], UNKNOWN)
    return matrix[last_true(known), np.arange(matrix.shape[1])]


def at_rows(matrix: NDArray[Number], rows: Matrix) -> NDArray[Number]:
    """The matrix at these rows of its columns; anything where there is none."""
    if rows.size and not rows.strides[-1]:  # one row for all columns, as mostly
        return matrix[np.maximum(rows[:, 0], 0)]
    width = matrix.shape[1]
    values: NDArray[Number] = matrix.take(np.maximum(rows, 0) * width + np.arange(width))
    return values


def greatest_since(values: Matrix, first: Matrix) -> Matrix:
    """The greatest of `values[first[row, column] : row + 1, column]`, by the greatest of 1, 2, 4 … rows up to each."""
    rows = np.arange(len(values))[:, None]
    lengths, width, result = rows - first + 1, 1, values
    greatest = values
    while width <= lengths.max(initial=0):
        covers = (lengths >= width) & (lengths < 2 * width)
        result = np.where(covers, np.maximum(greatest, at_rows(greatest, np.minimum(first + width - 1, rows))), result)
        wider = greatest.copy()
        wider[width:] = np.maximum(greatest[width:], greatest[:-width])
        greatest, width = wider, 2 * width
    return result


def latest_rows(mask: Mask) -> Matrix:
    """Per row and column, the last row up to it at which the mask holds; -1: none."""
    return np.asarray(np.maximum.accumulate(np.where(mask, np.arange(len(mask))[:, None], -1), axis=0))


def previous_rows(present: Mask) -> Matrix:
    """Per sample, the row of the queue's last sample before it; -1: there is none, nor is it a sample itself."""
    row = np.arange(len(present))[:, None]
    if present.all():  # as mostly
        return np.broadcast_to(row - 1, present.shape)
    before = np.full(present.shape, -1, dtype=np.int64)
    before[1:] = latest_rows(present)[:-1]
    return np.where(present, before, -1)


def no_older(age: Matrix, samples: OffsetSamples, seen: slice, row: Numbers, column: Numbers) -> Matrix:
    """The `age_ms` of queues at samples, as the age of the oldest message that waits: it is also younger than the last
    of the samples `seen` until which the queue had ended before it. `row` and `column` broadcast to the ages.
    """
    is_old = age > _CONSUMED_MS
    if not is_old.any():  # as mostly
        return age
    age, row, column = age.copy(), np.broadcast_to(row, age.shape), np.broadcast_to(column, age.shape)
    for place in np.unique(column[is_old]).tolist():
        chosen = is_old & (column == place)
        known = seen.start + np.flatnonzero(samples.end_offset[seen, place] != UNKNOWN)
        ends, at = np.maximum.accumulate(samples.end_offset[known, place]), row[chosen]
        before = ends.searchsorted(samples.consumed_to[at, place], side="right") - 1
        since = (samples.times[at] - samples.times[known[before]]) // MILLISECOND
        age[chosen] = np.where(before >= 0, np.minimum(age[chosen], since), age[chosen])
    return age


def age_ms(at: Matrix, stored: Matrix, lag: Matrix) -> Matrix:
    """From the storing of the last consumed message (ms) to the sample (microseconds), in ms, where a lag is left."""
    age = at // MILLISECOND - np.maximum(stored, 0)
    return np.where((lag > 0) & (stored > 0) & (age >= 0), age, UNKNOWN)
