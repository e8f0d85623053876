"""What passes: sources row by row, outputs as a whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from expectations import BY_TABLE
from expectations.rows import CheckSettings
from expectations.suite import Severity
from schemas import MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, OUTPUTS, ROUTE_SNAPSHOTS, SOURCES, Table
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval, format_utc
from spark_jobs.errors import QualityError
from spark_jobs.pipeline.quality.checks import QUARANTINED_PERCENT, SEEN_PERCENT, Check, Result, StepsWithin
from spark_jobs.pipeline.quality.drift import Usual, as_usual

#: Recorded every cadence; the other sources are polled less often.
_EVERY_CADENCE = (MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS, OFFSET_SNAPSHOTS)


def source_checks(interval: Interval, configuration: Configuration, usual: Usual | None) -> list[Check]:
    """One per source table; of each step also, how many snapshots are rejected, missing or unusual."""
    steps = _steps(interval, configuration)
    return [
        Check(BY_TABLE[table], (*of_sources(table, interval, configuration), *as_usual(table, usual, steps)))
        for table in SOURCES
    ]


def output_checks(interval: Interval, configuration: Configuration, usual: Usual | None) -> list[Check]:
    """One per output table."""
    steps = _steps(interval, configuration)
    return [Check(BY_TABLE[table], tuple(as_usual(table, usual, steps))) for table in OUTPUTS]


def settings_of(interval: Interval, configuration: Configuration, *, whole_groups: bool) -> CheckSettings:
    """What expectations know of a run over the interval."""
    return CheckSettings(
        read_start=interval.start - configuration.look_back,
        read_end=interval.end,
        step=configuration.grid.length,
        offset_tolerance=configuration.quality.offset_tolerance,
        whole_groups=whole_groups,
    )


def _steps(interval: Interval, configuration: Configuration) -> list[datetime]:
    return [step.start for step in configuration.grid.steps(interval)]


def of_sources(table: Table, interval: Interval, configuration: Configuration) -> Iterable[StepsWithin]:
    """Rejected rows count in the look-back too; what is missing only in the steps of the run."""
    steps, grid = _steps(interval, configuration), configuration.grid
    read = Interval(grid.floor(interval.start - configuration.look_back), interval.end)
    quality = configuration.quality
    yield StepsWithin(
        name="few_rows_are_quarantined",
        says=f"No more than {quality.max_quarantined_percent:g} % of a step's rows break a rule.",
        severity=Severity.CRITICAL,
        fact=QUARANTINED_PERCENT,
        bounds=_bounds(_steps(read, configuration), None, quality.max_quarantined_percent),
    )
    if table in _EVERY_CADENCE:
        yield StepsWithin(
            name="cadence_is_kept",
            says=f"Of everything that was recorded in a step, at least {quality.seen_percent:g} % of the snapshots are "
            f"there, one every {configuration.cadence_seconds} s from its first to its last.",
            severity=Severity.WARNING,
            fact=SEEN_PERCENT,
            cadence=configuration.cadence // timedelta(microseconds=1),
            bounds=_bounds(steps, quality.seen_percent, None),
        )


def _bounds(steps: Iterable[datetime], lowest: float | None, highest: float | None) -> dict[str, list[float | None]]:
    return {step.isoformat(): [lowest, highest] for step in steps}


def failures(results: Sequence[Result], severity: Severity) -> list[str]:
    """What failed, in words: table, expectation, observed value, and up to 5 keys."""
    return [_words(one) for one in results if not one.success and one.severity == severity]


def raise_if_critical(results: Sequence[Result]) -> None:
    """Raises `QualityError` naming what failed critically; where that is about a step, what its rows break too."""
    if failed := failures(results, Severity.CRITICAL):
        critical = [one for one in results if not one.success and one.severity == Severity.CRITICAL]
        steps = {(one.table_name, one.step_start) for one in critical if one.unexpected_count is None}
        of_steps = [one for one in results if (one.table_name, one.step_start) in steps and one.unexpected_count]
        why = [f"  {words}" for words in failures(of_steps, Severity.WARNING)]
        raise QualityError("\n".join(["the data-quality gate is closed, nothing was published:", *failed, *why]))


def _words(one: Result) -> str:
    column = f" ({one.column_name})" if one.column_name else ""
    observed = f"{one.observed_value:g}" + (" rows" if one.unexpected_count else "")
    keys = f", for example {', '.join(one.examples)}" if one.examples else ""
    step = format_utc(one.step_start)
    return f"{one.table_name}: {one.expectation}{column} failed in the step {step}: {observed}{keys}"
