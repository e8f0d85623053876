"""Offset readings per queue, with unknown kept apart from zero."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.replay.steps import StepWindow, with_step


def committed(reading: Column) -> Column:
    """The group's next offset to consume; null where it never committed (0 with a last timestamp of 0)."""
    never = (reading["consumer_offset"] == 0) & (F.coalesce(reading["last_timestamp"], F.lit(0)) == 0)
    return F.when(~never, reading["consumer_offset"])


def backlog(end_offset: Column, consumed_to: Column) -> Column:
    """Messages not consumed yet; null where an offset is unknown.

    The two offsets are read one after the other, so a negative difference is 0.
    """
    # Not `greatest` alone: it skips nulls, and would make the unknown a 0.
    return F.when(end_offset.isNotNull() & consumed_to.isNotNull(), F.greatest(end_offset - consumed_to, F.lit(0)))


def grown(name: str) -> Column:
    """Messages by which an offset grew from the reading `first` to the reading `last` (structs with `at`).

    Null with one reading only, and where it went backwards.
    """
    growth = F.col(f"last.{name}") - F.col(f"first.{name}")
    return F.when((F.col("last.at") > F.col("first.at")) & (growth >= 0), growth)


def queue_readings(snapshots: DataFrame) -> DataFrame:
    """One row per (row, queue of its `offsets`): its other columns, `broker_name`, `queue_id`, `end_offset`,
    `consumed_to`, `backlog`.
    """
    others = [name for name in snapshots.columns if name != "offsets"]
    reading = F.col("reading")
    return (
        snapshots.select(*others, F.explode("offsets").alias("reading"))
        .select(
            *others,
            reading["broker_name"].alias("broker_name"),
            reading["queue_id"].alias("queue_id"),
            reading["broker_offset"].alias("end_offset"),
            committed(reading).alias("consumed_to"),
        )
        .withColumn("backlog", backlog(F.col("end_offset"), F.col("consumed_to")))
    )


def _inside(snapshots: DataFrame, window: StepWindow, concerned: DataFrame) -> DataFrame:
    """The snapshots inside their own step, of what `concerned` names (`step_start` and names; a few rows).

    Whole snapshots are left out here, before their queues become rows: most groups are well in most steps.
    """
    inside = snapshots.transform(with_step(window)).where("captured_at >= step_start")
    return inside.join(F.broadcast(concerned.distinct()), on=concerned.columns, how="left_semi")


def group_readings(offsets: DataFrame, window: StepWindow, concerned: DataFrame) -> DataFrame:
    """One row per (group, topic, queue, time) inside its own step, of the groups, or topics of them, and steps that
    `concerned` names: `end_offset`, `consumed_to`, `backlog`.

    Messages; `consumed_to` and `backlog` are null where the group never committed.
    """
    inside = _inside(offsets, window, concerned)
    return queue_readings(inside.select("step_start", "cluster", "consumer_group", "topic", "captured_at", "offsets"))


def topic_readings(topics: DataFrame, window: StepWindow, concerned: DataFrame) -> DataFrame:
    """One row per (topic, queue, time) inside its own step, of the topics and steps that `concerned` names, for
    queues that nobody may read.

    Whatever the queue holds is its backlog; `consumed_to` is null, as no group has an offset there.
    """
    return (
        _inside(topics, window, concerned)
        .select("step_start", "cluster", "topic", "captured_at", F.inline("queues"))
        .select(
            "step_start",
            "cluster",
            "topic",
            "captured_at",
            "broker_name",
            "queue_id",
            F.col("max_offset").alias("end_offset"),
            F.lit(None).cast("bigint").alias("consumed_to"),
            backlog(F.col("max_offset"), F.col("min_offset")).alias("backlog"),
        )
    )
