"""The table `sightings`: what snapshots showed, hour by hour."""

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

#: Cluster, consumer group, topic, broker name; whether the group is deleted; how many queues can be read.
_Thing = tuple[str, str | None, str | None, str | None, bool | None, int | None]


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
        {**dict(zip(SIGHTINGS.key, (*thing, hour), strict=True)), "first_at": first, "last_at": last}
        for (thing, hour), (first, last) in spans.items()
    ]


def _shown(table: Table, values: Mapping[str, Any]) -> Iterator[_Thing]:
    if table is MEMBERSHIP_SNAPSHOTS:
        is_deleted = True if values["listed"] is False else None
        yield values["cluster"], values["consumer_group"], None, None, is_deleted, None
    elif table is ROUTE_SNAPSHOTS:
        of_topic = values["cluster"], None, values["topic"]
        if not values["queues"]:
            yield *of_topic, None, None, None
        for entry in values["queues"]:
            if entry["broker_name"] is not None and (entry["perm"] or 0) & PERM_READ:
                yield *of_topic, entry["broker_name"], None, entry["read_queue_nums"]


def sightings_of_sources(memberships: DataFrame, routes: DataFrame) -> DataFrame:
    """The same of the source tables."""
    is_deleted = F.when(F.expr("listed = false"), F.lit(True)).alias("deleted")
    of_groups = memberships.select("cluster", "consumer_group", is_deleted, "captured_at")
    entries = routes.select("cluster", "topic", "queues", F.explode_outer("queues").alias("entry"), "captured_at")
    is_readable = f"size(queues) = 0 OR (entry.broker_name IS NOT NULL AND entry.perm & {PERM_READ} != 0)"
    of_topics = entries.where(is_readable).select(
        "cluster", "topic", "entry.broker_name", "entry.read_queue_nums", "captured_at"
    )
    shown = of_groups.unionByName(of_topics, allowMissingColumns=True)
    shown = shown.withColumn("hour", F.date_trunc("HOUR", "captured_at"))
    return shown.groupBy(*SIGHTINGS.key).agg(
        F.min("captured_at").alias("first_at"), F.max("captured_at").alias("last_at")
    )


def merge_sightings(spark: SparkSession, warehouse: Warehouse, shown: DataFrame, within: Column) -> None:
    """Merge sightings, unique by key, into the rows `t` `within` which keys can be. Raises `PublishConflictError`."""
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
