"""Rows of a table as expectations look at them: Arrow columns, in which null is unknown, as in SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]
#: Of the elements of an array: the element itself, besides its fields.
ELEMENT = "(element)"


def _operator(function: Callable[..., Any]) -> Callable[[Values, object], Values]:
    """A method that computes a column from its own and another one, or one value for all rows."""

    def method(self: Values, other: object) -> Values:
        return Values(function(self.array, other.array if isinstance(other, Values) else other))

    return method


class Values:
    """A column, or what is computed of columns: an entry per row; what is computed of an unknown value is unknown."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, array: pa.Array) -> None:
        self.array = array

    def __len__(self) -> int:
        return len(self.array)

    __eq__ = _operator(pc.equal)  # type: ignore[assignment]
    __ne__ = _operator(pc.not_equal)  # type: ignore[assignment]
    __lt__ = _operator(pc.less)
    __le__ = _operator(pc.less_equal)
    __gt__ = _operator(pc.greater)
    __ge__ = _operator(pc.greater_equal)
    __add__ = _operator(pc.add)
    __sub__ = _operator(pc.subtract)
    __mul__ = _operator(pc.multiply)
    __and__ = _operator(pc.and_kleene)
    __or__ = _operator(pc.or_kleene)

    def __invert__(self) -> Values:
        return Values(pc.invert(self.array))

    def is_known(self) -> Values:
        """True in rows where it is not null."""
        return Values(pc.is_valid(self.array))

    def is_unknown(self) -> Values:
        """True in rows where it is null."""
        return Values(pc.is_null(self.array))

    def or_else(self, value: object) -> Values:
        """The value itself, or this one where it is unknown."""
        return Values(pc.fill_null(self.array, value))

    def is_in(self, values: Iterable[str]) -> Values:
        """True in rows where it is one of these texts; unknown where it is unknown itself."""
        of_known = pc.is_in(self.array, value_set=pa.array([*values], pa.string()))
        return Values(pc.if_else(pc.is_valid(self.array), of_known, pa.scalar(None, pa.bool_())))

    def between(self, lowest: object, highest: object) -> Values:
        """True in rows where it is neither below nor above these two."""
        return (self >= lowest) & (self <= highest)

    def matches(self, pattern: str) -> Values:
        """True in rows whose text has the regular expression (RE2)."""
        return Values(pc.match_substring_regex(self.array, pattern))

    def length(self) -> Values:
        """Characters of a text."""
        return Values(pc.utf8_length(self.array))

    def size(self) -> Values:
        """Elements of an array."""
        return Values(pc.list_value_length(self.array))

    def field(self, name: str) -> Values:
        """A field of a struct; unknown where the struct is."""
        return Values(pc.struct_field(self.array, name))

    def flags(self) -> Flags:
        """Return NumPy's booleans; none may be unknown."""
        flags: Flags = self.array.to_numpy(zero_copy_only=False)
        return flags

    def ranks(self) -> Numbers:
        """The place of each value among all that there are, equal values having one; null is −1."""
        coded = self.array.dictionary_encode()
        rank = np.empty(len(coded.dictionary), np.int64)
        rank[pc.array_sort_indices(coded.dictionary).to_numpy()] = np.arange(len(rank))
        places = pc.fill_null(coded.indices, -1).to_numpy()
        return np.where(places < 0, -1, rank[places] if len(rank) else -1)

    def numbers(self, unknown: int = -1) -> Numbers:
        """Return integers, times in microseconds; `unknown` in place of null."""
        array = self.array if pa.types.is_integer(self.array.type) else self.array.cast(pa.int64())
        numbers: Numbers = pc.fill_null(array, unknown).to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
        return numbers


@dataclass(frozen=True)
class CheckSettings:
    """Settings of expectations: the read window, and the step's length. `whole_groups`: false for a run of one topic,
    whose group rows lack the other topics; `has_coverage`: false for that one, and for a run of a version without it.
    """

    read_start: datetime
    read_end: datetime
    step: timedelta
    whole_groups: bool = True
    has_coverage: bool = True

    def step_of(self, at: Numbers) -> Numbers:
        """The starts of the steps that hold these times, microseconds (`domain.intervals.StepGrid.floor`)."""
        return at - at % (self.step // timedelta(microseconds=1))


class Rows:
    """Rows of one table, or elements of one of its array columns."""

    def __init__(self, columns: Mapping[str, pa.Array], size: int, settings: CheckSettings) -> None:
        self._columns, self._size, self.settings = columns, size, settings
        self._elements: dict[str, Rows] = {}

    @classmethod
    def of(cls, table: pa.Table, settings: CheckSettings) -> Rows:
        """The rows of an Arrow table."""
        combined = table.combine_chunks()
        columns = {
            name: column.chunk(0) if column.num_chunks else pa.array([], column.type)
            for name, column in zip(combined.column_names, combined.columns, strict=True)
        }
        return cls(columns, len(table), settings)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, name: str) -> Values:
        """The column of that name; raises KeyError where there is none."""
        return Values(self._columns[name])

    def adding(self, **columns: object) -> Rows:
        """The rows with further columns, each an entry per row."""
        added = {
            name: values.array if isinstance(values, Values) else pa.array(values) for name, values in columns.items()
        }
        return Rows({**self._columns, **added}, self._size, self.settings)

    def always(self, value: bool = True) -> Values:
        """The same for every row."""
        return Values(pa.repeat(value, self._size))

    def elements(self, array: str) -> tuple[Rows, Numbers]:
        """The elements of an array of structs, and of which row each is; fields of a null element are null."""
        return self._elements_of(array), self._rows_of_elements(array)

    def _elements_of(self, array: str) -> Rows:
        if array not in self._elements:
            structs = self._columns[array].flatten()
            fields = zip((field.name for field in structs.type), structs.flatten(), strict=True)
            self._elements[array] = Rows({**dict(fields), ELEMENT: structs}, len(structs), self.settings)
        return self._elements[array]

    def _rows_of_elements(self, array: str) -> Numbers:
        rows: Numbers = pc.list_parent_indices(self._columns[array]).to_numpy()
        return rows

    def every(self, array: str, holds: Callable[[Rows], Values]) -> Values:
        """True in rows where it holds, or is unknown, for every element of the array that is there."""
        elements = self._elements_of(array)
        return self._without(array, ~holds(elements).or_else(True) & elements[ELEMENT].is_known())

    def none_null(self, array: str) -> Values:
        """True in rows where every element of the array is there."""
        return self._without(array, self._elements_of(array)[ELEMENT].is_unknown())

    def _without(self, array: str, broken: Values) -> Values:
        """True in rows without a broken element."""
        if not pc.any(broken.array).as_py():
            return self.always()
        has_no_broken = np.ones(self._size, bool)
        has_no_broken[self._rows_of_elements(array)[broken.flags()]] = False
        return Values(pa.array(has_no_broken))

    def in_order(self, array: str, *fields: str) -> Values:
        """True in rows where the elements of the array are sorted by these fields, null first, texts as UTF-8."""
        elements, rows = self.elements(array)
        is_same, is_after = rows[1:] == rows[:-1], np.zeros(len(elements), bool)
        for ranks in (elements[name].ranks() for name in fields):
            is_after[1:] |= is_same & (ranks[1:] < ranks[:-1])
            is_same = is_same & (ranks[1:] == ranks[:-1])
        return self._without(array, Values(pa.array(is_after)))

    def distinct(self, array: str, *fields: str) -> Values:
        """How many different elements the array has, by these fields, of which null is a value; unknown without one."""
        elements, rows = self.elements(array)
        (entries,) = codes(fields, elements)
        size = int(entries.max(initial=0)) + 1
        distinct = np.unique(rows * size + entries) // size
        return Values(pa.array(np.bincount(distinct, minlength=self._size), mask=self[array].is_unknown().flags()))

    def where(self, condition: Values) -> Rows:
        """The rows of which it holds."""
        places = pa.array(np.flatnonzero(condition.or_else(False).flags()))
        return Rows({name: column.take(places) for name, column in self._columns.items()}, len(places), self.settings)


def all_of(conditions: Iterable[Values]) -> Values:
    """True in rows where all of them hold."""
    return reduce(Values.__and__, conditions)


def least(first: Values, *further: Values) -> Values:
    """The least of those that are known."""
    return Values(pc.min_element_wise(first.array, *(values.array for values in further)))


def codes(names: Iterable[str], *tables: Rows) -> list[Numbers]:
    """Of each table a number per row: rows with equal values in these columns, null being one, have the same."""
    row_codes, bound = np.zeros(sum(map(len, tables)), np.int64), 1
    for name in names:
        column = pa.chunked_array([table[name].array for table in tables]).combine_chunks()
        places = column.dictionary_encode(null_encoding="encode").indices.to_numpy()
        size = int(places.max(initial=0)) + 1
        if bound * size > np.iinfo(np.int64).max:
            row_codes, bound = np.unique(row_codes, return_inverse=True)[1], len(row_codes)
        row_codes, bound = row_codes * size + places, bound * size
    # Ranked, so that the product with other numbers of rows fits into 64 bits.
    row_codes = np.unique(row_codes, return_inverse=True)[1]
    return np.split(row_codes, np.cumsum([len(table) for table in tables])[:-1])


def distinct(numbers: Numbers) -> tuple[Numbers, Numbers]:
    """The numbers, each once, in the order in which they come; and the place of each number among these."""
    coded = pa.array(numbers).dictionary_encode()
    return coded.dictionary.to_numpy(), coded.indices.to_numpy()


def first_places(wanted: Numbers, given: Numbers) -> Numbers:
    """The index of each wanted code's first among those given; −1: none."""
    places = pc.index_in(pa.array(wanted), value_set=pa.array(given))
    first: Numbers = pc.fill_null(places, -1).to_numpy().astype(np.int64)
    return first


def taken(column: Values, places: Numbers) -> Values:
    """The column's values at these places; unknown at −1."""
    return Values(column.array.take(pa.array(places, mask=places < 0)))


def rows_before(parts: Numbers, *orders: Numbers) -> Numbers:
    """Of each row the place of the one before it in its part, in the order of these keys; −1: it is the first."""
    order = np.lexsort((*reversed(orders), parts))
    before = np.full(len(parts), -1)
    is_same = parts[order[1:]] == parts[order[:-1]]
    before[order[1:][is_same]] = order[:-1][is_same]
    return before


def greatest_before(values: Numbers, parts: Numbers, *orders: Numbers) -> Values:
    """Each row's greatest value ≥ 0 among the rows before it in its part, in the order of these keys; unknown: none."""
    order, before = np.lexsort((*reversed(orders), parts)), rows_before(parts, *orders)
    lowest = values[values >= 0].min(initial=np.iinfo(np.int64).max) - 1
    relative = np.where(values >= 0, values - lowest, 0)[order]
    # Each part lies above the one before, so one running maximum serves all.
    base = parts[order] * (relative.max(initial=0) + 1)
    greatest = np.empty(len(values), np.int64)
    greatest[order] = np.maximum.accumulate(relative + base) - base
    relative_greatest = np.where(before < 0, 0, greatest[before])
    return Values(pa.array(relative_greatest + lowest, mask=relative_greatest == 0))
