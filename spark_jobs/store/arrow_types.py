"""The columns of tables as Arrow's and Delta's own types, without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

import pyarrow as pa

from schemas import Table, types

if TYPE_CHECKING:
    from deltalake import Schema

_ARROW = {
    types.STRING: pa.string(),
    types.INTEGER: pa.int32(),
    types.LONG: pa.int64(),
    types.DOUBLE: pa.float64(),
    types.BOOLEAN: pa.bool_(),
    types.TIMESTAMP: pa.timestamp("us", "UTC"),
    types.DATE: pa.date32(),
}


def delta_schema(table: Table) -> Schema:
    """The columns of a table as delta-rs has them, with their comments."""
    from deltalake import Schema  # executors, which need the types only, have none

    return Schema.from_json(json.dumps(types.as_json(table.schema)))


@cache
def arrow_schema(table: Table) -> pa.Schema:
    """The columns of a table as Arrow has them, without their comments."""
    return arrow_fields(table.schema)


def arrow_fields(fields: Iterable[types.Field]) -> pa.Schema:
    """These columns as Arrow has them, without their comments."""
    return pa.schema([pa.field(field.name, arrow_type(field.type), field.nullable) for field in fields])


def arrow_type(type: types.Type) -> pa.DataType:
    """The type of one column."""
    if isinstance(type, types.Array):
        return pa.list_(arrow_type(type.element))
    if isinstance(type, types.Map):
        return pa.map_(pa.string(), pa.field("value", arrow_type(type.value), nullable=False))
    return pa.struct(list(arrow_fields(type))) if isinstance(type, types.Struct) else _ARROW[type]
