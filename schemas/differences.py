"""How the columns that a table was found with differ from those of its module, and which of them can be added."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from schemas.table import Table
from schemas.types import Array, Field, Struct, Type, as_json, sql_type


def missing_columns(stored: Any, table: Table) -> tuple[Field, ...]:
    """The nullable columns that a schema, `as_json`, lacks; fields of an array's structs as `array.element.field`."""
    present = {column["name"]: column["type"] for column in stored["fields"]} | dict.fromkeys(table.generated)
    missing: list[Field] = []
    for field in table.schema:
        if field.name not in present:
            missing += [field] if field.nullable else []
        elif isinstance(field.type, Array) and isinstance(field.type.element, Struct):
            there = _element_fields(present[field.name])
            absent = [each for each in field.type.element if there and each.name not in there]
            missing += [replace(each, name=f"{field.name}.element.{each.name}") for each in absent]
    return tuple(missing)


def _element_fields(type: Any) -> frozenset[str]:
    """The fields of an array's structs; none of another type."""
    element = type.get("elementType") if isinstance(type, dict) else None
    return frozenset(each["name"] for each in element.get("fields", ())) if isinstance(element, dict) else frozenset()


def lasting_differences(stored: Any, table: Table) -> list[str]:
    """The differences to the table's module that adding columns does not remove: a text per column."""
    added = {
        path for field in missing_columns(stored, table) for path in _leaves(as_json(field.type), _leaf(field.name))
    }
    texts = {_missing(path, type) for path, type in _leaves(as_json(table.schema)).items() if path in added}
    return [text for text in differences(stored, table.schema) if text not in texts]


def _leaf(name: str) -> str:
    """The path of a column, or of a field of an array's structs, as `_leaves` says it."""
    return name.replace(".element.", "[].")


def _missing(path: str, type: str) -> str:
    return f"column {path} ({type}) is missing"


def differences(stored: Any, wanted: Type) -> Iterator[str]:
    """The differences between a table's schema, `as_json`, and the one it should have: a text per column."""
    theirs, ours = _leaves(stored), _leaves(as_json(wanted))
    for name in sorted(theirs.keys() | ours.keys()):
        if name not in theirs:
            yield _missing(name, ours[name])
        elif name not in ours:
            yield f"column {name} ({theirs[name]}) is not known"
        elif theirs[name] != ours[name]:
            yield f"column {name} is {theirs[name]}, not {ours[name]}"


def usable_columns(stored: Any, wanted: Type) -> frozenset[str]:
    """The columns of a table's schema, `as_json`, that are as wanted: `client_id`, or `connections[].client_id`."""
    return frozenset(dict(_leaves(stored).items() & _leaves(as_json(wanted)).items()))


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
    return {path.lstrip("."): sql_type(str(kind))}
