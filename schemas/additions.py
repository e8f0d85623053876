"""What a table that an older version made lacks, and what of it can be added."""

from __future__ import annotations

from typing import Any

from schemas.table import Table
from schemas.types import Field, as_json, differences


def missing_columns(found: Any, table: Table) -> tuple[Field, ...]:
    """The columns that a schema, `as_json`, lacks and that may be null: of the rows that are there they are unknown."""
    there = {one["name"] for one in found["fields"]} | table.generated.keys()
    return tuple(field for field in table.schema if field.name not in there and field.nullable)


def lasting_differences(found: Any, table: Table) -> list[str]:
    """What differs from the table's module all the same once these columns are there: a text per column."""
    added = [{"name": one.name, "type": as_json(one.type)} for one in missing_columns(found, table)]
    return list(differences({**found, "fields": [*found["fields"], *added]}, table.schema))
