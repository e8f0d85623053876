"""Of everything that was recorded in a step the snapshots are there, one per cadence from its first to its last."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from schemas import MEMBERSHIP_SNAPSHOTS
from spark_jobs.config import Configuration
from spark_jobs.domain.intervals import Interval
from spark_jobs.domain.window import SECOND
from spark_jobs.quality.facts import ROWS, SERIES, SPANS, STEP, span_sql
from spark_jobs.quality.gate import of_sources
from spark_jobs.quality.metric import ExpectStepsWithin

HOUR = Interval.parse("2026-03-01T10:00/2026-03-01T11:00")


@pytest.mark.parametrize(
    ("rows", "series", "seconds", "percent"),
    [
        # Two series, three minutes each at a cadence of 20 s: 10 snapshots.
        (20, 2, 2 * 180, 100),
        (18, 2, 2 * 180, 90),
        (17, 2, 2 * 180, 85),
        (180, 1, 3580, 100),
        (1, 1, 0, 100),
    ],
)
def test_what_is_missing_is_missing_between_snapshots(rows: int, series: int, seconds: int, percent: float) -> None:
    (_, cadence) = of_sources(MEMBERSHIP_SNAPSHOTS, HOUR, Configuration())
    asked = ExpectStepsWithin(**{**vars(cadence), "severity": "warning"})
    step = {STEP: HOUR.start.isoformat(), ROWS: rows, SERIES: series, SPANS: seconds * SECOND}
    assert asked._judged(step) == {"success": percent >= 90, "observed": percent}


def test_spans_of_snapshots_one_by_one_and_folded(spark: SparkSession) -> None:
    folded = spark.createDataFrame([("a", [30, 10]), ("a", [70]), ("b", [5])], "series string, times array<bigint>")
    each = folded.select("series", F.explode("times").alias("at")).withColumn("captured_at", F.timestamp_micros("at"))
    for frame in (folded, each):
        spans = frame.groupBy("series").agg(F.expr(span_sql(frame.columns)).alias("span")).collect()
        assert {row["series"]: row["span"] for row in spans} == {"a": 60, "b": 0}
    assert span_sql(["interval_start"]) == "0"
