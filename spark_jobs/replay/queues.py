"""The queues of a route, as every client lists them, and those that no client lists."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.domain.causes import UnassignedCause
from spark_jobs.domain.message_queue import PERM_READ
from spark_jobs.replay.java import java_order


def with_queues(views: DataFrame) -> DataFrame:
    """Adds `queues`, the readable ones in Java's order, and `unreadable` ones that can hold messages, with `cause`.

    Needs `route` (struct with `queues`, one entry per broker).
    Source: `MQClientInstance.topicRouteData2TopicSubscribeInfo`.
    """
    keyed = F.transform(
        "route.queues", lambda e: F.struct(java_order(e["broker_name"]).alias("order"), e.alias("entry"))
    )
    return (
        views.withColumn("entries", F.transform(F.sort_array(keyed), lambda e: e["entry"]))
        .withColumn("queues", F.flatten(F.transform("entries", _readable)))
        .withColumn("unreadable", F.flatten(F.transform("entries", _unreadable)))
        .drop("entries")
    )


def _readable(entry: Column) -> Column:
    """array<broker_name, queue_id>: queues 0 … read_queue_nums−1 of a broker that may be read."""
    count = F.when(_may_be_read(entry), entry["read_queue_nums"]).otherwise(0)
    return F.transform(
        _ids(F.lit(0), count), lambda i: F.struct(entry["broker_name"].alias("broker_name"), i.alias("queue_id"))
    )


def _unreadable(entry: Column) -> Column:
    """array<broker_name, queue_id, cause>: the other queues to which messages were or are written."""
    beyond, closed = UnassignedCause.BEYOND_READ_QUEUES.value, UnassignedCause.BROKER_NOT_READABLE.value
    first = F.when(_may_be_read(entry), entry["read_queue_nums"]).otherwise(0)
    count = F.greatest(entry["read_queue_nums"], entry["write_queue_nums"])
    cause = F.when(_may_be_read(entry), beyond).otherwise(closed)
    return F.transform(
        _ids(first, count),
        lambda i: F.struct(entry["broker_name"].alias("broker_name"), i.alias("queue_id"), cause.alias("cause")),
    )


def _may_be_read(entry: Column) -> Column:
    return entry["perm"].bitwiseAND(PERM_READ) != 0


def _ids(start: Column, end: Column) -> Column:
    """`start` … `end`−1; empty where there are none (`sequence` would count down)."""
    return F.when(end > start, F.sequence(start, end - 1)).otherwise(F.array().cast("array<int>"))
