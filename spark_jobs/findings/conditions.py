"""One condition is one finding over its whole duration inside a step."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.config import Configuration
from spark_jobs.domain.severities import SEVERITIES
from spark_jobs.findings.touches import IDENTITY
from spark_jobs.replay.spans import with_island
from spark_jobs.replay.steps import seconds_between
from spark_jobs.replay.views import ALL_HOSTS


def severity_rank() -> Column:
    """1 for INFO, 2 for WARN, 3 for ERROR."""
    return F.array_position(F.lit([*SEVERITIES]), F.col("severity"))


def severity_of(rank: str) -> Column:
    """The severity of a rank; null for null."""
    return F.try_element_at(F.lit([*SEVERITIES]), F.col(rank).cast("int"))


def with_finding(touches: DataFrame) -> DataFrame:
    """Adds `finding_id`, `began`, `ended`: touches of one identity that leave no gap between them are one condition.

    The id is stable: it hashes the identity and where the condition begins inside the step. Conditions that were
    over before their step began are dropped.
    """
    whole = Window.partitionBy(*IDENTITY, "island")
    names = [F.coalesce(F.col(name), F.lit("")) for name in IDENTITY if name != "step_start"]
    first = F.date_format(F.greatest("began", "step_start"), "yyyy-MM-dd'T'HH:mm:ss.SSSSSS")
    return (
        with_island(touches, IDENTITY)
        .withColumn("began", F.min("start").over(whole))
        .withColumn("ended", F.max("end").over(whole))
        .where(F.col("ended") > F.col("step_start"))
        .withColumn("finding_id", F.substring(F.sha2(F.concat_ws("\n", *names, first), 256), 1, 16))
        .drop("island")
    )


def conditions(touches: DataFrame, configuration: Configuration) -> DataFrame:
    """One row per condition that stood longer than it takes a group to agree, clipped to its step.

    Seen only while the brokers listed different members, it must also outlive the next heartbeats: until then a
    broker that came back knows some members and not others.
    """
    thresholds = configuration.thresholds
    convergence = F.lit(thresholds.convergence_seconds)
    patience = F.coalesce(
        "patience", F.when(F.col("only_split"), convergence + thresholds.heartbeat_seconds).otherwise(convergence)
    )
    worst = F.struct(F.coalesce("weight", F.lit(0.0)), "start", "measures", "parties")
    return (
        touches.groupBy("finding_id", *IDENTITY, "began", "ended")
        .agg(
            F.max("seen_at").alias("seen_at"),
            F.min(F.col("membership_view") != ALL_HOSTS).alias("only_split"),
            F.array_sort(F.collect_set("blamed")).alias("client_ids"),
            F.sort_array(F.array_distinct(F.flatten(F.collect_list("connections")))).alias("connections"),
            F.max("member_count").alias("member_count"),
            F.max("queue_count").alias("queue_count"),
            _worst("if_deduplicated"),
            _worst("if_unique"),
            F.max("patience").alias("patience"),
            F.max(severity_rank()).alias("rank"),
            F.max(worst).alias("worst"),
        )
        .where(seconds_between("began", "ended") >= patience)
        .withColumn("is_persistent", seconds_between("began", "seen_at") >= thresholds.persistent_after_seconds)
        .withColumn("start", F.greatest("began", "step_start"))
        .withColumn("severity", severity_of("rank"))
        .withColumnRenamed("ended", "end")
        .select("*", "worst.measures", "worst.parties")
        .drop("began", "only_split", "seen_at", "patience", "rank", "worst")
    )


def _worst(cure: str) -> Column:
    """What a cure leaves at worst over a condition's intervals; null where the rule has no cures."""
    fields = [F.max(f"{cure}.{name}").alias(name) for name in ("unassigned_queues", "double_owned_queues")]
    known = F.count(cure) > 0
    return F.when(known, F.struct(*fields)).alias(cure)


def condition_queues(touches: DataFrame, conditions: DataFrame) -> DataFrame:
    """One row per (finding, queue, role): the queue's first and last touch, clipped to the step."""
    per_queue = touches.where(F.col("queue").isNotNull()).groupBy(
        "finding_id", "step_start", "cluster", "consumer_group", "queue"
    )
    return (
        per_queue.agg(F.min("start").alias("start"), F.max("end").alias("end"), F.first("cause").alias("cause"))
        .where(F.col("end") > F.col("step_start"))
        .withColumn("start", F.greatest("start", "step_start"))
        .select("finding_id", "step_start", "cluster", "consumer_group", "queue.*", "start", "end", "cause")
        .join(conditions.select("finding_id"), on="finding_id", how="left_semi")
    )
