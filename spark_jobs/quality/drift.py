"""Is a step like the same hour of the days before? Row counts and null rates against their median and its deviation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from great_expectations.expectations.metadata_types import FailureSeverity
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from expectations import BY_TABLE
from schemas import Table
from spark_jobs.config.model import Quality
from spark_jobs.domain.intervals import Interval
from spark_jobs.quality.metric import NULL_PERCENT, ROW_COUNT, ExpectStepsWithin

ROWS_ARE_USUAL, NULLS_ARE_USUAL = "row_count_is_usual", "null_percent_is_usual"
#: Days that must be known before anything can be unusual.
_FEWEST_DAYS = 5


class Subject(NamedTuple):
    """What is compared: a table's rows, or the nulls of one of its columns."""

    table_name: str
    column_name: str | None


#: Lowest and highest usual value per subject and step.
Usual = Mapping[Subject, Mapping[datetime, tuple[float, float]]]


def usual_values(results: DataFrame, interval: Interval, quality: Quality) -> DataFrame:
    """One row per (step of the interval, table, expectation, column) with enough days: `lowest` and `highest`.

    From `quality_results`: of each earlier day the newest value of the same time of day. The median ± so many times
    the median absolute deviation (scaled to a standard deviation), and never closer than a tenth of the median.
    """
    newest = Window.partitionBy("step_start", "table_name", "expectation", "column_name").orderBy(F.desc("checked_at"))
    days = F.sequence(F.lit(1), F.lit(quality.usual_days))
    later = F.explode(F.transform(days, lambda day: F.col("step_start") + F.make_dt_interval(day)))
    of_others = (
        results.where(F.col("expectation").isin(ROWS_ARE_USUAL, NULLS_ARE_USUAL))
        .where(F.col("step_start") >= F.lit(interval.start - timedelta(days=quality.usual_days)))
        .where(F.col("step_start") < F.lit(interval.end))
        .withColumn("rank", F.row_number().over(newest))
        .where("rank = 1")
        .withColumn("step", later)
        .where((F.col("step") >= F.lit(interval.start)) & (F.col("step") < F.lit(interval.end)))
    )
    subject = ("step", "table_name", "expectation", "column_name")
    medians = of_others.groupBy(*subject).agg(
        F.median("observed_value").alias("median"), F.collect_list("observed_value").alias("values")
    )
    deviations = medians.where(F.size("values") >= _FEWEST_DAYS).withColumn("value", F.explode("values"))
    return (
        deviations.groupBy(*subject, "median")
        .agg(F.median(F.abs(F.col("value") - F.col("median"))).alias("mad"))
        .withColumn("width", F.greatest(quality.usual_deviations * 1.4826 * F.col("mad"), F.abs("median") / 10))
        .select(
            *subject,
            (F.col("median") - F.col("width")).alias("lowest"),
            (F.col("median") + F.col("width")).alias("highest"),
        )
    )


def as_mapping(rows: DataFrame) -> Usual:
    """The rows of `usual_values`, which are few, by subject and step."""
    found: dict[Subject, dict[datetime, tuple[float, float]]] = {}
    for row in rows.collect():
        step = row.step.replace(tzinfo=UTC)
        found.setdefault(Subject(row.table_name, row.column_name), {})[step] = (row.lowest, row.highest)
    return found


def as_usual(table: Table, usual: Usual | None, steps: Sequence[datetime]) -> Iterator[ExpectStepsWithin]:
    """Expectations of a table's row count and of the nulls of its columns, in these steps; none for a run of some
    groups only (None).

    Where too little is known there are no bounds, and what is observed is remembered. What else was read, such as the
    look-back before the steps, is only a part of its step: it is neither judged nor remembered.
    """
    if usual is None:
        return
    yield _expected(Subject(table.name, None), usual, steps)
    yield from (_expected(Subject(table.name, name), usual, steps) for name in BY_TABLE[table].nullable)


def _expected(subject: Subject, usual: Usual, steps: Sequence[datetime]) -> ExpectStepsWithin:
    column, known = subject.column_name, usual.get(subject, {})
    what = f"{column} is null in about as many rows" if column else "there are about as many rows"
    return ExpectStepsWithin(
        suite=subject.table_name,
        name=NULLS_ARE_USUAL if column else ROWS_ARE_USUAL,
        column=column,
        says=f"In a step {what} as at the same time of the days before.",
        severity=FailureSeverity.WARNING,
        fact=f"{NULL_PERCENT}{column}" if column else ROW_COUNT,
        bounds={step.isoformat(): list(known.get(step, (None, None))) for step in steps},
    )
