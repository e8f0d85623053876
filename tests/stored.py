"""Tables written by hand without Spark, as delta-rs writes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

from schemas import Table
from schemas.types import BOOLEAN, DATE, DOUBLE, INTEGER, LONG, STRING, TIMESTAMP, Array, Map, Struct, Type

_ARROW = {
    STRING: pa.string(),
    INTEGER: pa.int32(),
    LONG: pa.int64(),
    DOUBLE: pa.float64(),
    BOOLEAN: pa.bool_(),
    TIMESTAMP: pa.timestamp("us", "UTC"),
    DATE: pa.date32(),
}


def write(warehouse: Path, table: Table, rows: Iterable[Mapping[str, Any]]) -> None:
    """Appends rows, of which what is not named is null."""
    write_deltalake(warehouse / table.name, arrow_table(table, rows), mode="append")


def arrow_table(table: Table, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """The rows as Arrow has them; what is not named is null."""
    fields = [pa.field(one.name, arrow_type(one.type)) for one in table.schema]
    named = [{name: row.get(name) for name in table.schema.names} for row in rows]
    return pa.Table.from_pylist(named, pa.schema(fields))


def arrow_type(type: Type) -> pa.DataType:
    """The type as Arrow calls it."""
    if isinstance(type, Array):
        return pa.list_(arrow_type(type.element))
    if isinstance(type, Map):
        return pa.map_(pa.string(), arrow_type(type.value))
    if isinstance(type, Struct):
        return pa.struct([(one.name, arrow_type(one.type)) for one in type])
    return _ARROW[type]
