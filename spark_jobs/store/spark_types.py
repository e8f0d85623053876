"""The columns of tables as Spark's own types, and the SQL that makes a table."""

from __future__ import annotations

from functools import cache

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructField, StructType

from schemas import Table
from schemas.types import Field, Struct, Type, as_json
from spark_jobs.store.sql import literal


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


@cache
def spark_schema(table: Table) -> StructType:
    """The columns of a table, with their comments."""
    return StructType.fromJson(as_json(table.schema))


def spark_type(type: Type) -> DataType:
    """The type of one column."""
    return StructType.fromJson(as_json(Struct(Field("it", type))))["it"].dataType


def with_nulls(frame: DataFrame, table: Table) -> DataFrame:
    """The rows, with null in the columns of the table that they lack."""
    lacking = {field.name: field.dataType for field in spark_schema(table) if field.name not in frame.columns}
    return frame.withColumns({name: F.lit(None).cast(type) for name, type in lacking.items()}) if lacking else frame
