"""The SQL that makes a table."""

from __future__ import annotations

from pyspark.sql.types import StructField

from schemas import Table
from spark_jobs.spark_types import spark_schema
from spark_jobs.sql import literal


def create_table(table: Table, identifier: str) -> str:
    """The CREATE TABLE of a table; constraints as the properties that ADD CONSTRAINT would store, in one commit.

    Not by Delta's builder: it takes no catalog before the schema's name.
    """

    def column(field: StructField) -> str:
        parts = [f"`{field.name}`", field.dataType.simpleString()]
        if field.name in table.generated:
            parts.append(f"GENERATED ALWAYS AS ({table.generated[field.name]})")
        if not field.nullable:
            parts.append("NOT NULL")
        return " ".join([*parts, "COMMENT", literal(field.metadata["comment"])])

    lines = [f"CREATE TABLE IF NOT EXISTS {identifier} ({', '.join(map(column, spark_schema(table)))}) USING delta"]
    if table.partition_by:
        lines.append(f"PARTITIONED BY ({', '.join(table.partition_by)})")
    if table.cluster_by:
        lines.append(f"CLUSTER BY ({', '.join(table.cluster_by)})")
    lines.append(f"COMMENT {literal(table.comment)}")
    if table.checks:
        checks = (f"'delta.constraints.{name}' = {literal(check)}" for name, check in table.checks.items())
        lines.append(f"TBLPROPERTIES ({', '.join(checks)})")
    return "\n".join(lines)
