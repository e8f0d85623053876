"""Is a step like the same hour of the days before? Row counts and null rates against their median and its deviation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from operator import itemgetter
from statistics import median
from typing import NamedTuple

from expectations import BY_TABLE
from expectations.suite import Severity
from schemas import QUALITY_RESULTS, Table
from spark_jobs.config.model import Quality
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.pipeline.quality.checks import NULL_PERCENT, ROW_COUNT, StepsWithin
from spark_jobs.store.read.stored import Filter, StoredTables, tuples

ROWS_ARE_USUAL, NULLS_ARE_USUAL = "row_count_is_usual", "null_percent_is_usual"
#: Days that must be known before anything can be unusual.
_FEWEST_DAYS = 5


class Subject(NamedTuple):
    """What is compared: a table's rows, or the nulls of one of its columns."""

    table_name: str
    column_name: str | None


class LastSeen(NamedTuple):
    """What was last observed of a subject in a step."""

    step_start: datetime
    subject: Subject
    value: float


#: Lowest and highest usual value per subject and step.
Usual = Mapping[Subject, Mapping[datetime, tuple[float, float]]]


def known_values(tables: StoredTables, interval: Interval, quality: Quality) -> list[LastSeen]:
    """Of every step and subject of `quality_results` that is of a time of day of the interval, on it or on the
    days before, the newest value that was seen.
    """
    conditions = [
        Filter("expectation", "IN", (ROWS_ARE_USUAL, NULLS_ARE_USUAL)),
        Filter("step_start", ">=", interval.start - timedelta(days=quality.usual_days)),
        Filter("step_start", "<", interval.end),
    ]
    columns = ("checked_at", "step_start", "table_name", "column_name", "observed_value")
    newest: dict[tuple[datetime, Subject], LastSeen] = {}
    for _, step, table, column, value in sorted(
        tuples(tables.read(QUALITY_RESULTS, columns, conditions)), key=itemgetter(0)
    ):
        if (step - interval.start) % timedelta(days=1) < interval.end - interval.start:
            subject = Subject(table, column)
            newest[step, subject] = LastSeen(step, subject, value)
    return list(newest.values())


def usual_values(known: Iterable[LastSeen], interval: Interval, quality: Quality) -> Usual:
    """By subject and step of the interval, where enough days are known: the median ± so many times the median absolute
    deviation (scaled to a standard deviation), and never closer than a tenth of the median.
    """
    days: dict[tuple[Subject, datetime], list[float]] = {}
    for row in known:
        for day in range(1, quality.usual_days + 1):
            if interval.start <= (step := row.step_start + timedelta(days=day)) < interval.end:
                days.setdefault((row.subject, step), []).append(row.value)
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
