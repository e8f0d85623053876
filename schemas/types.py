"""The types of columns as plain values, in the words of Delta's log; Spark's own are `spark_jobs.store.spark_types`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

STRING: Final = "string"
INTEGER: Final = "integer"
LONG: Final = "long"
DOUBLE: Final = "double"
BOOLEAN: Final = "boolean"
TIMESTAMP: Final = "timestamp"
DATE: Final = "date"


@dataclass(frozen=True)
class Array:
    """A list of values, any of which may be null."""

    element: Type


@dataclass(frozen=True)
class Map:
    """From texts to values."""

    value: Type


@dataclass(frozen=True)
class Field:
    """A named value; `comment` says what a column means, with its unit."""

    name: str
    type: Type
    comment: str | None = None
    nullable: bool = True


class Struct:
    """Named values, in order."""

    def __init__(self, *fields: Field) -> None:
        self.fields = fields

    @property
    def names(self) -> tuple[str, ...]:
        """Of its fields."""
        return tuple(field.name for field in self.fields)

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __getitem__(self, name: str) -> Field:
        """The field of that name; raises KeyError where there is none."""
        return {field.name: field for field in self.fields}[name]


Type = str | Array | Map | Struct
#: The names of types in Spark's SQL, where they differ.
_SQL: Final = {INTEGER: "int", LONG: "bigint"}


def sql_type(type: Type) -> str:
    """The type as Spark's SQL writes it."""
    if isinstance(type, Array):
        return f"array<{sql_type(type.element)}>"
    if isinstance(type, Map):
        return f"map<{STRING},{sql_type(type.value)}>"
    if isinstance(type, Struct):
        return f"struct<{','.join(f'{field.name}:{sql_type(field.type)}' for field in type)}>"
    return _SQL.get(type, type)


def fields(type: Type, *names: str) -> tuple[Field, ...]:
    """Values of one type, without comments."""
    return tuple(Field(name, type) for name in names)


def required(name: str, type: Type, comment: str) -> Field:
    """A column that is never null."""
    return Field(name, type, comment, nullable=False)


def array_of(*fields: Field) -> Array:
    """An array of structs. Delta enforces NOT NULL on top-level columns only, so what is inside is nullable."""
    return Array(Struct(*fields))


def as_json(type: Type) -> Any:
    """The type as Delta's log and Spark write it."""
    if isinstance(type, Array):
        return {"type": "array", "elementType": as_json(type.element), "containsNull": True}
    if isinstance(type, Map):
        value = as_json(type.value)
        return {"type": "map", "keyType": STRING, "valueType": value, "valueContainsNull": False}
    if isinstance(type, Struct):
        return {"type": "struct", "fields": [_field_as_json(field) for field in type]}
    return type


def _field_as_json(field: Field) -> dict[str, Any]:
    metadata = {} if field.comment is None else {"comment": field.comment}
    return {"name": field.name, "type": as_json(field.type), "nullable": field.nullable, "metadata": metadata}
