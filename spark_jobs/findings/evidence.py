"""What a condition cost, from the offset readings of its own time."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.domain.causes import UnassignedCause
from spark_jobs.progress.readings import group_readings, grown, topic_readings
from spark_jobs.replay.sources import Sources
from spark_jobs.replay.steps import StepWindow
from spark_jobs.replay.views import GROUP_TOPIC, as_of

_QUEUE = ("finding_id", "topic", "broker_name", "queue_id", "role")
_PLACE = ("step_start", "cluster", "topic", "broker_name", "queue_id")
_NOBODY_MAY_READ = UnassignedCause.BEYOND_READ_QUEUES.value
MEASURES = ("backlog_start", "backlog_end", "backlog_max", "produced", "consumed")


def readings_of(queues: DataFrame, sources: Sources, window: StepWindow) -> DataFrame:
    """One row per (finding, queue, role, reading inside the queue's own span).

    A merge per queue of a finding, linear in its readings. Queues that nobody may read have no group's offsets: what
    the broker holds there is read from the topic's own snapshots.
    """
    stranded = F.col("cause").eqNullSafe(_NOBODY_MAY_READ)
    span = queues.select(
        *_QUEUE,
        "step_start",
        "cluster",
        "consumer_group",
        "start",
        F.struct("start", "end").alias("span"),
        "cause",
    )
    touched = span.where(~stranded).drop("start", "span", "cause")
    of_group = group_readings(sources.offsets, window, touched.select(*GROUP_TOPIC)).join(
        F.broadcast(touched), on=[*_PLACE, "consumer_group"], how="inner"
    )
    not_read = span.where(stranded).drop("start", "span", "cause", "consumer_group")
    of_topic = topic_readings(sources.topics, window, not_read.select("step_start", "cluster", "topic")).join(
        F.broadcast(not_read), on=[*_PLACE], how="inner"
    )
    readings = of_group.drop("consumer_group").unionByName(of_topic).withColumnRenamed("captured_at", "at")
    events = span.withColumnRenamed("start", "at")
    return as_of(events, readings, _QUEUE, "span").where(F.col("at") < F.col("span.end"))


def queue_evidence(queues: DataFrame, readings: DataFrame) -> DataFrame:
    """One row per (finding, queue, role): its span and measures in messages; null is unknown.

    Produced and consumed need two readings; an offset that went backwards over the span (a reset, a twin) leaves
    consumed unknown.
    """
    reading = F.struct("at", "end_offset", "consumed_to", "backlog")
    measured = readings.groupBy(*_QUEUE).agg(
        F.min(reading).alias("first"), F.max(reading).alias("last"), F.max("backlog").alias("backlog_max")
    )

    return queues.join(measured, on=list(_QUEUE), how="left").select(
        *_QUEUE,
        "start",
        "end",
        F.col("first.backlog").alias("backlog_start"),
        F.col("last.backlog").alias("backlog_end"),
        "backlog_max",
        grown("end_offset").alias("produced"),
        grown("consumed_to").alias("consumed"),
    )


def total_backlog(readings: DataFrame) -> DataFrame:
    """One row per finding: `backlog_start`, `backlog_end`, `backlog_max` of its queues together.

    Each is a sum over queues read at one moment, so that the highest is one the group really had; topics, which are
    read at different moments, are added up afterwards. Queues whose backlog is unknown at that moment are left out.
    """
    # A queue that is both unassigned and double owned over a condition's life is one queue.
    once = readings.groupBy("finding_id", "topic", "at", "broker_name", "queue_id").agg(F.max("backlog").alias("b"))
    moments = once.groupBy("finding_id", "topic", "at").agg(F.sum("b").alias("b"))
    moment = F.struct("at", "b")
    per_topic = moments.groupBy("finding_id", "topic").agg(
        F.min(moment)["b"].alias("backlog_start"),
        F.max(moment)["b"].alias("backlog_end"),
        F.max("b").alias("backlog_max"),
    )
    backlogs = ("backlog_start", "backlog_end", "backlog_max")
    return per_topic.groupBy("finding_id").agg(*(F.sum(name).alias(name) for name in backlogs))


def finding_evidence(queues: DataFrame, readings: DataFrame) -> DataFrame:
    """One row per finding with queues: `queues`, the totals over those that are known, and how many are not."""
    per_queue = queue_evidence(queues, readings)
    entry = F.struct("topic", "broker_name", "queue_id", "role", "start", "end", *MEASURES)
    sums = [F.sum(name).alias(name) for name in ("produced", "consumed")]
    unknown = F.sum(F.when(F.col("backlog_end").isNull(), 1).otherwise(0)).cast("int")
    totals = per_queue.groupBy("finding_id").agg(
        F.sort_array(F.collect_list(entry)).alias("queues"), *sums, unknown.alias("unknown_queues")
    )
    return totals.join(total_backlog(readings), on="finding_id", how="left").join(
        _subjects(per_queue), on="finding_id", how="left"
    )


def _subjects(queues: DataFrame) -> DataFrame:
    """One row per finding: its queues as text, neighbours as ranges: `broker-a:4-7, broker-b:0`."""
    places = queues.select("finding_id", "broker_name", "queue_id").distinct()
    per_broker = Window.partitionBy("finding_id", "broker_name").orderBy("queue_id")
    # Consecutive numbers less their rank are the same.
    runs = places.withColumn("run", F.col("queue_id") - F.row_number().over(per_broker))
    ends = runs.groupBy("finding_id", "broker_name", "run").agg(
        F.min("queue_id").alias("a"), F.max("queue_id").alias("b")
    )
    numbers = F.when(F.col("a") == F.col("b"), F.col("a").cast("string")).otherwise(F.concat_ws("-", "a", "b"))
    per_name = ends.groupBy("finding_id", "broker_name").agg(
        F.sort_array(F.collect_list(F.struct("a", numbers.alias("t")))).alias("r")
    )
    of_broker = F.concat("broker_name", F.lit(":"), F.array_join("r.t", ","))
    named = F.sort_array(F.collect_list(F.struct("broker_name", of_broker.alias("t"))))
    return per_name.groupBy("finding_id").agg(F.array_join(named["t"], ", ").alias("subject"))
