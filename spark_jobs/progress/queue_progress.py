"""What went in and out of every queue, and whether its consumer gets on: one row per (replayed interval, queue)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from schemas import QUEUE_PROGRESS
from spark_jobs.progress.readings import backlog, committed
from spark_jobs.progress.verdicts import facts, verdict, with_reading_before
from spark_jobs.replay.states import clipped, owned_queues
from spark_jobs.replay.steps import StepWindow, duration, with_step
from spark_jobs.replay.views import GROUP_TOPIC, as_of

QUEUE = (*GROUP_TOPIC, "broker_name", "queue_id")
MEASURED, NEVER_COMMITTED, NO_READING = "MEASURED", "NEVER_COMMITTED", "NO_READING"


def queue_progress(
    intervals: DataFrame, states: DataFrame, offsets: DataFrame, window: StepWindow, allowed_lag: int
) -> DataFrame:
    """One row per (replayed interval of a step, queue) as `schemas/queue_progress.py` says, and with the queue's
    `owners`, `unassigned_cause` and `double_owned_cause`.

    Linear in the readings: snapshots are merged with the intervals as whole rows, and all after that is in the same
    partitions.
    """
    tiles = one_interval_at_a_time(clipped(intervals))
    measured = _readings(tiles, offsets, window).transform(_measured)
    owned = owned_queues(tiles, states).withColumnsRenamed({"start": "interval_start", "end": "interval_end"})
    return (
        owned.withColumn("topic_key", _topic_key())
        .withColumn("queue_key", _queue_key())
        .join(measured, on=["topic_key", "queue_key", "interval_start"], how="left")
        .withColumn("readings", F.coalesce("readings", F.lit(0)))
        .withColumn("lag_quality", _quality())
        .withColumn("verdict", verdict(F.lit(allowed_lag)))
        .withColumn("rewinds", F.when(F.col("pairs") > 0, F.col("rewinds")))
        .withColumn("age_ms", _age())
        .withColumnRenamed("last_known_at", "last_reading_at")
        .select(*QUEUE_PROGRESS.columns, "owners", "unassigned_cause", "double_owned_cause")
    )


def one_interval_at_a_time(intervals: DataFrame) -> DataFrame:
    """The intervals without overlaps: where views differ, a moment belongs to the interval that began last, of those
    that began together to a replayed one, of those to the first view, and to none once that one is over; `end` is
    where the next one begins, if that comes first.
    """
    per_topic = Window.partitionBy(*GROUP_TOPIC).orderBy("start", F.col("status") != "REPLAYED", "membership_view")
    return (
        intervals.withColumn("previous", F.lag("start").over(per_topic))
        .where("previous IS NULL OR previous < start")
        .withColumn("end", F.least(F.lead("start").over(per_topic), "end"))
        .drop("previous")
    )


def _topic_key() -> Column:
    """Stands for the names of `GROUP_TOPIC`, and `_queue_key` for those of `QUEUE`, in the rows of all readings.

    Most of the time goes into sorting those, and 8 bytes sort in half the time of five names. That two of a million
    queues are taken for one has a chance of 3 in 100 million.
    """
    return F.xxhash64(*GROUP_TOPIC)


def _queue_key() -> Column:
    return F.xxhash64("topic_key", "broker_name", "queue_id")


def _readings(tiles: DataFrame, offsets: DataFrame, window: StepWindow) -> DataFrame:
    """One row per (queue, reading of the step), with the `interval_start` it is in (null: none that was replayed) and
    the reading before it. The last reading before the step is looked at too, if it is no older than a state
    holds without another: what came in between belongs to the step.
    """
    replayed = F.col("status") == "REPLAYED"
    interval = F.struct(F.when(replayed, F.col("start")).alias("start"), "end")
    events = tiles.select(_topic_key().alias("topic_key"), F.col("start").alias("at"), interval.alias("interval"))
    snapshots = (
        offsets.transform(with_step(window))
        .where(F.col("captured_at") >= F.col("step_start") - duration(window.look_back - window.warm_up))
        .select(_topic_key().alias("topic_key"), F.col("captured_at").alias("at"), "offsets")
    )
    inside = F.when(F.col("at") < F.col("interval.end"), F.col("interval.start"))
    return (
        as_of(events, snapshots, ("topic_key",), "interval")
        .select("topic_key", "at", inside.alias("interval_start"), F.explode("offsets").alias("reading"))
        .select("topic_key", "at", "interval_start", "reading", "reading.*")
        .select(
            "topic_key",
            _queue_key().alias("queue_key"),
            "at",
            "interval_start",
            F.col("broker_offset").alias("end_offset"),
            F.col("consumer_offset").alias("said"),
            committed(F.col("reading")).alias("consumed_to"),
            "last_timestamp",
        )
        .withColumn("lag", backlog(F.col("end_offset"), F.col("consumed_to")))
        .transform(lambda readings: with_reading_before(readings, ("queue_key", "topic_key")))
    )


def _measured(readings: DataFrame) -> DataFrame:
    """One row per (queue, interval with a reading)."""
    known_at = F.when(F.col("consumed_to").isNotNull(), F.col("at"))
    forward, back = _moves()
    return (
        readings.where("interval_start IS NOT NULL")
        .groupBy("topic_key", "queue_key", "interval_start")
        .agg(
            F.count("*").cast("int").alias("readings"),
            F.sum(_produced()).alias("produced"),
            F.sum(forward).alias("consumed"),
            F.count(F.coalesce(forward, back)).alias("pairs"),
            F.count(back).cast("int").alias("rewinds"),
            F.sum(back).alias("rewound"),
            F.max(back).alias("rewound_max"),
            F.max_by("at", back).alias("rewound_at"),
            F.min_by("lag", known_at).alias("lag_first"),
            F.max("lag").alias("lag_max"),
            F.max_by("last_timestamp", known_at).alias("last_timestamp"),
            *(fact.alias(name) for name, fact in facts().items()),
        )
    )


def _produced() -> Column:
    """Messages that came in since the reading before; null where the broker's offset shrank: the topic is a new one."""
    growth = F.col("end_offset") - F.col("end_before")
    return F.when(growth >= 0, growth)


def _moves() -> tuple[Column, Column]:
    """Messages by which the consumer's offset went forward, and back, since the reading before; else null.

    Behind a known offset, 0 with a last timestamp of 0 is no unknown: it went back to the beginning.
    """
    known, same_topic = F.col("consumed_before"), _produced().isNotNull()
    growth = F.col("said") - known
    forward = F.when(same_topic & F.col("consumed_to").isNotNull() & (growth >= 0), growth)
    return forward, F.when(same_topic & (growth < 0), -growth)


def _quality() -> Column:
    return F.when(F.col("readings") == 0, NO_READING).when(F.col("known") == 0, NEVER_COMMITTED).otherwise(MEASURED)


def _age() -> Column:
    """Age of the last consumed message at the last known reading; null where nothing is left, or its time unknown."""
    age = F.unix_millis("last_known_at") - F.col("last_timestamp")
    return F.when((F.col("lag_last") > 0) & (F.col("last_timestamp") > 0) & (age >= 0), age)
