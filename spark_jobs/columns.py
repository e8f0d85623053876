"""Native Spark expressions that several parts share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.domain.severities import SEVERITIES

Transformation = Callable[[DataFrame], DataFrame]


def seconds_between(start: Column | str, end: Column | str) -> Column:
    """Seconds from one timestamp to another, with their fraction."""
    return (F.unix_micros(end) - F.unix_micros(start)) / 1_000_000


def step_of(moment: Column | str, step: timedelta) -> Column:
    """Start of the audit step that holds a moment (`domain.intervals.StepGrid.floor`)."""
    seconds = int(step.total_seconds())
    return F.timestamp_seconds(F.floor(F.unix_seconds(moment) / seconds) * seconds)


def per_step_that_reads(step: timedelta, look_back: timedelta) -> Transformation:
    """One row per (snapshot, step that reads it): one shortly before a step is in its look-back too."""

    def transform(snapshots: DataFrame) -> DataFrame:
        captured_at = F.col("captured_at")
        first, last = (step_of(moment, step) for moment in (captured_at, captured_at + F.lit(look_back)))
        return snapshots.withColumn("step_start", F.explode(F.sequence(first, last, F.lit(step))))

    return transform


def with_island(rows: DataFrame, key: Sequence[str]) -> DataFrame:
    """Adds `island`, the number within the key of the maximal time that rows (`start`, `end`) cover without a gap.

    A null in the key is a value like any other: a window puts equal nulls into one partition.
    """
    in_order = Window.partitionBy(*key).orderBy("start", "end")
    covered_until = F.max("end").over(in_order.rowsBetween(Window.unboundedPreceding, -1))
    with_peers = in_order.rangeBetween(Window.unboundedPreceding, Window.currentRow)
    return (
        rows.withColumn("begins", F.when(F.col("start") <= covered_until, 0).otherwise(1))
        .withColumn("island", F.sum("begins").over(with_peers))
        .drop("begins")
    )


def severity_rank() -> Column:
    """1 for INFO, 2 for WARN, 3 for ERROR."""
    return F.array_position(F.lit([*SEVERITIES]), F.col("severity"))
