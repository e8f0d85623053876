"""Is a step like the same hour of the days before? Row counts and null rates against their median and its deviation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import NamedTuple

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from expectations import BY_TABLE
from expectations.suite import Severity
from schemas import Table
from spark_jobs.config.model import Quality
from spark_jobs.domain.intervals import Interval
from spark_jobs.quality.checks import NULL_PERCENT, ROW_COUNT, StepsWithin

ROWS_ARE_USUAL, NULLS_ARE_USUAL = "row_count_is_usual", "null_percent_is_usual"
#: Days that must be known before anything can be unusual.
_FEWEST_DAYS = 5


class Subject(NamedTuple):
    """What is compared: a table's rows, or the nulls of one of its columns."""

    table_name: str
    column_name: str | None


#: Lowest and highest usual value per subject and step.
Usual = Mapping[Subject, Mapping[datetime, tuple[float, float]]]


def known_values(results: DataFrame, interval: Interval, quality: Quality) -> DataFrame:
    """One row per (step, table, expectation, column) of `quality_results` that is of an earlier day and of a time of
    day of the interval: `value`, the newest that was seen. They are few.
    """
    second_of_interval = F.pmod(F.unix_seconds("step_start") - int(interval.start.timestamp()), F.lit(86_400))
    return (
        results.where(F.col("expectation").isin(ROWS_ARE_USUAL, NULLS_ARE_USUAL))
        .where(F.col("step_start") >= F.lit(interval.start - timedelta(days=quality.usual_days)))
        .where(F.col("step_start") < F.lit(interval.end))
        .where(second_of_interval < int((interval.end - interval.start).total_seconds()))
        .groupBy("step_start", "table_name", "expectation", "column_name")
        .agg(F.max_by("observed_value", "checked_at").alias("value"))
    )


def usual_values(known: Iterable[Row], interval: Interval, quality: Quality) -> Usual:
    """By subject and step of the interval, where enough days are known: the median ± so many times the median absolute
    deviation (scaled to a standard deviation), and never closer than a tenth of the median.
    """
    days: dict[tuple[Subject, datetime], list[float]] = {}
    for row in known:
        subject, seen = Subject(row.table_name, row.column_name), row.step_start.replace(tzinfo=UTC)
        for day in range(1, quality.usual_days + 1):
            if interval.start <= (step := seen + timedelta(days=day)) < interval.end:
                days.setdefault((subject, step), []).append(row.value)
    usual: dict[Subject, dict[datetime, tuple[float, float]]] = {}
    for (subject, step), values in days.items():
        if len(values) >= _FEWEST_DAYS:
            usual.setdefault(subject, {})[step] = _around(values, quality.usual_deviations)
    return usual


def _around(values: Sequence[float], deviations: float) -> tuple[float, float]:
    middle = median(values)
    width = max(deviations * 1.4826 * median(abs(value - middle) for value in values), abs(middle) / 10)
    return middle - width, middle + width


def as_usual(table: Table, usual: Usual | None, steps: Sequence[datetime]) -> Iterator[StepsWithin]:
    """Expectations of a table's row count and of the nulls of its columns, in these steps; none for a run of some
    groups only (None).

    Where too little is known there are no bounds, and what is observed is remembered. What else was read, such as the
    look-back before the steps, is only a part of its step: it is neither judged nor remembered.
    """
    if usual is None:
        return
    yield _expected(Subject(table.name, None), usual, steps)
    yield from (_expected(Subject(table.name, name), usual, steps) for name in BY_TABLE[table].nullable)


def _expected(subject: Subject, usual: Usual, steps: Sequence[datetime]) -> StepsWithin:
    column, known = subject.column_name, usual.get(subject, {})
    what = f"{column} is null in about as many rows" if column else "there are about as many rows"
    return StepsWithin(
        name=NULLS_ARE_USUAL if column else ROWS_ARE_USUAL,
        column=column,
        says=f"In a step {what} as at the same time of the days before.",
        severity=Severity.WARNING,
        fact=f"{NULL_PERCENT}{column}" if column else ROW_COUNT,
        bounds={step.isoformat(): list(known.get(step, (None, None))) for step in steps},
    )
