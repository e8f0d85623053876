"""Rebalance intervals: the spans in which nothing that an allocation depends on changed."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.domain.causes import UnassignedCause
from spark_jobs.domain.strategies import CONFIG, MACHINE_ROOM, MACHINE_ROOM_NEARBY
from spark_jobs.replay.java import java_order, sorted_by
from spark_jobs.replay.members import UNKNOWN, members, strategy_source
from spark_jobs.replay.strategies import room
from spark_jobs.replay.views import GROUP_TOPIC

VIEW = (*GROUP_TOPIC, "membership_view")
#: Keeps the inputs of an allocation apart from everything else that a row says.
_STATE = ("status", "reason", "members", "queues", "unreadable", "settings")


def with_members(views: DataFrame, settings: Column) -> DataFrame:
    """Adds `settings`, `members` in Java's order with strategy and subscription, `source` of the strategies.

    Needs `connections` (null: unobserved), `book` (null: no client was heard of) and `topic`.
    """
    in_order = sorted_by(F.col("connections"), text="client_id", then="client_addr")
    found = members(in_order, F.col("book"), F.col("settings.strategy"), F.col("topic"))
    return (
        views.withColumn("settings", settings)
        .withColumn("members", found)
        .withColumn("source", strategy_source(F.col("members"), F.col("settings.strategy")))
        .drop("connections", "book")
    )


def with_queues(views: DataFrame) -> DataFrame:
    """Adds `queues`, the readable ones in Java's order, and `unreadable` ones that can hold messages, with `cause`."""

    def ids(start: Column, count: Column) -> Column:
        return F.when(count > start, F.sequence(start, count - 1)).otherwise(F.array().cast("array<int>"))

    def readable(entry: Column) -> Column:
        count = F.when(entry["perm"].bitwiseAND(4) != 0, entry["read_queue_nums"]).otherwise(0)
        return F.transform(
            ids(F.lit(0), count),
            lambda i: F.struct(entry["broker_name"].alias("broker_name"), i.alias("queue_id")),
        )

    def unreadable(entry: Column) -> Column:
        can_be_read = entry["perm"].bitwiseAND(4) != 0
        first = F.when(can_be_read, entry["read_queue_nums"]).otherwise(0)
        count = F.greatest(entry["read_queue_nums"], entry["write_queue_nums"])
        beyond, closed = UnassignedCause.BEYOND_READ_QUEUES.value, UnassignedCause.BROKER_NOT_READABLE.value
        cause = F.when(can_be_read, beyond).otherwise(closed)
        return F.transform(
            ids(first, count),
            lambda i: F.struct(entry["broker_name"].alias("broker_name"), i.alias("queue_id"), cause.alias("cause")),
        )

    keyed = F.transform(
        "route.queues", lambda e: F.struct(java_order(e["broker_name"]).alias("order"), e.alias("entry"))
    )
    entries = F.transform(F.sort_array(keyed), lambda e: e["entry"])
    return (
        views.withColumn("entries", entries)
        .withColumn("queues", F.flatten(F.transform("entries", readable)))
        .withColumn("unreadable", F.flatten(F.transform("entries", unreadable)))
        .drop("entries")
    )


def _settings_missing(strategy: Column) -> Column:
    settings = F.col("settings")
    rooms_missing = settings["broker_room"].isNull() | settings["client_room"].isNull()
    return (
        ((strategy == MACHINE_ROOM) & settings["rooms"].isNull())
        | (strategy == MACHINE_ROOM_NEARBY)
        | (strategy.startswith(MACHINE_ROOM_NEARBY) & rooms_missing)
        | ((strategy == CONFIG) & (F.coalesce(F.size(settings["config_queues"]), F.lit(0)) == 0))
    )


def _room_unresolvable() -> Column:
    nearby = F.exists("members", lambda m: m["strategy"].startswith(MACHINE_ROOM_NEARBY))
    client = F.exists("members", lambda m: room(m["client_id"], F.col("settings.client_room")) == "")
    broker = F.exists("queues", lambda q: room(q["broker_name"], F.col("settings.broker_room")) == "")
    return nearby & (client | broker)


def with_status(views: DataFrame) -> DataFrame:
    """Adds `status` and `reason`: whether this can be replayed, and if not why; the first that applies.

    Needs the flags `is_subscribed` (somebody's subscriptions name the topic), `is_broadcasting`, `is_broker_assigned`.
    """
    somebody = F.size("members") > 0
    nobody_subscribes = F.forall("members", lambda m: m["known"] & ~m["subscribes"])
    any_member = F.exists

    def verdict(status: str, reason: str | None) -> Column:
        return F.struct(F.lit(status).alias("status"), F.lit(reason).cast("string").alias("reason"))

    verdicts = (
        F.when(F.col("route.queues").isNull(), verdict("UNOBSERVED", "NO_ROUTE_SNAPSHOT"))
        .when(F.size("route.queues") == 0, verdict("NOT_REPLAYABLE", "NO_ROUTE"))
        .when(F.col("members").isNull(), verdict("UNOBSERVED", "NO_MEMBERSHIP_SNAPSHOT"))
        .when(F.col("is_broadcasting"), verdict("NOT_APPLICABLE", "BROADCASTING"))
        .when(F.col("is_broker_assigned"), verdict("NOT_APPLICABLE", "BROKER_REBALANCE"))
        .when(
            somebody & (~F.col("is_subscribed") | nobody_subscribes),
            verdict("NOT_APPLICABLE", "NOT_SUBSCRIBED"),
        )
        .when(somebody & (F.size("queues") == 0), verdict("NOT_REPLAYABLE", "NO_READABLE_QUEUE"))
        .when(
            any_member("members", lambda m: m["strategy"] == UNKNOWN),
            verdict("NOT_REPLAYABLE", "UNKNOWN_STRATEGY"),
        )
        .when(
            any_member("members", lambda m: _settings_missing(m["strategy"])),
            verdict("NOT_REPLAYABLE", "SETTINGS_MISSING"),
        )
        .when(_room_unresolvable(), verdict("NOT_REPLAYABLE", "ROOM_UNRESOLVABLE"))
        .otherwise(verdict("REPLAYED", None))
    )
    return views.withColumn("verdict", verdicts).select("*", "verdict.status", "verdict.reason").drop("verdict")


def _fingerprint() -> Column:
    """Two rows with one fingerprint have the same allocation; what is not replayed differs by its reason only."""
    inputs = F.transform("members", lambda m: F.struct(m["client_id"], m["strategy"], m["subscribes"]))
    replayed = F.xxhash64(inputs, "queues", "unreadable", "settings")
    return F.when(F.col("status") == "REPLAYED", replayed).otherwise(F.xxhash64("status", "reason"))


def merged(views: DataFrame) -> DataFrame:
    """One row per (group, topic, step, view, interval): neighbours in one state become one interval.

    Addresses, versions and the source of the strategy are those at the interval's start; `seen_at` is the last
    snapshot that showed the members.
    """
    per_view = Window.partitionBy(*VIEW).orderBy("at")
    continues = (F.lag("state_id").over(per_view) == F.col("state_id")) & (F.lag("end").over(per_view) == F.col("at"))
    so_far = per_view.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    starts = F.when(F.coalesce(continues, F.lit(False)), 0).otherwise(1)
    at_start = F.min_by(F.struct(*_STATE, "source"), "at").alias("at_start")
    return (
        views.withColumn("state_id", _fingerprint())
        .withColumn("interval", F.sum(starts).over(so_far))
        .groupBy(*VIEW, "interval", "state_id")
        .agg(
            F.min("at").alias("start"),
            F.max("end").alias("end"),
            F.max(F.least("seen_at", "end")).alias("seen_at"),
            at_start,
        )
        .select(*VIEW, "start", "end", "seen_at", "state_id", "at_start.*")
    )
