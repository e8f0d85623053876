"""Rows of `coverage` as values of the domain: column by column, as a fleet's day has many."""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from spark_jobs.domain.kernel.coverage import CoverageRow, Lack, Missing
from spark_jobs.domain.model.window import to_micros
from spark_jobs.store.read.stored import values


def coverage_rows_in(table: pa.Table) -> Iterator[CoverageRow]:
    """Every row of the table, or of structs with its columns; one batch of them is in memory at a time."""
    for batch in table.to_batches():
        yield from map(CoverageRow, *(_column(batch.column(name), name) for name in CoverageRow._fields))


def _column(array: pa.Array, name: str) -> list[Any]:
    """Texts and numbers, times as microseconds, and what is missing."""
    if name == "missing":
        return [[*map(_missing, each)] if each else () for each in values(array)]
    if pa.types.is_timestamp(array.type):
        array = array.cast(pa.timestamp("us", array.type.tz)).cast(pa.int64())
    return list(array.to_pylist())


def _missing(row: Mapping[str, Any]) -> Missing:
    return Missing(to_micros(row["started_at"]), to_micros(row["ended_at"]), row["source"], Lack(row["reason"]))
