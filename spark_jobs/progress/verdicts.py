"""The verdict on a queue, as columns; the rules stand, in plain words, with the plain twin `domain.verdicts`."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.domain.verdicts import Verdict
from spark_jobs.progress.readings import backlog


def with_reading_before(readings: DataFrame, queue: tuple[str, ...]) -> DataFrame:
    """Adds to readings with `at`, `interval_start`, `end_offset`, `consumed_to` what the queue's reading before says:
    `end_before`, `consumed_before` and, if it is of the same interval, `same_interval`.

    A snapshot that was stored twice is one reading; of readings of one time the first by content stays.
    """
    in_order = Window.partitionBy(*queue).orderBy("at", "end_offset", "consumed_to")
    before = {"end_before": "end_offset", "consumed_before": "consumed_to", "interval_before": "interval_start"}
    return (
        readings.withColumns(
            {name: F.lag(said).over(in_order) for name, said in (before | {"at_before": "at"}).items()}
        )
        .where("at_before IS NULL OR at_before < at")
        .withColumn("same_interval", F.col("interval_before").eqNullSafe(F.col("interval_start")))
        .drop("interval_before", "at_before")
    )


def facts() -> dict[str, Column]:
    """What `verdict` looks at: aggregates over an interval's readings, `with_reading_before`, with `lag`."""
    known_at = F.when(F.col("consumed_to").isNotNull(), F.col("at"))
    moved = F.col("same_interval") & (F.col("consumed_to") != F.col("consumed_before"))
    fell = F.col("same_interval") & (F.col("lag") < backlog(F.col("end_before"), F.col("consumed_before")))
    return {
        "known": F.count("consumed_to"),
        "first_known_at": F.min(known_at),
        "last_known_at": F.max(known_at),
        "consumed_to_max": F.max("consumed_to"),
        "consumed_to_min": F.min("consumed_to"),
        "consumer_offset": F.max_by("consumed_to", known_at),
        "moved_at": F.max(F.when(moved, F.col("at"))),
        "lag_last": F.max_by("lag", known_at),
        "lag_min": F.min("lag"),
        "lag_fell": F.max(fell),
    }


def verdict(allowed_lag: Column) -> Column:
    """Burrow's rules over the `facts`, first match wins; null where fewer than two readings are known, or none
    was made.
    """
    stood = F.unix_micros("last_known_at") - F.unix_micros("moved_at")
    moving = F.unix_micros("moved_at") - F.unix_micros("first_known_at")
    return (
        F.when(F.coalesce("known", F.lit(0)) < 2, None)
        .when(F.col("lag_last") <= allowed_lag, Verdict.OK.value)
        .when((F.col("lag_min") > 0) & (stood > moving), Verdict.STOP.value)
        .when(F.col("consumer_offset") < F.col("consumed_to_max"), Verdict.REWIND.value)
        .when(F.col("lag_min") <= allowed_lag, Verdict.OK.value)
        .when(F.col("consumed_to_min") == F.col("consumed_to_max"), Verdict.STALL.value)
        .when(~F.coalesce("lag_fell", F.lit(False)), Verdict.WARN.value)
        .otherwise(Verdict.OK.value)
    )
