"""The interface of every reader of a warehouse's tables, whatever it reads them with."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from schemas import Table
from spark_jobs.domain.model.window import from_micros
from spark_jobs.store.location import Location


class Filter(NamedTuple):
    """A condition: column, operator (`=`, `<`, `<=`, `>`, `>=`, `IN`, `NOT IN`), value; a null keeps none but `IS` with
    None.
    """

    column: str
    operator: str
    value: Any


class StoredTables(Protocol):
    """The tables of one warehouse."""

    @property
    def location(self) -> Location:
        """Return their location."""

    @property
    def folder(self) -> Location:
        """Return the location of files alongside them, such as claims."""

    def exists(self, table: Table) -> bool:
        """Return whether the table has been made."""

    def read(
        self,
        table: Table,
        columns: Sequence[str],
        conditions: Sequence[Filter] = (),
        version: int | None = None,
        *,
        distinct: bool = False,
    ) -> pa.Table:
        """These columns of the rows that keep all conditions, in any order, of the newest or given version, with
        `distinct` the different ones; times are UTC. Only their files and columns are read. Raises `WarehouseError` for
        a missing or unreadable table, `SchemaMismatchError` if its columns are not those of `schemas`.
        """

    def count(self, table: Table, time: str, conditions: Sequence[Filter]) -> tuple[int, datetime | None]:
        """The number of rows that keep all conditions, and the first of their times; raises as `read` does."""

    def version(self, table: Table) -> int:
        """The newest version; raises as `read` does."""

    def written_at(self, table: Table) -> datetime:
        """Return when the newest version was committed, by the clock of its writer; raises as `read` does."""

    def operations(self, table: Table, last: int) -> Mapping[int, str]:
        """Operations of the last so many commits, by version, as Delta calls them; without commits that are gone."""

    def properties(self, table: Table) -> Mapping[str, str]:
        """The table's properties, such as `delta.logRetentionDuration`, whatever its columns are; raises as `read`."""

    def append(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        """Append rows, to a table that is created if missing. Raises `PublishError`, or as `read`."""

    def replace(self, table: Table, rows: pa.Table, where: Filter | None = None) -> None:
        """Replace all rows, or those that keep the condition, as all new ones must, in one commit; the table is created
        if it is missing. Raises as `append`.
        """


def rows(table: pa.Table) -> list[dict[str, Any]]:
    """Every row as a dict; times are UTC. Not by `to_pylist`: it loads pandas for times, which takes a second."""
    return [dict(zip(table.column_names, row, strict=True)) for row in tuples(table)]


def tuples(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    """Every row as a tuple, in the same way; one batch of them is in memory at a time."""
    for batch in table.to_batches():
        yield from zip(*map(values, batch.columns), strict=True)


def values(array: pa.Array) -> list[Any]:
    """The values of an array: structs and maps as dicts, lists as lists, times as datetimes, nulls as None."""
    if pa.types.is_timestamp(array.type):
        return distinct_values(array.cast(pa.timestamp("us", array.type.tz)).cast(pa.int64()), from_micros)
    if pa.types.is_struct(array.type):
        names = [field.name for field in array.type]
        fields = zip(*(values(array.field(name)) for name in names), strict=True)
        return [
            dict(zip(names, row, strict=True)) if is_there else None
            for row, is_there in zip(fields, array.is_valid().to_pylist(), strict=True)
        ]
    if pa.types.is_map(array.type):
        pairs = list(zip(values(array.keys), values(array.items), strict=True))
        return [None if entries is None else dict(entries) for entries in parted(array, pairs)]
    if pa.types.is_list(array.type):
        return parted(array, values(array.values))
    plain: list[Any] = array.to_pylist()
    return plain


def distinct_values(array: pa.Array, made: Callable[[Any], Any] | None = None) -> list[Any]:
    """The values of texts or numbers, or what is `made` of each distinct one; nulls as None."""
    encoded = array.dictionary_encode(null_encoding="encode")
    distinct = encoded.dictionary.to_pylist()
    results = distinct if made is None else [None if value is None else made(value) for value in distinct]
    # Not by to_numpy, nor to_pylist: the one loads pandas, the other is slow.
    return [results[place] for place in np.from_dlpack(encoded.indices).tolist()]


def parted(array: pa.ListArray, every: list[Any]) -> list[list[Any] | None]:
    """The elements of each list, of those of the whole array."""
    ends, there = array.offsets.to_pylist(), array.is_valid().to_pylist()
    return [every[start:end] if valid else None for start, end, valid in zip(ends, ends[1:], there, strict=False)]
