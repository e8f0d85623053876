"""Snapshots folded to their distinct states: a fleet is stable most of the time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, StructType

from schemas import Table
from spark_jobs.pipeline.exchange import KEY, KINDS, MISSING, Kind
from spark_jobs.store.spark_types import union_of

#: The snapshots that a run reads, of each table of `schemas.SOURCES`.
Sources = Mapping[Table, DataFrame]
Snapshots = Mapping[Kind, DataFrame]


def with_states(sources: Sources) -> dict[Kind, DataFrame]:
    """The snapshots by kind, as `with_state` gives them."""
    return {kind: with_state(kind, sources[kind.table]) for kind in KINDS if kind.table in sources}


def with_state(kind: Kind, snapshots: DataFrame) -> DataFrame:
    """One row per snapshot: `exchange.KEY`, `at`, its `state`, the state's `fingerprint`, and its `sample`.

    Connections, subscriptions and brokers are listed in any order: they are sorted.
    """
    group = F.lit(None).cast("string") if kind.of_topics else F.col("consumer_group")
    columns = {
        "cluster": F.col("cluster"),
        "consumer_group": group,
        "name": F.col(kind.named_by),
        "at": F.unix_micros("captured_at"),
        "state": F.struct(*_state(kind, snapshots.schema)),
        "sample": F.struct(*_sample(kind)) if kind.is_measured else F.lit(None),
    }
    shown = snapshots.select(*(column.alias(name) for name, column in columns.items()))
    parts = _hashed_parts(F.col("state"), shown.schema["state"].dataType)
    return shown.withColumn("fingerprint", F.xxhash64(F.lit(kind.name), *KEY, *parts))


def folded(snapshots: Snapshots) -> DataFrame:
    """One row per (key, distinct state) of every kind, as `exchange.STATES` without kinds that have no source. One
    aggregation by hash folds all kinds.
    """
    every = union_of(_of_kind(kind, shown) for kind, shown in snapshots.items())
    state = (F.first(kind.name).alias(kind.name) for kind in snapshots)
    return every.groupBy("kind", *KEY, "fingerprint").agg(F.collect_list("at").alias("times"), *state)


def _of_kind(kind: Kind, shown: DataFrame) -> DataFrame:
    at = F.lit(None).cast("bigint") if kind.is_measured else F.col("at")
    state = F.col("state").alias(kind.name)
    return shown.select(F.lit(kind.name).alias("kind"), *KEY, "fingerprint", at.alias("at"), state)


def _state(kind: Kind, source: StructType) -> Iterator[Column]:
    for name in kind.shared:
        is_list = isinstance(source[name].dataType, ArrayType)
        yield F.sort_array(name).alias(name) if is_list else F.col(name)
    if kind.array is not None:
        # An array of each field: that is ten times as fast as an array of structs.
        lists = (F.col(kind.array)[name].alias(name) for name in kind.listed)
        missing = _nulls(F.col(kind.array)["queue_id"], "int", F.col(kind.array)).alias(MISSING)
        yield F.struct(*lists, missing).alias(kind.array)
    for name in kind.measured:
        yield F.when(F.col(name).isNotNull(), F.lit(True)).alias(name)


def _sample(kind: Kind) -> Iterator[Column]:
    for name in kind.numbers:
        yield F.col(str(kind.array))[name].cast("array<bigint>").alias(name)
    yield from map(F.col, kind.measured)


def _hashed_parts(value: Column, data_type: DataType) -> Iterator[Column]:
    """Return what a hash has to see of a value. Spark's own skips nulls, and does not see where one part ends."""
    if isinstance(data_type, StructType):
        for field in data_type:
            yield from _hashed_parts(value[field.name], field.dataType)
        return
    yield from (value, value.isNull())
    if not isinstance(data_type, ArrayType):
        return
    if not isinstance(data_type.elementType, StructType):
        yield from (_nulls(value, data_type.elementType.simpleString()), F.lit(""))
        return
    for field in data_type.elementType:
        yield from (_nulls(value[field.name], field.dataType.simpleString()), F.lit(field.name))


def _nulls(field: Column, type_name: str, array: Column | None = None) -> Column:
    """array<boolean>: which values of a field are null, or which of the array's elements; null itself where none is.

    `array_contains` is null where the value is missing and the array has a null: that check costs next to nothing, and
    most arrays contain neither.
    """
    any_value = F.lit({"string": "", "boolean": False}.get(type_name, -1))
    may_have_nulls = F.coalesce(F.array_contains(field, any_value), F.lit(True))
    return F.when(may_have_nulls, F.transform(field if array is None else array, lambda column: column.isNull()))
