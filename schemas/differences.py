"""How the columns that a table was found with differ from those of its module, and which of them can be added."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from schemas.table import Table
from schemas.types import INTEGER, LONG, Field, Type, as_json

#: What SQL calls them, where that is another word.
_SQL: Final = {INTEGER: "int", LONG: "bigint"}


def missing_columns(stored: Any, table: Table) -> tuple[Field, ...]:
    """The columns that a schema, `as_json`, lacks and that may be null: of the rows that are there they are unknown."""
    present = {column["name"] for column in stored["fields"]} | table.generated.keys()
    return tuple(field for field in table.schema if field.name not in present and field.nullable)


def lasting_differences(stored: Any, table: Table) -> list[str]:
    """The differences to the table's module that adding columns does not remove: a text per column."""
    added = [{"name": column.name, "type": as_json(column.type)} for column in missing_columns(stored, table)]
    return list(differences({**stored, "fields": [*stored["fields"], *added]}, table.schema))


def differences(stored: Any, wanted: Type) -> Iterator[str]:
    """The differences between a table's schema, `as_json`, and the one it should have: a text per column."""
    theirs, ours = _leaves(stored), _leaves(as_json(wanted))
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
