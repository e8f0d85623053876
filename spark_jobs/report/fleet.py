"""The fleet: every group in one row, what needs attention first."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.columns import severity_rank
from spark_jobs.domain.intervals import Interval
from spark_jobs.report.keys import GROUP, TOPIC, part_of

#: Points that a small line of backlog is drawn with, at most.
PARTS = 48


def fleet(status: DataFrame, findings: DataFrame, progress: DataFrame, interval: Interval) -> DataFrame:
    """One row per (cluster, group) that was audited in the interval, what needs attention first.

    Counts of members and queues are those of its newest step, `backlog_start` of its oldest, `piled_up` the highest
    backlog (messages) of any finding, `rules` how many conditions each rule found, `lines` the backlog over time.
    """
    return (
        _statuses(status)
        .join(_found(findings), on=list(GROUP), how="left")
        .join(_lines(progress, interval), on=list(GROUP), how="left")
        .orderBy(
            F.desc(F.coalesce("rank", F.lit(0))), F.desc_nulls_last("errors"), F.desc_nulls_last("piled_up"), *GROUP
        )
    )


def _statuses(status: DataFrame) -> DataFrame:
    newest = ("backlog_end", "members", "queues", "owned_twice", "owned_never", "limit", "advice")
    return status.groupBy(*GROUP).agg(
        F.min_by("backlog_start", "step_start").alias("backlog_start"),
        *(F.max_by(name, "step_start").alias(name) for name in newest),
    )


def _found(findings: DataFrame) -> DataFrame:
    """A condition that goes on over several steps, and so is a finding in each, counts once."""
    condition = F.struct("topic", "subject", "cause")
    per_rule = findings.groupBy(*GROUP, "rule").agg(
        F.count_distinct(condition).cast("int").alias("findings"),
        F.max(severity_rank()).alias("rank"),
        F.count_distinct(F.when(F.col("severity") == "ERROR", condition)).alias("errors"),
        F.max("evidence.backlog_max").alias("piled_up"),
    )
    rule = F.struct(-F.col("rank"), "rule", "findings")
    return per_rule.groupBy(*GROUP).agg(
        F.max("rank").alias("rank"),
        F.sum("errors").alias("errors"),
        F.max("piled_up").alias("piled_up"),
        F.transform(F.sort_array(F.collect_list(rule)), lambda one: one.dropFields("col1")).alias("rules"),
    )


def _lines(progress: DataFrame, interval: Interval) -> DataFrame:
    """`lines`, array<topic, points array<part, backlog>>: the highest known backlog in each part of the interval.

    Known is what the first and last readings of a rebalance interval say; parts without such a moment have no point.
    """
    sums = progress.groupBy(*TOPIC, "interval_start", "interval_end").agg(
        F.sum("lag_first").alias("first"), F.sum("lag_last").alias("last")
    )
    moments = F.array(
        F.struct(part_of("interval_start", interval, PARTS).alias("part"), F.col("first").alias("backlog")),
        F.struct(part_of("interval_end", interval, PARTS).alias("part"), F.col("last").alias("backlog")),
    )
    points = sums.select(*TOPIC, F.inline(moments)).where("backlog IS NOT NULL")
    highest = points.groupBy(*TOPIC, "part").agg(F.max("backlog").alias("backlog"))
    lines = highest.groupBy(*TOPIC).agg(F.sort_array(F.collect_list(F.struct("part", "backlog"))).alias("points"))
    return lines.groupBy(*GROUP).agg(F.sort_array(F.collect_list(F.struct("topic", "points"))).alias("lines"))
