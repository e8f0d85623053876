"""Snapshots folded to their distinct states: a fleet is stable most of the time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, IntegerType, StructType

from schemas import CLIENT_SNAPSHOTS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, TOPIC_SNAPSHOTS, Table
from spark_jobs.pipeline.gather.kinds import KIND_OF, KINDS, MEMBERSHIP, NAME_OF, ROUTE, SETTINGS
from spark_jobs.store.spark_types import union_of

#: The snapshots that a run reads, of each table of `schemas.SOURCES`.
Sources = Mapping[Table, DataFrame]
GROUP = ("cluster", "consumer_group")
_SUBSCRIPTION = ("topic", "expression_type", "sub_string")
_STATE = ("kind", *GROUP, "name", "fingerprint")
_OWNED = ("topic", "broker_name", "queue_id", "locked", "dropped")


def with_states(sources: Sources) -> dict[str, DataFrame]:
    """The snapshots by kind, each with its columns and `name`, `at`, the state that it shows, named like the kind, and
    the state's `fingerprint`.

    What lists connections, subscriptions or brokers does so in any order: they are sorted. The state of an offset or
    topic snapshot is the list of its queues.
    """
    return {KIND_OF[table]: with_state(table, frame) for table, frame in sources.items()}


def with_state(table: Table, snapshots: DataFrame) -> DataFrame:
    """The snapshots of one source as `with_states` gives them; queues that clients own are in their state's order."""
    if table is CLIENT_SNAPSHOTS:
        snapshots = snapshots.withColumn("owned_queues", F.sort_array("owned_queues"))
    kind = KIND_OF[table]
    columns = {"name": F.col(NAME_OF[table]), "at": F.unix_micros("captured_at"), kind: _STATES[table]()}
    shown = snapshots.withColumns(columns)
    key = [name for name in (*GROUP, "name") if name in shown.columns]
    parts = _hashed_parts(F.col(kind), shown.schema[kind].dataType)
    return shown.withColumn("fingerprint", F.xxhash64(F.lit(kind), *key, *parts))


def folded(snapshots: Mapping[str, DataFrame]) -> DataFrame:
    """One row per (key, distinct state) of every kind, with a column per kind; those of a topic have no group. `times`,
    in any order, of those whose readings do not tell them. One aggregation by hash folds all kinds.
    """
    every = union_of(_of_kind(shown, kind) for kind, shown in snapshots.items())
    state = (F.first(kind).alias(kind) for kind in KINDS if kind in snapshots)
    times = F.collect_list(F.when(F.col("kind").isin(MEMBERSHIP, ROUTE), F.col("at")))
    return every.groupBy(*_STATE).agg(times.alias("times"), *state)


def _membership() -> Column:
    return F.struct(
        *("message_model", "consume_type", "consume_from_where"),
        F.sort_array("connections").alias("connections"),
        F.sort_array("subscriptions").alias("subscriptions"),
        F.sort_array("request_modes").alias("request_modes"),
        "listed",
    )


def _client() -> Column:
    """With whether the rest is known: when it started, and what it measured, does not make another state."""
    known = (F.when(F.col(name).isNotNull(), True).alias(name) for name in ("started_at", "consume_status"))
    owned = _structs("owned_queues", _OWNED)
    return F.struct("answered", "in_group", *SETTINGS, _structs("subscriptions", _SUBSCRIPTION), owned, *known)


#: What of a snapshot is its state.
_STATES: Mapping[Table, Callable[[], Column]] = {
    MEMBERSHIP_SNAPSHOTS: _membership,
    ROUTE_SNAPSHOTS: lambda: F.struct(
        *(F.sort_array(name).alias(name) for name in ("queues", "addresses", "name_servers")),
        "message_type",
        "is_static",
        "listed",
    ),
    TOPIC_SNAPSHOTS: lambda: _queues("queues"),
    OFFSET_SNAPSHOTS: lambda: _queues("offsets"),
    CLIENT_SNAPSHOTS: _client,
}


def _of_kind(snapshots: DataFrame, kind: str) -> DataFrame:
    key = [name for name in (*GROUP, "name") if name in snapshots.columns]
    return snapshots.select(F.lit(kind).alias("kind"), *key, "fingerprint", "at", kind)


def _hashed_parts(value: Column, data_type: DataType) -> Iterator[Column]:
    """Return what a hash has to see of a value. Spark's own skips nulls, and does not see where one part ends."""
    if isinstance(data_type, StructType):
        for field in data_type:
            yield from _hashed_parts(value[field.name], field.dataType)
        return
    yield from (value, value.isNull())
    if isinstance(data_type, ArrayType) and isinstance(data_type.elementType, StructType):
        for field in data_type.elementType:
            yield from (_nulls(value[field.name], field.dataType), F.lit(field.name))


def _nulls(field: Column, data_type: DataType, array: Column | None = None) -> Column:
    """array<boolean>: which values of a field are null, or which of the array's elements; null itself where none is.

    `array_contains` is null where the value is missing and the array has a null: that check costs next to nothing, and
    most arrays contain neither.
    """
    any_value = F.lit({"string": "", "boolean": False}.get(data_type.simpleString(), -1))
    may_have_nulls = F.coalesce(F.array_contains(field, any_value), F.lit(True))
    return F.when(may_have_nulls, F.transform(field if array is None else array, lambda column: column.isNull()))


def _structs(array: str, names: tuple[str, ...]) -> Column:
    """The array's structs with these fields only, sorted; null where one is null."""

    def part(column: Column) -> Column:
        return F.when(column.isNotNull(), F.struct(*(column[name].alias(name) for name in names)))

    return F.sort_array(F.transform(array, part)).alias(array)


def _queues(array: str) -> Column:
    """struct<broker_name, queue_id>, an array each: that is ten times as fast as an array of structs. `missing`: which
    entries are null, where any is.
    """
    missing = _nulls(F.col(array)["queue_id"], IntegerType(), F.col(array)).alias("missing")
    return F.struct(*(F.col(array)[name].alias(name) for name in ("broker_name", "queue_id")), missing)
