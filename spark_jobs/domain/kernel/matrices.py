"""Rows and columns of matrices of samples × queues, and the ages of messages at samples."""

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.model.history import UNKNOWN, Mask, Matrix, Numbers, OffsetSamples
from spark_jobs.domain.model.window import MILLISECOND

#: Some of the queues of a topic's samples: all of them in their order, or the places of their columns.
Columns = Numbers | slice
Number = TypeVar("Number", np.int64, np.bool_)
#: A queue is consumed as messages come, if none waits for longer: twice the default distance of commits.
_CONSUMED_MS = 10_000


def cut(matrices: Iterable[NDArray[Any]], *places: Columns) -> Iterator[Any]:
    """These rows, and columns, of each of the matrices."""
    return (matrix[places] for matrix in matrices)


def runs_of_true(mask: Mask) -> list[tuple[int, int]]:
    """The first place, and the place after the last, of each run of neighbors at which the mask holds, in order."""
    edges = np.flatnonzero(np.diff(mask, prepend=False, append=False))
    return [(first, after) for first, after in edges.reshape(-1, 2).tolist()]


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


def known_total(numbers: NDArray[np.int64]) -> int | None:
    """The sum of those that are known; None: none is."""
    known = numbers[numbers != UNKNOWN]
    return int(known.sum()) if len(known) else None


def known_totals(matrix: Matrix, axis: int) -> Numbers:
    """The sums, along an axis, of what is known; `UNKNOWN` where nothing is."""
    is_known = matrix != UNKNOWN
    if is_known.all() and matrix.shape[axis]:  # as mostly
        return np.asarray(matrix.sum(axis=axis))
    return np.where(is_known.any(axis=axis), np.where(is_known, matrix, 0).sum(axis=axis), UNKNOWN)


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
