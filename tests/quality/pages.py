"""Runs with pages, made of hand-written rows that keep or break rules."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from expectations import BY_TABLE
from expectations.suite import Severity
from schemas import MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS, Table
from spark_jobs.quality.checks import QUARANTINED_PERCENT, Check, Result, StepsWithin
from spark_jobs.quality.facts import collected, flagged
from spark_jobs.quality.validation import Validator
from spark_jobs.spark_types import spark_schema
from tests.snapshots import at, membership

SUITE = BY_TABLE[MEMBERSHIP_SNAPSHOTS]
SETTINGS = {"read_start": at(-3600), "read_end": at(7200)}
#: Names that would be markup, code or another direction of writing if they were believed.
HOSTILE = (
    "<script>document.title = 'owned'</script>",
    "\"'><img src=x onerror=\"document.title = 'owned'\">",
    "javascript:document.title='owned'",
    "&lt;b&gt; ${name} {{ 7 * 7 }} $says",
    "\u202eevil\u2066",
)


def rows(spark: SparkSession, *broken: str, kept: int = 3) -> DataFrame:
    """So many rows of one step that keep every rule, and one per name whose connection has no client id."""
    good = [membership(second, "c1") for second in range(kept)]
    bad = [membership(100 + place, "", group=name) for place, name in enumerate(broken)]
    fields = [field for field in spark_schema(MEMBERSHIP_SNAPSHOTS) if field.name in MEMBERSHIP_SNAPSHOTS.columns]
    frame = spark.createDataFrame(good + bad, StructType(fields))
    return flagged(SUITE, frame.withColumn("step_start", F.lit(at(0))), no_routes(spark), SETTINGS)


def no_routes(spark: SparkSession) -> Mapping[Table, DataFrame]:
    """The other table that the suite looks at, without a row: who hosts the topics is not known."""
    routes = spark.createDataFrame([], spark_schema(ROUTE_SNAPSHOTS))
    return {ROUTE_SNAPSHOTS: routes.withColumn("step_start", F.col("captured_at"))}


def few_quarantined(percent: float) -> StepsWithin:
    """At most so many percent of the step's rows break a rule."""
    return StepsWithin(
        name="few_rows_are_quarantined",
        says="No more than 1 % of a step's rows break a rule.",
        severity=Severity.CRITICAL,
        fact=QUARANTINED_PERCENT,
        bounds={at(0).isoformat(): [None, percent]},
    )


def validated(site: Path | None, run_id: str, frame: DataFrame, percent: float = 1) -> list[Result]:
    """What a run sees in the rows; with its pages."""
    validator = Validator(run_id, site)
    results = judged(validator, Check(SUITE, frame, (few_quarantined(percent),)))
    validator.write_pages()
    return results


def judged(validator: Validator, check: Check) -> list[Result]:
    """What the validator says of the check's rows."""
    return validator.validate([check], collected([check]))
