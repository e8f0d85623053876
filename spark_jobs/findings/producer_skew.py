"""PRODUCER_SKEW: producers send to few queues of a topic, so more consumers cannot help."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.domain.subscriptions import RETRY
from spark_jobs.findings.rule import Audited, Cause, Rule
from spark_jobs.findings.touches import HOT, measures, nothing, queue, touches
from spark_jobs.replay.views import ALL_HOSTS, GROUP_TOPIC

NAME = "PRODUCER_SKEW"
HOT_QUEUES = "HOT_QUEUES"


def with_skew(queues: DataFrame, topic: tuple[str, ...], least_mean: Column) -> DataFrame:
    """Adds `mean` and `skew` of its `topic` to every queue with `produced` (null: unknown) and `broker_name`, as the
    plain twin `progress_rules.skew` says; queues that do not count are dropped.
    """
    per_broker, per_topic = Window.partitionBy(*topic, "broker_name"), Window.partitionBy(*topic)
    return (
        queues.withColumn("is_written", F.max("produced").over(per_broker) > 0)
        .where("is_written AND produced IS NOT NULL")
        .withColumn("mean", F.avg("produced").over(per_topic))
        .withColumn("skew", F.when(F.col("mean") >= least_mean, F.max("produced").over(per_topic) / F.col("mean")))
        .drop("is_written")
    )


def producer_skew(audited: Audited) -> DataFrame:
    """One touch per (group, topic, queue far above the mean), for all the time that was replayed in the step."""
    thresholds = audited.configuration.thresholds
    queues = (
        audited.progress.where(~F.col("topic").startswith(RETRY))
        .groupBy(*GROUP_TOPIC, "broker_name", "queue_id")
        .agg(
            F.min("interval_start").alias("start"),
            F.max("interval_end").alias("end"),
            F.sum("produced").alias("produced"),
        )
    )
    hot = F.col("produced") >= F.col("mean") * thresholds.skew_ratio
    return touches(
        with_skew(queues, GROUP_TOPIC, F.lit(thresholds.skew_messages_per_queue)).where(
            F.col("skew").isNotNull() & hot
        ),
        NAME,
        membership_view=F.lit(ALL_HOSTS),
        cause=F.lit(HOT_QUEUES),
        client_id=nothing(),
        severity=F.lit("WARN"),
        queue=queue(HOT),
        weight=F.col("produced"),
        measures=measures(max_over_mean=F.col("skew"), mean=F.col("mean"), produced_max=F.col("produced")),
    )


RULE = Rule(
    name=NAME,
    meaning="Some queues of the topic get far more messages than the others: a selector or an ordering key sends to "
    "few queues, and more consumers cannot help. The measures: `max_over_mean`, and messages of the step.",
    decided_by="production over the queues of the step: busiest ÷ mean ≥ `skew_ratio`, with a mean of at least "
    "`skew_messages_per_queue`. Retry topics, and brokers that got nothing, are left out. `subject` names the queues.",
    causes={
        HOT_QUEUES: Cause(
            "the queues of the subject get so much more than the mean",
            "More consumers cannot help, as a queue has one owner: spread the ordering key or selector over more "
            "queues.",
        )
    },
    example="`audit-log`: queue 0 of broker-a gets 2.9 times the mean, for both groups that consume it.",
    touches=producer_skew,
)
