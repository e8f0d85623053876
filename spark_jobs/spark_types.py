"""The columns of tables as Spark's own types."""

from __future__ import annotations

from functools import cache

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructType

from schemas import Table
from schemas.types import Field, Struct, Type, as_json


@cache
def spark_schema(table: Table) -> StructType:
    """The columns of a table, with their comments."""
    return StructType.fromJson(as_json(table.schema))


def spark_type(type: Type) -> DataType:
    """The type of one column."""
    return StructType.fromJson(as_json(Struct([Field("it", type)])))["it"].dataType


def with_nulls(frame: DataFrame, table: Table) -> DataFrame:
    """The rows, with null in the columns of the table that they lack."""
    lacking = {one.name: one.dataType for one in spark_schema(table) if one.name not in frame.columns}
    return frame.withColumns({name: F.lit(None).cast(type) for name, type in lacking.items()}) if lacking else frame
