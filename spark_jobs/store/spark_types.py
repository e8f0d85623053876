"""Tables in Spark: columns as Spark's own types, and expressions that several parts share."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import cache, reduce
from operator import and_
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructField, StructType

from schemas import Table
from schemas.types import Field, Struct, Type, as_json


@cache
def spark_schema(table: Table) -> StructType:
    """The columns of a table, with their comments."""
    return StructType.fromJson(as_json(table.schema))


def struct_type(columns: Struct) -> StructType:
    """These columns, without their comments."""
    return StructType([StructField(field.name, spark_type(field.type), field.nullable) for field in columns])


def spark_type(type: Type) -> DataType:
    """The type of one column."""
    return StructType.fromJson(as_json(Struct(Field("it", type))))["it"].dataType


def in_utc(collected: Any) -> Any:
    """The value with its times in UTC and without zone: PySpark collects times in the zone of the process."""
    match collected:
        case datetime():
            return collected.astimezone(UTC).replace(tzinfo=None)
        case dict():
            return {name: in_utc(value) for name, value in collected.items()}
        case list():
            return [*map(in_utc, collected)]
    return collected


def in_columns_of(table: Table, frame: DataFrame) -> DataFrame:
    """The rows of an older version in the table's columns: null in those that it lacks."""
    lacking = {field.name: F.lit(None).cast(spark_type(field.type)) for field in table.schema}
    return frame.select(
        *(F.col(name) if name in frame.columns else lacking[name].alias(name) for name in table.schema.names)
    )


def union_of(frames: Iterable[DataFrame]) -> DataFrame:
    """The rows of all frames; null in the columns that a frame lacks."""
    return reduce(lambda frame, other: frame.unionByName(other, allowMissingColumns=True), frames)


def keeps(check: str) -> Column:
    """A condition: the row keeps a constraint as Delta evaluates it; unknown does not."""
    return F.coalesce(F.expr(check), F.lit(False))


def same_key(table: Table) -> Column:
    """A condition: `t` and `s` have one key of the table; null is a value."""
    return reduce(
        and_,
        (
            F.col(f"t.{name}").eqNullSafe(F.col(f"s.{name}"))
            if table.schema[name].nullable
            else F.col(f"t.{name}") == F.col(f"s.{name}")
            for name in table.key
        ),
    )


def per_step_that_reads(snapshots: DataFrame, step: timedelta, look_back: timedelta) -> DataFrame:
    """One row per (snapshot, step that reads it): one shortly before a step is in its look-back too."""
    seconds = int(step.total_seconds())

    def start(moment: Column) -> Column:
        return F.timestamp_seconds(F.floor(F.unix_seconds(moment) / seconds) * seconds)

    captured_at = F.col("captured_at")
    starts = F.sequence(start(captured_at), start(captured_at + F.lit(look_back)), F.lit(step))
    return snapshots.withColumn("step_start", F.explode(starts))
