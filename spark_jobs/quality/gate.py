"""What passes: sources row by row, outputs as a whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from expectations import BY_TABLE
from expectations.suite import Severity
from schemas import MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, OUTPUTS, ROUTE_SNAPSHOTS, SOURCES, Table
from spark_jobs.columns import step_of
from spark_jobs.config import Configuration
from spark_jobs.domain.intervals import Interval, format_utc
from spark_jobs.errors import QualityError
from spark_jobs.publish.request import RunRequest
from spark_jobs.quality.checks import QUARANTINED_PERCENT, SEEN_PERCENT, Check, Result, StepsWithin
from spark_jobs.quality.drift import Usual, as_usual
from spark_jobs.quality.facts import STEP, conditions, flagged, flagged_on_the_way

#: Recorded every cadence; the other sources are polled less often.
_EVERY_CADENCE = (MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS, OFFSET_SNAPSHOTS)
#: A snapshot of these is a state: their rules are asked of the distinct ones.
_STATES = (MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS)


def asked_on_the_way(
    sources: Mapping[Table, DataFrame], request: RunRequest, configuration: Configuration
) -> tuple[dict[Table, DataFrame], dict[Table, list[str]]]:
    """The sources with the settings that expectations name, and SQL of what is asked of every snapshot on its way; of
    memberships and routes nothing: all that they say is a state, which is looked at once.
    """
    numbers = settings(request.interval, configuration, F.lit(request.topic is None))
    with_settings = {
        table: frame.withColumns({name: F.lit(value) for name, value in numbers.items()})
        for table, frame in sources.items()
    }
    return with_settings, {table: conditions(BY_TABLE[table]) for table in sources if table not in _STATES}


def source_checks(
    sources: Mapping[Table, DataFrame],
    folded: Mapping[Table, DataFrame],
    request: RunRequest,
    configuration: Configuration,
    usual: Usual | None,
) -> list[Check]:
    """One per source table, judged by its snapshots `folded` with the `source_conditions`; of each step also, how many
    are rejected, missing or unusual.
    """
    numbers = settings(request.interval, configuration, F.lit(request.topic is None))
    steps = _steps(request.interval, configuration)
    in_steps = {
        table: frame.withColumn(STEP, step_of("captured_at", configuration.grid.length))
        for table, frame in sources.items()
    }

    def judged(table: Table) -> DataFrame:
        if table in _STATES:
            return flagged(BY_TABLE[table], folded[table], folded, numbers)
        return flagged_on_the_way(BY_TABLE[table], folded[table])

    return [
        Check(
            BY_TABLE[table],
            judged(table),
            (*of_sources(table, request.interval, configuration), *as_usual(table, usual, steps)),
            partial(flagged, BY_TABLE[table], in_steps[table], in_steps, numbers),
        )
        for table in SOURCES
    ]


def output_checks(
    outputs: Mapping[Table, DataFrame],
    interval: Interval,
    configuration: Configuration,
    usual: Usual | None,
    whole_groups: Column,
) -> list[Check]:
    """One per output table; without rows where there are no outputs at all."""
    steps, numbers = _steps(interval, configuration), settings(interval, configuration, whole_groups)
    return [
        Check(
            BY_TABLE[table],
            flagged(BY_TABLE[table], outputs[table], outputs, numbers) if outputs else None,
            tuple(as_usual(table, usual, steps)),
        )
        for table in OUTPUTS
    ]


def settings(interval: Interval, configuration: Configuration, whole_groups: Column) -> dict[str, Any]:
    """The values that expectations name. A run of one topic publishes what concerns its whole groups without what
    their other topics have: `whole_groups` is false for its rows.
    """
    return {
        "read_start": interval.start - configuration.look_back,
        "read_end": interval.end,
        "step_seconds": int(configuration.grid.length.total_seconds()),
        "offset_tolerance": configuration.quality.offset_tolerance,
        "whole_groups": whole_groups,
    }


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
