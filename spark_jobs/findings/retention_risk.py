"""RETENTION_RISK: the broker deletes, or soon will, what the group has not consumed."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.domain.progress_rules import RetentionCause
from spark_jobs.findings.rule import Audited, Cause, Rule
from spark_jobs.findings.touches import AT_RISK, measures, nothing, queue, touches
from spark_jobs.replay.steps import seconds_between, with_step
from spark_jobs.replay.views import as_of

NAME = "RETENTION_RISK"
_TOPIC_STEP = ("step_start", "cluster", "topic")
_PLACE = (*_TOPIC_STEP, "broker_name", "queue_id")


def retention_cause(within_seconds: Column) -> Column:
    """What becomes of the messages of a row with `consumer_offset`, `min_offset`, `consumed_per_second` and
    `deleted_per_second` (null: unknown), as the plain twin `progress_rules.retention_cause` says.
    """
    left, gain = (
        F.col("consumer_offset") - F.col("min_offset"),
        F.col("deleted_per_second") - F.col("consumed_per_second"),
    )
    expires = (gain > 0) & (left <= gain * within_seconds)
    return F.when(left < 0, RetentionCause.LOST.value).when(expires, RetentionCause.EXPIRING.value)


def retention_risk(audited: Audited) -> DataFrame:
    """One touch per (interval, queue behind by more than the allowed lag whose messages are lost or expire)."""
    thresholds = audited.configuration.thresholds
    behind = audited.progress.where(F.col("lag_last") > thresholds.allowed_lag).withColumn(
        "at", F.col("last_reading_at")
    )
    # Whole snapshots are left out before their queues become rows: most topics are consumed in most steps.
    kept = audited.sources.topics.transform(with_step(audited.window)).join(
        F.broadcast(behind.select(*_TOPIC_STEP).distinct()), on=[*_TOPIC_STEP], how="left_semi"
    )
    seconds = seconds_between("interval_start", "at")
    lost = F.col("consumer_offset") < F.col("min_offset")
    return touches(
        as_of(minimums(kept), behind, _PLACE, "minimum")
        .select("*", "minimum.min_offset", "minimum.deleted_per_second")
        .withColumn("consumed_per_second", F.try_divide(F.col("consumed"), seconds))
        .withColumn("cause", retention_cause(F.lit(thresholds.retention_seconds)))
        .where("cause IS NOT NULL"),
        NAME,
        start=F.col("interval_start"),
        end=F.col("interval_end"),
        client_id=nothing(),
        severity=F.when(lost, "ERROR").otherwise("WARN"),
        patience=F.when(~lost, thresholds.stalled_after_seconds),
        queue=queue(AT_RISK),
        weight=F.col("min_offset") - F.col("consumer_offset"),
        measures=measures(
            consumer_offset=F.col("consumer_offset"),
            min_offset=F.col("min_offset"),
            deleted_per_second=F.col("deleted_per_second"),
            consumed_per_second=F.col("consumed_per_second"),
        ),
    )


def minimums(topics: DataFrame) -> DataFrame:
    """One row per (queue, topic snapshot of a step's window, `at`): `minimum`, the oldest offset that the broker
    still had, and how many messages a second it deleted since the window's first snapshot (null: it is the first).
    """
    so_far = Window.partitionBy(*_PLACE).orderBy("at").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    first = F.first(F.struct("at", "min_offset")).over(so_far)
    seconds = seconds_between("first.at", "at")
    deleted = F.try_divide(F.col("min_offset") - F.col("first.min_offset"), seconds)
    return (
        topics.select("step_start", "cluster", "topic", F.col("captured_at").alias("at"), F.inline("queues"))
        .withColumn("first", first)
        .withColumn("minimum", F.struct("min_offset", deleted.alias("deleted_per_second")))
    )


RULE = Rule(
    name=NAME,
    meaning="The broker deleted messages that the group had not consumed, or will soon. The measures are those of "
    "the worst queue: offsets, and messages a second.",
    decided_by="the consumer offset at an interval's last reading against the broker's oldest offset, on queues that "
    "are behind by more than `allowed_lag`; rates are the interval's own, and of deletion since the step's first look.",
    causes={
        RetentionCause.LOST: Cause(
            "the consumer offset is below the oldest offset that the broker has",
            "Messages are gone that the group never consumed: replay them from their origin, and keep messages longer "
            "(fileReservedTime) until the group has caught up.",
        ),
        RetentionCause.EXPIRING: Cause(
            "at the present rates it will be, within `retention_seconds`",
            "Keep messages longer (fileReservedTime, disk space) or make the group faster before they are deleted.",
        ),
    },
    example="nothing: the brokers deleted no message in these 24 minutes.",
    touches=retention_risk,
)
