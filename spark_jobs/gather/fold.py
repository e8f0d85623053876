"""Snapshots folded to their distinct states: a fleet is stable most of the time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, StructType

from schemas import CLIENT_SNAPSHOTS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, TOPIC_SNAPSHOTS, Table
from spark_jobs.columns import step_of
from spark_jobs.gather.histories import CLIENT, KINDS, MEMBERSHIP, OFFSET_QUEUES, ROUTE, TOPIC_QUEUES
from spark_jobs.gather.sources import Sources

GROUP = ("cluster", "consumer_group")
_SUBSCRIPTION = ("topic", "expression_type", "sub_string")
_STATE = ("kind", *GROUP, "name", "fingerprint")
_OWNED = ("topic", "broker_name", "queue_id", "locked", "dropped")
_SETTINGS = ("strategy_class", "message_model", "consume_orderly", "client_rebalance", "consume_threads")
#: Each source with the column that names what was seen, beside cluster and group.
_OF_TABLE = {
    MEMBERSHIP_SNAPSHOTS: (MEMBERSHIP, "broker_name"),
    ROUTE_SNAPSHOTS: (ROUTE, "topic"),
    TOPIC_SNAPSHOTS: (TOPIC_QUEUES, "topic"),
    OFFSET_SNAPSHOTS: (OFFSET_QUEUES, "topic"),
    CLIENT_SNAPSHOTS: (CLIENT, "client_id"),
}


def stated(
    sources: Sources, step: timedelta, conditions: Mapping[Table, Sequence[str]] | None = None
) -> dict[str, DataFrame]:
    """The snapshots by kind, each with its columns and `name`, `at`, `step_start`, the state that it shows, named like
    the kind, the state's `fingerprint`, and `broken`: a bit for each of its table's `conditions` (SQL) that it breaks.

    What lists connections, subscriptions or brokers does so in any order: they are sorted. The state of an offset or
    topic snapshot is the list of its queues.
    """
    membership = F.struct(
        *("message_model", "consume_type", "consume_from_where"),
        F.sort_array("connections").alias("connections"),
        F.sort_array("subscriptions").alias("subscriptions"),
        F.sort_array("request_modes").alias("request_modes"),
    )
    owned = _structs("owned_queues", _OWNED)
    client = F.struct("answered", *_SETTINGS, _structs("subscriptions", _SUBSCRIPTION), owned)
    states = {
        MEMBERSHIP_SNAPSHOTS: membership,
        ROUTE_SNAPSHOTS: F.sort_array("queues"),
        TOPIC_SNAPSHOTS: _queues("queues"),
        OFFSET_SNAPSHOTS: _queues("offsets"),
        CLIENT_SNAPSHOTS: client,
    }
    in_order = replace(sources, clients=sources.clients.withColumn("owned_queues", F.sort_array("owned_queues")))
    return {
        _OF_TABLE[table][0]: _stated(frame, *_OF_TABLE[table], states[table]).withColumns(
            {"step_start": step_of("captured_at", step), "broken": _broken((conditions or {}).get(table, ()))}
        )
        for table, frame in in_order.by_table.items()
    }


def stated_offsets(offsets: DataFrame, step: timedelta) -> DataFrame:
    """Rows of `offset_snapshots` as `stated` gives them, none of which counts as broken."""
    shown = _stated(offsets, *_OF_TABLE[OFFSET_SNAPSHOTS], _queues("offsets"))
    return shown.withColumns({"step_start": step_of("captured_at", step), "broken": _broken(())})


def folded(snapshots: Mapping[str, DataFrame]) -> DataFrame:
    """One row per (key, distinct state, step, `broken`) of every kind, with a column per kind; those of a topic have no
    group. `times`, in any order. One aggregation by hash folds all kinds.
    """
    every = reduce(_union, (_of_kind(shown, kind) for kind, shown in snapshots.items()))
    state = (F.first(kind).alias(kind) for kind in KINDS if kind in snapshots)
    return every.groupBy(*_STATE, "step_start", "broken").agg(F.collect_list("at").alias("times"), *state)


def states_of(folded: DataFrame) -> DataFrame:
    """One row per (key, distinct state), over all steps. `times` of those whose readings do not tell them."""
    times = F.flatten(F.collect_list(F.when(F.col("kind").isin(MEMBERSHIP, ROUTE), F.col("times"))))
    return folded.groupBy(*_STATE).agg(times.alias("times"), *(F.first(kind).alias(kind) for kind in KINDS))


def folded_rows(folded: DataFrame, table: Table) -> DataFrame:
    """The folded snapshots of one table: its key (`captured_at` is the first of the `times`), `step_start`, `broken`,
    and, of memberships and routes, whose state is all that a snapshot says, its other columns.
    """
    kind, name = _OF_TABLE[table]
    key = [F.col("name" if column == name else column).alias(column) for column in table.key if column != "captured_at"]
    content = {MEMBERSHIP: [F.col(f"{kind}.*")], ROUTE: [F.col(kind).alias("queues")]}.get(kind, [])
    captured_at = F.timestamp_micros(F.array_min("times")).alias("captured_at")
    return folded.where(F.col("kind") == kind).select(*key, captured_at, "times", "step_start", "broken", *content)


def _broken(conditions: Sequence[str]) -> Column:
    bits = (f"IF({condition}, 0L, {1 << place}L)" for place, condition in enumerate(conditions))
    return F.expr(" + ".join(("0L", *bits)))


def _of_kind(snapshots: DataFrame, kind: str) -> DataFrame:
    key = [name for name in (*GROUP, "name") if name in snapshots.columns]
    return snapshots.select(F.lit(kind).alias("kind"), *key, "fingerprint", "step_start", "broken", "at", kind)


def _union(one: DataFrame, other: DataFrame) -> DataFrame:
    return one.unionByName(other, allowMissingColumns=True)


def _stated(snapshots: DataFrame, kind: str, name: str, state: Column) -> DataFrame:
    shown = snapshots.withColumns({"name": F.col(name), "at": F.unix_micros("captured_at"), kind: state})
    key = [name for name in (*GROUP, "name") if name in shown.columns]
    parts = _told_apart(F.col(kind), shown.schema[kind].dataType)
    return shown.withColumn("fingerprint", F.xxhash64(F.lit(kind), *key, *parts))


def _told_apart(value: Column, data_type: DataType) -> Iterator[Column]:
    """What a hash has to see of a value. Spark's own skips nulls, and does not see where one part ends."""
    if isinstance(data_type, StructType):
        for field in data_type:
            yield from _told_apart(value[field.name], field.dataType)
        return
    yield from (value, value.isNull())
    if isinstance(data_type, ArrayType) and isinstance(data_type.elementType, StructType):
        for field in data_type.elementType:
            yield from (_nulls(value[field.name], field.dataType), F.lit(field.name))


def _nulls(array: Column, data_type: DataType) -> Column:
    """array<boolean>: which entries are null; null itself where none is.

    Whether an array contains a value is unknown where it does not but a null could be it: that costs next to nothing,
    and most arrays contain neither.
    """
    any_value = F.lit({"string": "", "boolean": False}.get(data_type.simpleString(), 0))
    may_have_nulls = F.coalesce(F.array_contains(array, any_value), F.lit(True))
    return F.when(may_have_nulls, F.transform(array, lambda one: one.isNull()))


def _structs(array: str, names: tuple[str, ...]) -> Column:
    """The array's structs with these fields only, sorted."""
    return F.sort_array(F.transform(array, lambda one: F.struct(*(one[name].alias(name) for name in names)))).alias(
        array
    )


def _queues(array: str) -> Column:
    """struct<broker_name, queue_id>, an array each: that is ten times as fast as an array of structs."""
    return F.struct(*(F.col(array)[name].alias(name) for name in ("broker_name", "queue_id")))
