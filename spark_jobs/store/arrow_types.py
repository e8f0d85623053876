"""The columns of tables as Delta's and Arrow's own types, without Spark."""

from __future__ import annotations

import json
from functools import cache

import pyarrow as pa
from deltalake import Schema

from schemas import Table
from schemas.types import as_json


@cache
def delta_schema(table: Table) -> Schema:
    """The columns of a table as delta-rs has them, with their comments."""
    return Schema.from_json(json.dumps(as_json(table.schema)))


@cache
def arrow_schema(table: Table) -> pa.Schema:
    """The columns of a table as Arrow has them, without their comments."""
    return pa.schema([field.remove_metadata() for field in pa.schema(delta_schema(table).to_arrow())])
