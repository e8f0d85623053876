"""The source tables of a made fleet."""

from collections.abc import Callable, Iterator
from urllib.parse import unquote, urlparse

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.fleet import (
    START_MS,
    Fleet,
    client_id,
    connection,
    host,
    is_in_share,
    is_unassigned,
    moments,
    per_queue,
    retry_topic,
    subscriptions,
    with_group,
)
from schemas import (
    CLIENT_SNAPSHOTS,
    MEMBERSHIP_SNAPSHOTS,
    OFFSET_SNAPSHOTS,
    ROUTE_SNAPSHOTS,
    SIGHTINGS,
    SOURCES,
    TOPIC_SNAPSHOTS,
    Table,
)
from spark_jobs.ingest.sightings import sightings_of_sources
from spark_jobs.store.spark_types import spark_schema
from spark_jobs.store.warehouse import Warehouse

_AVERAGELY = "org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely"


def make(spark: SparkSession, warehouse: Warehouse, fleet: Fleet) -> None:
    """Makes the source tables and appends the history: files of a time, so that a reader skips."""
    warehouse.create(spark, (*SOURCES, SIGHTINGS))
    for table, frame in snapshots(spark, fleet):
        warehouse.save(frame.write.format("delta").mode("append"), table)
    _remember(spark, warehouse, fleet.sighted_hours)


def snapshots(spark: SparkSession, fleet: Fleet) -> Iterator[tuple[Table, DataFrame]]:
    """The history as rows of the source tables."""
    for table, made in _TABLES:
        columns = [F.col(name).cast(spark_schema(table)[name].dataType).alias(name) for name in table.columns]
        yield table, made(spark, fleet).select(*columns)


def _remember(spark: SparkSession, warehouse: Warehouse, hours_before: int) -> None:
    """The sightings of the history, and the first hour's once for each of these hours before."""
    seen = sightings_of_sources(*(warehouse.read(spark, table) for table in (MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS)))
    first = seen.agg(F.min("hour").alias("begins"))
    hours = F.explode(F.sequence(F.lit(0), F.when(F.col("hour") == F.col("begins"), hours_before).otherwise(0)))
    ago = F.make_dt_interval(hours=F.col("ago"))
    back = {name: (F.col(name) - ago).alias(name) for name in ("hour", "first_at", "last_at")}
    rows = seen.crossJoin(first).withColumn("ago", hours).withColumns(back).select(*SIGHTINGS.columns)
    warehouse.save(rows.write.format("delta").mode("append"), SIGHTINGS)


def files(spark: SparkSession, warehouse: Warehouse) -> dict[str, list[str]]:
    """The Parquet files of the newest version of every source table, as paths, by the table's name."""
    frames = {table.name: warehouse.read(spark, table) for table in SOURCES}
    return {name: [unquote(urlparse(uri).path) for uri in frame.inputFiles()] for name, frame in frames.items()}


def memberships(spark: SparkSession, fleet: Fleet) -> DataFrame:
    """One row per (group, host of its topic, time), as `schemas/membership_snapshots.py` says."""
    rows = moments(spark, fleet, "membership", fleet.groups * fleet.hosts, fleet.cadence_ms)
    return with_group(rows, fleet).withColumns(
        {
            "broker_name": host(fleet, F.expr(f"key div {fleet.groups}")),
            "message_model": F.lit("CLUSTERING"),
            "consume_type": F.lit("CONSUME_PASSIVELY"),
            "consume_from_where": F.lit("CONSUME_FROM_LAST_OFFSET"),
            "connections": F.transform(F.sequence(F.lit(0), F.col("present") - 1), connection),
            "subscriptions": subscriptions(),
            "request_modes": F.lit(None),
            "listed": F.lit(None),
        }
    )


def routes(spark: SparkSession, fleet: Fleet) -> DataFrame:
    """One row per (topic, time), retry topics too: those have one queue on every host of the group's topic. No host has
    a slave.
    """
    rows = moments(spark, fleet, "route", 2 * fleet.groups, fleet.cadence_ms)
    is_retry = F.col("key") >= fleet.groups
    count = F.when(is_retry, 1).otherwise(fleet.queues_per_host)
    hosts = F.sequence(F.lit(0), F.lit(fleet.hosts - 1))
    return (
        with_group(rows, fleet)
        .withColumn("topic", F.when(is_retry, retry_topic()).otherwise(F.col("topic")))
        .withColumn("queues", F.transform(hosts, lambda number: F.struct(host(fleet, number), F.lit(6), count, count)))
        .withColumn("addresses", F.transform(hosts, lambda number: _master(host(fleet, number))))
        .withColumns({"is_static": F.lit(False), "message_type": F.lit("NORMAL")})
        .withColumns(dict.fromkeys(("listed", "name_servers"), F.lit(None)))
    )


def _master(broker_name: Column) -> Column:
    return F.struct(broker_name, F.lit(0), F.concat(broker_name, F.lit(":10911")))


def topics(spark: SparkSession, fleet: Fleet) -> DataFrame:
    """One row per (topic, time), retry topics aside: nothing has been deleted since the history began."""

    def entry(broker: Column, queue_id: Column, end: Column, _index: Column) -> Column:
        return F.struct(broker, queue_id, F.lit(0), end)

    rows = moments(spark, fleet, "topic", fleet.groups, fleet.topic_cadence_ms)
    return with_group(rows, fleet).withColumn("queues", per_queue(fleet, entry))


def offsets(spark: SparkSession, fleet: Fleet) -> DataFrame:
    """One row per (group, its topic, time): consumed close behind; queues that nobody owns stand still."""

    def entry(broker: Column, queue_id: Column, end: Column, index: Column) -> Column:
        lag = F.floor(5 * fleet.chance("behind", F.col("group"), index, F.col("elapsed")))
        stands = is_unassigned(fleet, index)
        consumed = F.when(stands, 1).otherwise(F.greatest(end - lag, F.lit(1)))
        stored_at = F.when(stands, START_MS).otherwise(START_MS + F.col("elapsed"))
        return F.struct(broker, queue_id, end, consumed, F.greatest(consumed, end), stored_at)

    rows = moments(spark, fleet, "offset", fleet.groups, fleet.cadence_ms)
    return with_group(rows, fleet).withColumn("offsets", per_queue(fleet, entry))


def clients(spark: SparkSession, fleet: Fleet) -> DataFrame:
    """One row per (group, client id that is present, time): what the audit reads is filled, the rest is null."""
    rows = moments(spark, fleet, "client", fleet.groups * fleet.most_members, fleet.client_cadence_ms)
    member = F.expr(f"key div {fleet.groups}")
    is_second_twin = F.col("twins") & (member == 1)
    pulling = ("pull_batch_size", "pull_interval_ms", "pull_threshold_for_queue", "pull_threshold_size_for_queue")
    consuming = ("consume_threads", "consume_batch_size", "consume_max_span", "consume_timeout_minutes")
    not_said = ("started_at", *consuming, *pulling, "lock_refused", "consume_status")
    return (
        with_group(rows, fleet)
        .where((member < F.col("present")) & ~is_second_twin)
        .withColumns(
            {
                "client_id": client_id(member),
                **dict.fromkeys(("answered", "in_group"), F.lit(True)),
                "strategy_class": F.lit(_AVERAGELY if fleet.says_strategy else None),
                "message_model": F.lit("CLUSTERING"),
                "consume_orderly": F.lit(False),
                "client_rebalance": F.lit(True),
                "subscriptions": subscriptions(),
                **dict.fromkeys(not_said, F.lit(None)),
                "owned_queues": _held(fleet, member) if fleet.lists_queues else F.lit(None),
            }
        )
    )


def _held(fleet: Fleet, member: Column) -> Column:
    """The process queues of a member, its retry topic's too; their measures are null."""
    measures = [F.lit(None)] * 8

    def queue(topic: Column, broker: Column, queue_id: Column) -> Column:
        names = topic.alias("topic"), broker.alias("broker_name"), queue_id.cast("int").alias("queue_id")
        return F.struct(*names, F.lit(None), F.lit(False), *measures)

    def entry(broker: Column, queue_id: Column, _end: Column, index: Column) -> Column:
        return F.when(is_in_share(fleet, member, index), queue(F.col("topic"), broker, queue_id))

    retried = F.when(member < fleet.hosts, queue(retry_topic(), host(fleet, member), F.lit(0)))
    held = F.concat(per_queue(fleet, entry), F.array(retried))
    return F.filter(held, lambda each: each.isNotNull())


_TABLES: tuple[tuple[Table, Callable[[SparkSession, Fleet], DataFrame]], ...] = (
    (MEMBERSHIP_SNAPSHOTS, memberships),
    (ROUTE_SNAPSHOTS, routes),
    (TOPIC_SNAPSHOTS, topics),
    (OFFSET_SNAPSHOTS, offsets),
    (CLIENT_SNAPSHOTS, clients),
)
