"""One row per group and step: the answer to "do I have to look at it?"."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from schemas import GROUP_STATUS
from spark_jobs.domain.subscriptions import RETRY
from spark_jobs.findings import unassigned_queue
from spark_jobs.findings.conditions import severity_of, severity_rank
from spark_jobs.progress.queue_progress import QUEUE
from spark_jobs.replay.views import GROUP_STEP, GROUP_TOPIC
from spark_jobs.status.capacity import advice, busiest_share, limit, more_members_help


def group_status(intervals: DataFrame, progress: DataFrame, attribution: DataFrame, findings: DataFrame) -> DataFrame:
    """One row per (group, step) with an interval, as `schemas/group_status.py` says.

    `intervals` of `moves.with_moves` are clipped to their step, `attribution` has a row per topic.
    """
    ends = _ends(intervals)
    return (
        intervals.select(*GROUP_STEP)
        .distinct()
        .join(_counts(ends), on=list(GROUP_STEP), how="left")
        .join(_idle(ends), on=list(GROUP_STEP), how="left")
        .join(backlogs(progress), on=list(GROUP_STEP), how="left")
        .join(_attributed(attribution), on=list(GROUP_STEP), how="left")
        .join(_judged(findings), on=list(GROUP_STEP), how="left")
        .withColumn("finding_count", F.coalesce("finding_count", F.lit(0)))
        .withColumn("unknown_queues", F.coalesce("unknown_queues", F.lit(0)))
        # Of a group without members nobody is idle.
        .withColumn("idle_members", F.when(F.col("queues").isNotNull(), F.coalesce("idle_members", F.lit(0))))
        .transform(with_capacity)
        .select(*GROUP_STATUS.columns)
    )


def _ends(intervals: DataFrame) -> DataFrame:
    """One row per (group, topic, step): its last replayed interval with the totals of its state.

    Of views that disagree at the end, the first by name.
    """
    latest = Window.partitionBy(*GROUP_TOPIC).orderBy(F.desc("end"), "membership_view")
    return (
        intervals.where("status = 'REPLAYED'")
        .withColumn("rank", F.row_number().over(latest))
        .where("rank = 1")
        .withColumn("is_ordinary", ~F.col("topic").startswith(RETRY))
    )


def _counts(ends: DataFrame) -> DataFrame:
    """One row per group and step: members of the topic that was replayed last; queues of the ordinary topics."""
    members = F.struct(
        "end", F.size("members").alias("all"), F.size(F.array_distinct("members.client_id")).alias("ids")
    )

    def of_ordinary(value: Column) -> Column:
        return F.sum(F.when(F.col("is_ordinary"), value)).cast("int")

    counted = ends.groupBy(*GROUP_STEP).agg(
        F.max(members).alias("last"),
        of_ordinary(F.size("queues")).alias("queues"),
        of_ordinary(F.col("double_owned_queues")).alias("owned_twice"),
        of_ordinary(F.col("unassigned_queues")).alias("owned_never"),
        F.max(F.when(F.col("is_ordinary"), F.size("queues"))).alias("widest"),
    )
    return counted.withColumns(
        {
            "members": F.col("last.all"),
            "distinct_members": F.col("last.ids"),
            "owned_once": F.col("queues") - F.col("owned_twice") - F.col("owned_never"),
        }
    )


def _idle(ends: DataFrame) -> DataFrame:
    """One row per group and step: connections that own no queue of any ordinary topic.

    A connection goes by its number among those of its id: its address is that at the start of a topic's interval.
    """
    ids = F.col("members.client_id")

    def share(queues: Column, index: Column) -> Column:
        client_id = F.element_at(ids, index + 1)
        number = index + 1 - F.array_position(ids, client_id)
        return F.struct(client_id.alias("client_id"), number.alias("number"), queues.alias("queues"))

    shares = ends.where("is_ordinary").select(*GROUP_STEP, F.inline(F.transform("queues_per_member", share)))
    per_member = shares.groupBy(*GROUP_STEP, "client_id", "number").agg(F.sum("queues").alias("queues"))
    idle = F.count(F.when(F.col("queues") == 0, 1)).cast("int")
    return per_member.groupBy(*GROUP_STEP).agg(idle.alias("idle_members"))


def backlogs(progress: DataFrame) -> DataFrame:
    """One row per group and step: backlog, age and rates over all its topics; null is unknown."""
    known = F.col("lag_last").isNotNull()
    per_queue = progress.groupBy(*QUEUE).agg(
        F.min_by(F.when(known, F.col("lag_first")), F.when(known, F.col("interval_start"))).alias("first"),
        F.max_by(F.when(known, F.col("lag_last")), F.when(known, F.col("interval_start"))).alias("last"),
        F.max("age_ms").alias("age_ms"),
        _rate("produced").alias("in_rate"),
        _rate("consumed").alias("out_rate"),
    )
    return per_queue.groupBy(*GROUP_STEP).agg(
        F.sum("first").alias("backlog_start"),
        F.sum("last").alias("backlog_end"),
        F.max("age_ms").alias("oldest_message_ms"),
        F.sum("in_rate").cast("double").alias("in_rate"),
        F.sum("out_rate").cast("double").alias("out_rate"),
        F.count(F.when(F.col("last").isNull(), 1)).cast("int").alias("unknown_queues"),
    )


def _rate(name: str) -> Column:
    """Messages a second over the intervals of a queue in which they are known.

    A decimal: the sum of doubles depends on the order of the rows, and the same audit must give the same content.
    """
    micros = F.unix_micros("interval_end") - F.unix_micros("interval_start")
    rate = F.sum(name) * 1_000_000 / F.sum(F.when(F.col(name).isNotNull(), micros))
    return rate.cast("decimal(28, 6)")


def _attributed(attribution: DataFrame) -> DataFrame:
    entry = F.struct(*(name for name in attribution.columns if name not in GROUP_STEP))
    return attribution.groupBy(*GROUP_STEP).agg(F.sort_array(F.collect_list(entry)).alias("attribution"))


def _judged(findings: DataFrame) -> DataFrame:
    """One row per group and step with findings: how many, the worst severity, and their `signs` for the capacity."""
    sign = F.when(F.col("rule") == unassigned_queue.NAME, F.concat_ws("/", "rule", "cause")).otherwise(F.col("rule"))
    judged = findings.groupBy(*GROUP_STEP).agg(
        F.count(F.lit(1)).cast("int").alias("finding_count"),
        F.max(severity_rank()).alias("rank"),
        F.collect_set(sign).alias("signs"),
    )
    return judged.withColumn("worst_severity", severity_of("rank"))


def with_capacity(groups: DataFrame) -> DataFrame:
    """Adds `limit`, `more_members_help`, `busiest_share`, `share_after` and `advice`.

    A group that was never replayed has no members to count; what its topic with most queues could take is `widest`.
    """
    shares = {"busiest_share": busiest_share(F.col("members")), "share_after": busiest_share(F.col("members") + 1)}
    narrowed = groups.withColumnRenamed("queues", "all_queues").withColumn("queues", F.coalesce("widest", F.lit(0)))
    return (
        narrowed.withColumn("signs", F.coalesce("signs", F.array().cast("array<string>")))
        .withColumn("limit", limit())
        .withColumn("more_members_help", more_members_help())
        .withColumns(shares)
        .withColumn("advice", advice())
        .drop("queues")
        .withColumnRenamed("all_queues", "queues")
    )
