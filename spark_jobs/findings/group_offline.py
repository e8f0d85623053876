"""GROUP_OFFLINE: no consumer of the group is connected, and there are messages for it."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.findings.rule import Audited, Cause, Rule
from spark_jobs.findings.touches import measures, nothing, touches
from spark_jobs.progress.readings import group_readings, grown
from spark_jobs.replay.views import ALL_HOSTS, GROUP_STEP, as_of

NAME = "GROUP_OFFLINE"
NOBODY_CONNECTED = "NOBODY_CONNECTED"


def groups_offline(audited: Audited) -> DataFrame:
    """One touch per maximal span in which a group with messages to consume had no connection; one condition each."""
    spans = audited.keep(offline_spans(audited.intervals, audited.changes.memberships))
    readings = group_readings(audited.sources.offsets, audited.window, spans.select(*GROUP_STEP)).withColumnRenamed(
        "captured_at", "at"
    )
    missed = missed_messages(spans, readings).where(is_missed(F.col("produced"), F.col("backlog_max")))
    return touches(
        missed,
        NAME,
        topic=nothing(),
        client_id=nothing(),
        cause=F.lit(NOBODY_CONNECTED),
        severity=F.lit("ERROR"),
        membership_view=F.lit(ALL_HOSTS),
        measures=measures(produced=F.col("produced"), backlog_end=F.col("backlog_end")),
    )


def offline_spans(intervals: DataFrame, memberships: DataFrame) -> DataFrame:
    """One row per (group, step, maximal span): the hosts of a topic list nobody, and no broker lists anybody.

    A sweep over the beginnings and ends of "nobody" (rebalance intervals) and "somebody" (membership spans).
    """
    nobody = intervals.where("status = 'REPLAYED' AND size(members) = 0")
    somebody = memberships.where(F.size("state.connections") > 0)
    events = _edges(nobody, "nobody").unionByName(_edges(somebody, "somebody"), allowMissingColumns=True)
    counts = {name: F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in ("nobody", "somebody")}
    in_order = Window.partitionBy(*GROUP_STEP).orderBy("at")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    offline = (F.sum("nobody").over(so_far) > 0) & (F.sum("somebody").over(so_far) == 0)
    changed = F.col("offline") != F.coalesce(F.lag("offline").over(in_order), F.lit(False))
    return (
        events.groupBy(*GROUP_STEP, "at")
        .agg(*counts.values())
        .withColumn("offline", offline)
        .withColumn("changed", changed)
        .where("changed")
        .withColumn("end", F.lead("at").over(in_order))
        .where("offline")
        .select(*GROUP_STEP, F.col("at").alias("start"), "end")
    )


def _edges(spans: DataFrame, name: str) -> DataFrame:
    """Two rows per span: +1 where it starts and −1 where it ends."""
    edge = F.explode(
        F.array(
            F.struct(F.col("start").alias("at"), F.lit(1).alias(name)),
            F.struct(F.col("end").alias("at"), F.lit(-1).alias(name)),
        )
    )
    return spans.select(*GROUP_STEP, edge.alias("edge")).select(*GROUP_STEP, "edge.*")


def missed_messages(spans: DataFrame, readings: DataFrame) -> DataFrame:
    """One row per span with readings: `produced`, `backlog_end`, `backlog_max`, messages of all the group's queues.

    Null is unknown: produced needs two readings of a queue, a backlog a committed offset.
    """
    events = spans.select(*GROUP_STEP, F.col("start").alias("at"), F.struct("start", "end").alias("span"))
    inside = as_of(events, readings, GROUP_STEP, "span").where(F.col("at") < F.col("span.end"))
    per_queue = inside.groupBy(*GROUP_STEP, "span", "topic", "broker_name", "queue_id").agg(
        F.min(F.struct("at", "end_offset")).alias("first"),
        F.max(F.struct("at", "end_offset", "backlog")).alias("last"),
        F.max("backlog").alias("backlog_max"),
    )
    return (
        per_queue.groupBy(*GROUP_STEP, "span")
        .agg(
            F.sum(grown("end_offset")).alias("produced"),
            F.sum("last.backlog").alias("backlog_end"),
            F.sum("backlog_max").alias("backlog_max"),
        )
        .select(*GROUP_STEP, "span.*", "produced", "backlog_end", "backlog_max")
    )


def is_missed(produced: Column, backlog: Column) -> Column:
    """Whether messages are known that somebody should consume; its plain twin is `domain.offline.is_missed`."""
    return (F.coalesce(produced, F.lit(0)) > 0) | (F.coalesce(backlog, F.lit(0)) > 0)


RULE = Rule(
    name=NAME,
    meaning="No consumer of the group is connected, while its topics receive messages or hold a backlog. One finding "
    "per group; `measures` say how many messages came (`produced`) and waited (`backlog_end`) as far as is known.",
    decided_by="the hosts of its topics list nobody, and no other broker lists anybody; offset readings of that time "
    "show messages. Unknown offsets are no evidence: such a group has no finding, its queues are UNASSIGNED_QUEUE "
    "all the same. Not for BROADCASTING and POP. ERROR.",
    causes={
        NOBODY_CONNECTED: Cause(
            "no broker lists a connection of the group",
            "No consumer of the group was connected: start it, or delete the group if it is no longer needed.",
        ),
    },
    example="`batch-export`: both members leave at 02:05:54 and are back at 02:13:54.",
    touches=groups_offline,
)
