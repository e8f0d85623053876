"""Rebalance intervals: the spans in which nothing that an allocation depends on changed."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.replay.java import sorted_by
from spark_jobs.replay.members import members, strategy_source
from spark_jobs.replay.subscriptions import differ, told
from spark_jobs.replay.views import GROUP_TOPIC

VIEW = (*GROUP_TOPIC, "membership_view")
#: Keeps the inputs of an allocation apart from everything else that a row says.
_STATE = ("status", "reason", "members", "queues", "unreadable", "settings")


def with_members(views: DataFrame, settings: Column) -> DataFrame:
    """Adds `settings`, `members` in Java's order with strategy and subscription, `source` of the strategies, `told`.

    Needs `connections` (null: unobserved), `book` (null: no client was heard of) and `topic`.
    """
    in_order = sorted_by(F.col("connections"), text="client_id", then="client_addr")
    found = members(in_order, F.col("book"), F.col("settings.strategy"), F.col("topic"))
    return (
        views.withColumn("settings", settings)
        .withColumn("told", told(F.col("connections"), F.col("book")))
        .withColumn("members", found)
        .withColumn("source", strategy_source(F.col("members"), F.col("settings.strategy")))
        .drop("connections", "book")
    )


def _fingerprint() -> Column:
    """Two rows with one fingerprint have the same allocation; what is not replayed differs by its reason only."""
    inputs = F.transform("members", lambda m: F.struct(m["client_id"], m["strategy"], m["subscribes"]))
    replayed = F.xxhash64(inputs, "queues", "unreadable", "settings")
    return F.when(F.col("status") == "REPLAYED", replayed).otherwise(F.xxhash64("status", "reason"))


def merged(views: DataFrame) -> DataFrame:
    """One row per (group, topic, step, view, interval): neighbours in one state become one interval.

    Addresses, versions and the source of the strategy are those at the interval's start; `seen_at` is the last
    snapshot that showed the members. `mismatches`: array<start, end, told> of the times in which members subscribed
    differently, which need not be inputs of this topic's allocation.
    """
    mismatch = F.struct(F.col("at").alias("start"), "end", "told")
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
            F.collect_list(F.when(differ(F.col("told")), mismatch)).alias("mismatches"),
        )
        .select(*VIEW, "start", "end", "seen_at", "state_id", "mismatches", "at_start.*")
    )
