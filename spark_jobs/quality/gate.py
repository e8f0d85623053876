"""What passes: sources row by row, outputs as a whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from great_expectations.expectations.metadata_types import FailureSeverity
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from expectations import BY_TABLE
from expectations.suite import Severity
from schemas import MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, Table
from spark_jobs.config import Configuration
from spark_jobs.domain.intervals import Interval, format_utc
from spark_jobs.errors import QualityError
from spark_jobs.publish.request import RunRequest
from spark_jobs.quality.drift import Usual, as_usual
from spark_jobs.quality.facts import STEP, flagged
from spark_jobs.quality.metric import QUARANTINED_PERCENT, SEEN_PERCENT, ExpectStepsWithin
from spark_jobs.quality.validation import Check, Result
from spark_jobs.replay.steps import step_of

#: Recorded every cadence; the other sources are polled less often.
_EVERY_CADENCE = (MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS, OFFSET_SNAPSHOTS)


def source_checks(
    sources: Mapping[Table, DataFrame], request: RunRequest, configuration: Configuration, usual: Usual | None
) -> list[Check]:
    """One per source table: each row on its own; of each step, how many are rejected, missing or unusual."""
    length, steps = configuration.grid.length, _steps(request.interval, configuration)
    numbers = settings(request.interval, configuration, F.lit(request.topic is None))
    in_steps = {table: frame.withColumn(STEP, step_of("captured_at", length)) for table, frame in sources.items()}
    return [
        Check(
            BY_TABLE[table],
            flagged(BY_TABLE[table], frame, in_steps, numbers),
            (*of_sources(table, request.interval, configuration), *as_usual(table, usual, steps)),
        )
        for table, frame in in_steps.items()
    ]


def output_checks(
    outputs: Mapping[Table, DataFrame],
    interval: Interval,
    configuration: Configuration,
    usual: Usual | None,
    whole_groups: Column,
) -> list[Check]:
    """One per output table."""
    steps, numbers = _steps(interval, configuration), settings(interval, configuration, whole_groups)
    return [
        Check(
            BY_TABLE[table],
            flagged(BY_TABLE[table], frame, outputs, numbers),
            tuple(as_usual(table, usual, steps)),
        )
        for table, frame in outputs.items()
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


def of_sources(table: Table, interval: Interval, configuration: Configuration) -> Iterable[ExpectStepsWithin]:
    """Rejected rows count in the look-back too; what is missing only in the steps of the run."""
    steps, grid = _steps(interval, configuration), configuration.grid
    read = Interval(grid.floor(interval.start - configuration.look_back), interval.end)
    quality = configuration.quality
    yield ExpectStepsWithin(
        suite=table.name,
        name="few_rows_are_quarantined",
        says=f"No more than {quality.max_quarantined_percent:g} % of a step's rows break a rule.",
        severity=FailureSeverity.CRITICAL,
        fact=QUARANTINED_PERCENT,
        bounds=_bounds(_steps(read, configuration), None, quality.max_quarantined_percent),
    )
    if table in _EVERY_CADENCE:
        yield ExpectStepsWithin(
            suite=table.name,
            name="cadence_is_kept",
            says=f"At least {quality.seen_percent:g} % of the snapshots of a step are there, one every "
            f"{configuration.cadence_seconds} s of everything that was recorded in it.",
            severity=FailureSeverity.WARNING,
            fact=SEEN_PERCENT,
            per_series=grid.length / configuration.cadence,
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
