"""Expectations of the tables of a run, and observations: plain values, which Great Expectations is given and gives
back; and whether the run may publish by them: not where a critical expectation failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from expectations import BY_TABLE
from expectations.rows import CheckSettings
from expectations.suite import Severity, Suite
from schemas import EVERY_CADENCE, SOURCES, Table
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval, format_utc
from spark_jobs.errors import QualityError
from spark_jobs.pipeline.quality.drift import NULLS_ARE_USUAL, ROWS_ARE_USUAL, Subject, Usual

#: What `StepsWithin` can look at; a column's nulls are `NULL_PERCENT` and its name.
ROW_COUNT, SEEN_PERCENT, QUARANTINED_PERCENT, NULL_PERCENT = "row_count", "seen", "quarantined", "null "


@dataclass(frozen=True)
class StepsWithin:
    """In each of the steps that `bounds` names, a fact about all rows lies inside its bounds (lowest, highest; None:
    none). A step without rows has a row count, 0, and no shares.

    `cadence`: microseconds between a series' rows if none was missed. Steps are ISO 8601.
    """

    name: str
    says: str
    severity: Severity
    fact: str
    bounds: Mapping[str, Sequence[float | None]]
    column: str | None = None
    cadence: int = 1


@dataclass(frozen=True)
class AsPublished:
    """In each of the steps that `unchanged` names, the table still is what the last run published (true)."""

    name: str
    says: str
    severity: Severity
    unchanged: Mapping[str, bool]


@dataclass(frozen=True)
class Check:
    """Expectations of a table: its suite, and what else of its steps."""

    suite: Suite
    of_steps: tuple[StepsWithin | AsPublished, ...] = ()


class Result(NamedTuple):
    """Result of an expectation in one step: a row of `quality_results` without its run."""

    step_start: datetime
    table_name: str
    expectation: str
    column_name: str | None
    severity: str
    success: bool
    observed_value: float
    unexpected_count: int | None
    unexpected_percent: float | None
    examples: list[str]


@dataclass(frozen=True)
class CheckResults:
    """The results of checks; `for_pages`: the same as Great Expectations has them, one per table."""

    results: Sequence[Result] = ()
    for_pages: Sequence[Any] = ()

    def __add__(self, further: CheckResults) -> CheckResults:
        return CheckResults((*self.results, *further.results), (*self.for_pages, *further.for_pages))


def settings_of(interval: Interval, configuration: Configuration, *, whole_groups: bool) -> CheckSettings:
    """Return what expectations know of a run over the interval."""
    return CheckSettings(
        read_start=interval.start - configuration.look_back,
        read_end=interval.end,
        step=configuration.grid.length,
        offset_tolerance=configuration.quality.offset_tolerance,
        whole_groups=whole_groups,
    )


def checks_of(
    tables: Iterable[Table], interval: Interval, configuration: Configuration, usual: Usual | None
) -> list[Check]:
    """One per table: its suite, whether its steps are as usual and, of a source, whether they are complete.

    `usual` is None for a run of some groups only: nothing is known about those.
    """
    steps = [step.start for step in configuration.grid.steps(interval)]
    return [
        Check(
            BY_TABLE[table],
            (
                *(of_source(table, interval, configuration) if table in SOURCES else ()),
                *(as_usual(table, usual, steps) if usual is not None else ()),
            ),
        )
        for table in tables
    ]


def of_source(table: Table, interval: Interval, configuration: Configuration) -> Iterator[StepsWithin]:
    """Rejected rows count in the look-back too; what is missing only in the steps of the run."""
    grid, quality = configuration.grid, configuration.quality
    read = Interval(grid.floor(interval.start - configuration.look_back), interval.end)
    yield StepsWithin(
        name="few_rows_are_quarantined",
        says=f"No more than {quality.max_quarantined_percent:g} % of a step's rows break a rule.",
        severity=Severity.CRITICAL,
        fact=QUARANTINED_PERCENT,
        bounds={step.start.isoformat(): [None, quality.max_quarantined_percent] for step in grid.steps(read)},
    )
    if table in EVERY_CADENCE:
        yield StepsWithin(
            name="cadence_is_kept",
            says=f"Of everything that was recorded in a step, at least {quality.seen_percent:g} % of the snapshots are "
            f"there, one every {configuration.cadence_seconds} s from its first to its last.",
            severity=Severity.WARNING,
            fact=SEEN_PERCENT,
            cadence=configuration.cadence // timedelta(microseconds=1),
            bounds={step.start.isoformat(): [quality.seen_percent, None] for step in grid.steps(interval)},
        )


def as_usual(table: Table, usual: Usual, steps: Sequence[datetime]) -> Iterator[StepsWithin]:
    """Expectations of a table's row count and of the nulls of its columns, in these steps.

    Where too little is known there are no bounds, and what is observed is remembered. What else was read, such as the
    look-back before the steps, is only a part of its step: it is neither evaluated nor remembered.
    """
    for column in (None, *BY_TABLE[table].nullable):
        what = f"{column} is null in about as many rows" if column else "there are about as many rows"
        bounds = usual.get(Subject(table.name, column), {})
        yield StepsWithin(
            name=NULLS_ARE_USUAL if column else ROWS_ARE_USUAL,
            column=column,
            says=f"In a step {what} as at the same time of the days before.",
            severity=Severity.WARNING,
            fact=f"{NULL_PERCENT}{column}" if column else ROW_COUNT,
            bounds={step.isoformat(): list(bounds.get(step, (None, None))) for step in steps},
        )


def failures(results: Iterable[Result], severity: Severity) -> list[str]:
    """Return what failed, in words: table, expectation, observed value, and up to 5 keys."""
    return [_words(result) for result in results if not result.success and result.severity == severity]


def raise_if_critical(results: Sequence[Result]) -> None:
    """Raises `QualityError` naming what failed critically; where that is about a step, what its rows break too."""
    if failed := failures(results, Severity.CRITICAL):
        critical = [result for result in results if not result.success and result.severity == Severity.CRITICAL]
        steps = {(result.table_name, result.step_start) for result in critical if result.unexpected_count is None}
        of_rows = [result for result in results if (result.table_name, result.step_start) in steps]
        why = failures((result for result in of_rows if result.unexpected_count), Severity.WARNING)
        lines = [*failed, *(f"  {words}" for words in why)]
        raise QualityError("\n".join(["the data-quality gate is closed, nothing was published:", *lines]))


def _words(result: Result) -> str:
    column = f" ({result.column_name})" if result.column_name else ""
    observed = f"{result.observed_value:g}" + (" rows" if result.unexpected_count else "")
    keys = f", for example {', '.join(result.examples)}" if result.examples else ""
    step = format_utc(result.step_start)
    return f"{result.table_name}: {result.expectation}{column} failed in the step {step}: {observed}{keys}"
