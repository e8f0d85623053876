"""Spark's SQL: values, and the statement that makes a table."""

import re

from schemas import Table
from schemas.types import Field, sql_type


def literal(text: str) -> str:
    """The text as a SQL string, without a semicolon: programs split scripts at them."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace(";", r"\u003B")
    return f"'{escaped}'"


def is_same_check(check: str | None, other: str) -> bool:
    """Return whether two constraints have the same words. Delta's ADD CONSTRAINT puts other spaces between them."""
    return check is not None and re.sub(r"\s", "", check) == re.sub(r"\s", "", other)


def create_table(table: Table, identifier: str) -> str:
    """The CREATE TABLE, with constraints: Delta's builder takes no catalog."""

    def column(field: Field) -> str:
        parts = [f"`{field.name}`", sql_type(field.type)]
        if field.name in table.generated:
            parts.append(f"GENERATED ALWAYS AS ({table.generated[field.name]})")
        if not field.nullable:
            parts.append("NOT NULL")
        return " ".join([*parts, "COMMENT", literal(field.comment or "")])

    columns = ",\n  ".join(map(column, table.schema))
    lines = [f"CREATE TABLE IF NOT EXISTS {identifier} (\n  {columns}\n) USING delta"]
    if table.partition_by:
        lines.append(f"PARTITIONED BY ({', '.join(table.partition_by)})")
    if table.cluster_by:
        lines.append(f"CLUSTER BY ({', '.join(table.cluster_by)})")
    lines.append(f"COMMENT {literal(table.comment)}")
    properties = {**{f"delta.constraints.{name}": check for name, check in table.checks.items()}, **table.layout}
    if properties:
        pairs = (f"{literal(name)} = {literal(value)}" for name, value in properties.items())
        lines.append(f"TBLPROPERTIES ({', '.join(pairs)})")
    return "\n".join(lines)
