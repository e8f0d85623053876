"""The shape in which judged rows come back from the Arrow function: all output tables in one frame."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, DataType, StructField, StructType

from schemas import OUTPUTS, Table
from schemas.table import array_of
from schemas.types import BOOLEAN, LONG, STRING, Array, Field, Struct, Type
from spark_jobs.store.spark_types import spark_type

#: What all rows of a step of a group share.
STEP_KEY = ("step_start", "cluster", "consumer_group")


def own_columns(table: Table) -> tuple[str, ...]:
    """The columns of an output table that are not of `STEP_KEY`."""
    return tuple(name for name in table.columns if name not in STEP_KEY)


def _loose(data_type: DataType) -> DataType:
    """The type without comments, and nullable in all its parts: Arrow compares those too."""
    if isinstance(data_type, ArrayType):
        return ArrayType(_loose(data_type.elementType), True)
    if isinstance(data_type, StructType):
        return StructType([StructField(field.name, _loose(field.dataType), True) for field in data_type])
    return data_type


def _part(table: Table, names: tuple[str, ...]) -> StructType:
    return StructType([StructField(name, _loose(spark_type(table.schema[name].type)), True) for name in names])


#: What the checks of some groups and topics have counted (`quality.facts.Fact`), and what they have left out
#: (`checked.Rejected`); whether any group was observed, for how many a strategy was assumed, and what
#: was not replayed.
FACTS, REJECTED, SEEN = "facts", "rejected", "seen"
_SAID: Mapping[str, Type] = {
    FACTS: array_of(
        Field("table_name", STRING),
        Field("step_start", LONG),
        Field("counts", Array(LONG)),
        Field("examples", array_of(Field("name", STRING), Field("key", STRING))),
    ),
    REJECTED: array_of(
        *(Field(name, STRING) for name in ("table_name", "cluster", "consumer_group", "name")),
        Field("captured_at", LONG),
    ),
    SEEN: Struct(
        [
            Field("observed", BOOLEAN),
            Field("assumed", LONG),
            Field(
                "skipped",
                array_of(
                    *(Field(name, STRING) for name in ("cluster", "consumer_group", "reason")),
                    Field("topics", Array(STRING)),
                ),
            ),
        ]
    ),
}
#: One row per (group, step), or several with a part of its rows each: an array of rows per output table; and one per
#: part of the groups and topics with what their checks have to say.
PACKED = StructType(
    [
        *_part(OUTPUTS[0], STEP_KEY),
        *(StructField(one.name, ArrayType(_part(one, own_columns(one)))) for one in OUTPUTS),
        *(StructField(name, spark_type(type)) for name, type in _SAID.items()),
    ]
)
PACKED_ARROW: pa.Schema = to_arrow_schema(PACKED)
#: Each output table on its own, with all its columns in its order.
TABLES_ARROW: dict[str, pa.Schema] = {table.name: to_arrow_schema(_part(table, table.columns)) for table in OUTPUTS}


def unpacked(packed: DataFrame, table: Table) -> DataFrame:
    """The rows of one output table."""
    return packed.select(*STEP_KEY, F.inline(table.name)).select(*table.columns)
