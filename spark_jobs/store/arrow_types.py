"""The columns of tables as Arrow's and Delta's own types, without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

import pyarrow as pa

from schemas import Table
from schemas.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    Array,
    Field,
    Map,
    Struct,
    Type,
    as_json,
)

if TYPE_CHECKING:
    from deltalake import Schema

_ARROW = {
    STRING: pa.string(),
    INTEGER: pa.int32(),
    LONG: pa.int64(),
    DOUBLE: pa.float64(),
    BOOLEAN: pa.bool_(),
    TIMESTAMP: pa.timestamp("us", "UTC"),
    DATE: pa.date32(),
}


def delta_schema(table: Table) -> Schema:
    """The columns of a table as delta-rs has them, with their comments."""
    from deltalake import Schema  # executors, which need the types only, have none

    return Schema.from_json(json.dumps(as_json(table.schema)))


@cache
def arrow_schema(table: Table) -> pa.Schema:
    """The columns of a table as Arrow has them, without their comments."""
    return arrow_fields(table.schema)


def arrow_fields(fields: Iterable[Field]) -> pa.Schema:
    """These columns as Arrow has them, without their comments."""
    return pa.schema([pa.field(field.name, arrow_type(field.type), field.nullable) for field in fields])


def arrow_type(type: Type) -> pa.DataType:
    """The type of one column."""
    if isinstance(type, Array):
        return pa.list_(arrow_type(type.element))
    if isinstance(type, Map):
        return pa.map_(pa.string(), pa.field("value", arrow_type(type.value), nullable=False))
    return pa.struct(list(arrow_fields(type))) if isinstance(type, Struct) else _ARROW[type]
