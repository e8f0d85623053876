"""The table `sightings`: what snapshots showed, hour by hour."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from schemas import MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS, SIGHTINGS, Table
from spark_jobs.domain.model.message_queue import PERM_READ
from spark_jobs.store.conflicts import retry_on_conflict
from spark_jobs.store.spark_types import same_key
from spark_jobs.store.warehouse import Warehouse

#: Cluster, consumer group, topic, broker name; whether the group is deleted.
_Thing = tuple[str, str | None, str | None, str | None, bool | None]


def sightings(rows: Iterable[tuple[Table, Mapping[str, Any]]]) -> list[dict[str, object]]:
    """One row of `sightings` per thing and hour, of rows of any source, each with its table."""
    spans: dict[tuple[_Thing, datetime], tuple[datetime, datetime]] = {}
    for table, values in rows:
        at = values["captured_at"]
        for thing in _shown(table, values):
            key = thing, at.replace(minute=0, second=0, microsecond=0)
            first, last = spans.get(key, (at, at))
            spans[key] = min(first, at), max(last, at)
    return [
        dict(zip(SIGHTINGS.columns, (*thing, hour, *times, deleted), strict=True))
        for ((*thing, deleted), hour), times in spans.items()
    ]


def _shown(table: Table, values: Mapping[str, Any]) -> Iterator[_Thing]:
    if table is MEMBERSHIP_SNAPSHOTS:
        yield values["cluster"], values["consumer_group"], None, None, True if values["listed"] is False else None
    elif table is ROUTE_SNAPSHOTS:
        for entry in values["queues"]:
            if entry["broker_name"] is not None and (entry["perm"] or 0) & PERM_READ:
                yield values["cluster"], None, values["topic"], entry["broker_name"], None


def sightings_of_sources(memberships: DataFrame, routes: DataFrame) -> DataFrame:
    """The same of the source tables."""
    of_groups = memberships.select(
        "cluster", "consumer_group", *_nothing("topic", "broker_name"), "captured_at", _is_deleted("listed = false")
    )
    entry = F.explode("queues").alias("entry")
    named = routes.select("cluster", *_nothing("consumer_group"), "topic", entry, "captured_at")
    readable = named.where(F.col("entry.broker_name").isNotNull()).where(f"entry.perm & {PERM_READ} != 0")
    of_brokers = readable.select(
        "cluster", "consumer_group", "topic", "entry.broker_name", "captured_at", _is_deleted("false")
    )
    shown = of_groups.union(of_brokers).withColumn("hour", F.date_trunc("HOUR", "captured_at"))
    return shown.groupBy(*SIGHTINGS.key).agg(
        F.min("captured_at").alias("first_at"), F.max("captured_at").alias("last_at")
    )


def merge_sightings(spark: SparkSession, warehouse: Warehouse, shown: DataFrame, within: Column) -> None:
    """Brings sightings into the table, one row per key in it and of those given: what is there grows to hold both.

    No version where nothing is new. `within` is true for every row of the table, as `t`, that can have a key of these.
    Raises `PublishConflictError` if other writers leave no gap.
    """
    target = warehouse.read(spark, SIGHTINGS).alias("t").where(within)
    is_wider = (F.col("s.first_at") < F.col("t.first_at")) | (F.col("s.last_at") > F.col("t.last_at"))
    compared = shown.alias("s").join(target, on=same_key(SIGHTINGS), how="left")
    new = compared.where(F.col("t.hour").isNull() | is_wider).select("s.*").localCheckpoint()
    if new.isEmpty():
        return
    merge = warehouse.delta_table(spark, SIGHTINGS).alias("t").merge(new.alias("s"), within & same_key(SIGHTINGS))
    widened = {"first_at": F.least("t.first_at", "s.first_at"), "last_at": F.greatest("t.last_at", "s.last_at")}
    merge = merge.whenMatchedUpdate(set=dict(widened)).whenNotMatchedInsertAll()
    retry_on_conflict(merge.execute, f"bring {SIGHTINGS.name} up to date")


def _is_deleted(condition: str) -> Column:
    """Null where it is not."""
    return F.when(F.expr(condition), F.lit(True)).alias("deleted")


def _nothing(*names: str) -> Iterator[Column]:
    return (F.lit(None).cast("string").alias(name) for name in names)
