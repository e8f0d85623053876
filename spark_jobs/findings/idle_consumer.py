"""IDLE_CONSUMER: a member that owns no queue of any topic it subscribes, retry topics aside."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.findings.rule import Audited, Cause, Rule
from spark_jobs.findings.touches import nothing, touches
from spark_jobs.replay.states import STATE, recorded
from spark_jobs.replay.views import ALL_HOSTS

NAME = "IDLE_CONSUMER"
MORE_MEMBERS_THAN_QUEUES = "MORE_MEMBERS_THAN_QUEUES"
LEFT_OUT_BY_STRATEGY = "LEFT_OUT_BY_STRATEGY"
_CLIENT = ("step_start", "cluster", "consumer_group", "client_id")


def idle_consumers(audited: Audited) -> DataFrame:
    """One touch per (client id, span in which it was a member and owned nothing); one condition per client id.

    A sweep over starts and ends of "is a member for a topic" and "owns queues of a topic": linear in intervals ×
    members, whatever number of topics the group has.
    """
    shares = _shares(audited.intervals, recorded(audited.states))
    opened = shares.select(
        *_CLIENT, F.col("start").alias("at"), "owned", F.lit(1).alias("delta"), "member_count", "queue_count"
    )
    closed = shares.select(*_CLIENT, F.col("end").alias("at"), "owned", F.lit(-1).alias("delta"))
    events = (
        opened.unionByName(closed, allowMissingColumns=True)
        .groupBy(*_CLIENT, "at")
        .agg(
            F.sum("delta").alias("topics"),
            F.sum(F.when(F.col("owned") > 0, F.col("delta")).otherwise(0)).alias("busy"),
            F.max("member_count").alias("member_count"),
            F.max("queue_count").alias("queue_count"),
        )
    )
    per_client = Window.partitionBy(*_CLIENT).orderBy("at")
    so_far = per_client.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    spans = (
        events.withColumn("end", F.lead("at").over(per_client))
        .withColumns({name: F.sum(name).over(so_far) for name in ("topics", "busy")})
        .withColumns({name: F.last(name, ignorenulls=True).over(so_far) for name in ("member_count", "queue_count")})
        .where("topics > 0 AND busy = 0 AND end IS NOT NULL")
    )
    more_members = F.col("member_count") > F.col("queue_count")
    return touches(
        spans,
        NAME,
        topic=nothing(),
        severity=F.lit("WARN"),
        start=F.col("at"),
        membership_view=F.lit(ALL_HOSTS),
        cause=F.when(more_members, MORE_MEMBERS_THAN_QUEUES).otherwise(LEFT_OUT_BY_STRATEGY),
        blamed=F.col("client_id"),
    )


def _shares(intervals: DataFrame, states: DataFrame) -> DataFrame:
    """One row per (replayed interval of an ordinary topic, member that subscribes it): how many queues it owns.

    Views that disagree are left out: for as long as they do, nobody can say who is idle.
    """
    mine = F.arrays_zip("members", "queues_per_member")
    return (
        intervals.where((F.col("status") == "REPLAYED") & (F.col("membership_view") == ALL_HOSTS))
        .where(~F.col("topic").startswith("%RETRY%"))
        .join(states.select(*STATE, "queues_per_member"), on=list(STATE), how="inner")
        .withColumn("member_count", F.size("members"))
        .withColumn("queue_count", F.size("queues"))
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
            F.sum("mine.queues_per_member").alias("owned"),
            F.max("member_count").alias("member_count"),
            F.max("queue_count").alias("queue_count"),
        )
    )


RULE = Rule(
    name=NAME,
    meaning="A member that owns no queue of any topic it subscribes, retry topics aside (they usually have one queue "
    "per broker).",
    decided_by="the replayed allocation, while all hosts list the same members. WARN: it is waste.",
    causes={
        MORE_MEMBERS_THAN_QUEUES: Cause(
            "the group has more connections than the topic has queues",
            "There are more members than queues, so more consumers cannot help: stop the surplus, or add queues.",
        ),
        LEFT_OUT_BY_STRATEGY: Cause(
            "there are queues enough, and the strategy gives this member none",
            "The strategy gives this member nothing: with CONSISTENT_HASH raise virtualNodeCnt, else check rooms and "
            "configured queue lists.",
        ),
    },
    example="`inventory-service`: three members on two queues, so the third is idle for the whole recording.",
    touches=idle_consumers,
)
