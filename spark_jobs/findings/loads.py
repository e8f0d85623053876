"""How many queues each member owns, over all its topics, at every moment."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.domain.strategies import AVG, AVG_BY_CIRCLE
from spark_jobs.domain.subscriptions import RETRY
from spark_jobs.replay.clients import CLIENT
from spark_jobs.replay.views import ALL_HOSTS

_CLIENT = (*CLIENT, "step_start")


def member_loads(intervals: DataFrame) -> DataFrame:
    """One row per (client id, span of one load): `topics` it is a member for, `queues` it owns of them, `even_topics`
    that are shared by AVG or AVG_BY_CIRCLE, `member_count` and `queue_count`.

    A sweep over starts and ends of "is a member for a topic": linear in intervals × members, whatever number of
    topics the group has.
    """
    shares = member_shares(intervals)
    counts = ("topics", "queues", "even_topics")
    opened = shares.select(*_CLIENT, F.col("start").alias("at"), *counts, "member_count", "queue_count")
    closed = shares.select(*_CLIENT, F.col("end").alias("at"), *((-F.col(name)).alias(name) for name in counts))
    events = (
        opened.unionByName(closed, allowMissingColumns=True)
        .groupBy(*_CLIENT, "at")
        .agg(
            *(F.sum(name).alias(name) for name in counts),
            F.max("member_count").alias("member_count"),
            F.max("queue_count").alias("queue_count"),
        )
    )
    per_client = Window.partitionBy(*_CLIENT).orderBy("at")
    so_far = per_client.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return (
        events.withColumn("end", F.lead("at").over(per_client))
        .withColumns({name: F.sum(name).over(so_far) for name in counts})
        .withColumns({name: F.last(name, ignorenulls=True).over(so_far) for name in ("member_count", "queue_count")})
        .where("topics > 0 AND end IS NOT NULL")
        .withColumnRenamed("at", "start")
    )


def member_shares(intervals: DataFrame) -> DataFrame:
    """One row per (replayed interval of an ordinary topic, member that subscribes it): the `queues` it owns.

    Views that disagree are left out: for as long as they do, nobody can say who is idle.
    """
    mine = F.arrays_zip("members", "queues_per_member")
    is_even = F.forall("members", lambda m: m["strategy"].isin(AVG, AVG_BY_CIRCLE))
    return (
        intervals.where((F.col("status") == "REPLAYED") & (F.col("membership_view") == ALL_HOSTS))
        .where(~F.col("topic").startswith(RETRY))
        .withColumn("member_count", F.size("members"))
        .withColumn("queue_count", F.size("queues"))
        .withColumn("even_topics", is_even.cast("int"))
        .select("*", F.explode(mine).alias("mine"))
        .where("mine.members.subscribes")
        .groupBy(
            "step_start",
            "cluster",
            "consumer_group",
            F.col("mine.members.client_id").alias("client_id"),
            "topic",
            "start",
            "end",
        )
        .agg(
            F.sum("mine.queues_per_member").alias("queues"),
            F.lit(1).alias("topics"),
            *(F.max(name).alias(name) for name in ("even_topics", "member_count", "queue_count")),
        )
    )
