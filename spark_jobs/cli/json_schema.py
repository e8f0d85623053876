"""JSON Schema of answers, from the types whose values `documents.plain` writes."""

from collections.abc import Mapping
from dataclasses import is_dataclass
from datetime import datetime
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np
import pyarrow as pa

from spark_jobs.domain.model.intervals import Interval

Schema = dict[str, Any]
#: The first type of which a value is one.
_SIMPLE: Mapping[type, Schema] = {
    NoneType: {"type": "null"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    datetime: {"type": "string", "format": "date-time"},
    Interval: {"type": "string", "description": "START/END, END excluded"},
}


def schema_of(kind: Any) -> Schema:
    """The schema of a type's values; of rows that are `Annotated` with an Arrow schema, that of its columns."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _of_columns(parts[1])
    if origin in (Union, UnionType):
        return {"anyOf": [*map(schema_of, parts)]}
    if origin is np.ndarray:  # `plain` is given a list, NaN as null
        return _list_of({"type": ["number", "null"]})
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": schema_of(parts[1])}
    if origin is not None:
        return _list_of(schema_of(parts[0]))
    for simple, schema in _SIMPLE.items():
        if issubclass(kind, simple):
            return schema
    if is_dataclass(kind) or is_typeddict(kind) or hasattr(kind, "_fields"):
        return _object({name: schema_of(of) for name, of in get_type_hints(kind, include_extras=True).items()})
    raise TypeError(f"{kind} has no schema")


def _list_of(element: Schema) -> Schema:
    return {"type": "array", "items": element}


def _object(properties: Mapping[str, Schema]) -> Schema:
    return {"type": "object", "properties": properties, "required": [*properties]}


def _of_columns(columns: pa.Schema) -> Schema:
    return _object({field.name: _of_arrow(field.type) for field in columns})


def _of_arrow(kind: pa.DataType) -> Schema:
    """Of a column, or of what is in one, which may be null."""
    if pa.types.is_list(kind):
        schema = _list_of(_of_arrow(kind.value_type))
    elif pa.types.is_map(kind):
        schema = {"type": "object", "additionalProperties": _of_arrow(kind.item_type)}
    elif pa.types.is_struct(kind):
        schema = _of_columns(kind)
    elif pa.types.is_timestamp(kind):
        schema = _SIMPLE[datetime]
    else:
        names = {"string": str, "bool": bool, "double": float, "int32": int, "int64": int}
        schema = _SIMPLE[names[str(kind)]]
    return schema | {"type": [schema["type"], "null"]}
