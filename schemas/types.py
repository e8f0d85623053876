"""The types of columns as plain values, in the words of Delta's log; Spark's own are `spark_jobs.store.spark_types`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

STRING: Final = "string"
INTEGER: Final = "integer"
LONG: Final = "long"
DOUBLE: Final = "double"
BOOLEAN: Final = "boolean"
TIMESTAMP: Final = "timestamp"
DATE: Final = "date"
#: What SQL calls them, where that is another word.
_SQL: Final = {INTEGER: "int", LONG: "bigint"}


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
    nullable: bool = True
    comment: str | None = None


class Struct:
    """Named values, in order."""

    def __init__(self, fields: Iterable[Field]) -> None:
        self.fields = tuple(fields)

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


def differences(found: Any, wanted: Type) -> Iterator[str]:
    """What differs between a schema `as_json`, as a table has it, and the one it should have: a text per column."""
    theirs, ours = _leaves(found), _leaves(as_json(wanted))
    for name in sorted(theirs.keys() | ours.keys()):
        if name not in theirs:
            yield f"column {name} ({ours[name]}) is missing"
        elif name not in ours:
            yield f"column {name} ({theirs[name]}) is not known"
        elif theirs[name] != ours[name]:
            yield f"column {name} is {theirs[name]}, not {ours[name]}"


def _leaves(schema: Any, path: str = "") -> Mapping[str, str]:
    """Every column that holds no others, as dotted path → type as SQL calls it; nullability is not part of it."""
    kind = schema["type"] if isinstance(schema, dict) else schema
    if kind == "struct":
        return {
            name: type
            for field in schema["fields"]
            for name, type in _leaves(field["type"], f"{path}.{field['name']}").items()
        }
    if kind == "array":
        return _leaves(schema["elementType"], f"{path}[]")
    if kind == "map":
        return _leaves(schema["valueType"], f"{path}{{}}")
    name = str(kind)
    return {path.lstrip("."): _SQL.get(name, name)}
