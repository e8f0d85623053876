"""Rows of `findings` and `coverage` as values of the domain: column by column, as a fleet's month has many."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from spark_jobs.domain.incidents.values import PublishedFinding
from spark_jobs.domain.kernel.coverage import CoverageRow, Lack, Missing
from spark_jobs.domain.model.finding import ConflictingValue, Counts, Evidence, Finding, QueueEvidence
from spark_jobs.domain.model.history import Connection
from spark_jobs.domain.model.window import to_micros
from spark_jobs.store.read.stored import distinct_values, parted, values


def coverage_rows_in(table: pa.Table) -> Iterator[CoverageRow]:
    """Every row of the table, or of structs with its columns; one batch of them is in memory at a time."""
    for batch in table.to_batches():
        columns = ((name, batch.column(name)) for name in CoverageRow._fields)
        yield from map(CoverageRow, *(_gaps(each) if name == "missing" else _plain(each) for name, each in columns))


def _gaps(array: pa.ListArray) -> list[Sequence[Missing]]:
    return [[*map(_missing, each)] if each else () for each in values(array)]


def _missing(row: Mapping[str, Any]) -> Missing:
    return Missing(to_micros(row["started_at"]), to_micros(row["ended_at"]), row["source"], Lack(row["reason"]))


_KEY = ("cluster", "consumer_group", "step_start")


def published_findings(table: pa.Table) -> Iterator[PublishedFinding]:
    """Every row; one batch of them is in memory at a time."""
    for batch in table.to_batches():
        key = (_plain(batch.column(name)) for name in _KEY)
        own = (_evidence(batch.column(name)) if name == "evidence" else _plain(batch.column(name)) for name in _OWN)
        yield from map(PublishedFinding, *key, map(Finding, *own))


_OWN = Finding._fields


def _evidence(array: pa.StructArray) -> Iterator[Evidence]:
    return map(Evidence, *(_FIELDS.get(name, _plain)(array.field(name)) for name in Evidence._fields))


def _plain(array: pa.Array) -> list[Any]:
    """Texts and numbers, or lists of them; times are microseconds."""
    if pa.types.is_list(array.type):
        return parted(array, _plain(array.values))
    if pa.types.is_timestamp(array.type):
        array = array.cast(pa.timestamp("us", array.type.tz)).cast(pa.int64())
    return distinct_values(array)


def _structs(make: Callable[..., Any], names: Sequence[str], array: pa.StructArray) -> list[Any]:
    """A value of each struct, of its fields in the order of the names."""
    made = map(make, *(_plain(array.field(name)) for name in names))
    return [value if is_there else None for value, is_there in zip(made, array.is_valid().to_pylist(), strict=True)]


def _lists(make: Callable[..., Any], names: Sequence[str], array: pa.ListArray) -> list[Any]:
    """A list of values of each list of structs."""
    return parted(array, _structs(make, names, array.values))


def _or_empty(read: Callable[[pa.Array], list[Any]], array: pa.Array) -> list[Any]:
    return [values or [] for values in read(array)]


def _conflicting_value(name: str, client_ids: Sequence[str] | None) -> ConflictingValue:
    return ConflictingValue(name, None if client_ids is None else tuple(client_ids))


#: How the fields of the evidence are read that are not plain.
_FIELDS: Mapping[str, Callable[[Any], list[Any]]] = {
    "connections": partial(_lists, Connection, Connection._fields),
    "client_ids": partial(_or_empty, _plain),
    "queues": partial(_or_empty, partial(_lists, QueueEvidence, QueueEvidence._fields)),
    "if_deduplicated": partial(_structs, Counts, Counts._fields),
    "if_unique": partial(_structs, Counts, Counts._fields),
    "measures": partial(_lists, lambda *pair: pair, ("name", "value")),
    "conflicting_values": partial(_lists, _conflicting_value, ConflictingValue._fields),
}
