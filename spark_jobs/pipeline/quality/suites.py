"""The suite of a table in a run, for Great Expectations: what its rows keep, and what is expected of its steps."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

import great_expectations as gx
from great_expectations.expectations.metadata_types import FailureSeverity

from expectations import BY_TABLE
from expectations.suite import KEYS_ARE_UNIQUE, Suite
from schemas import EVERY_CADENCE, OPTIONAL_SOURCES, SOURCES, Table
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.pipeline.quality.drift import NULLS_ARE_USUAL, ROWS_ARE_USUAL, Subject, Usual
from spark_jobs.pipeline.quality.step_expectations import (
    ExpectCadenceToBeKept,
    ExpectContentToBeAsPublished,
    ExpectFewRowsToBeQuarantined,
    ExpectNullPercentToBeUsual,
    ExpectRowCountToBeUsual,
    ExpectRowsToKeep,
    OfSteps,
)

_BEFORE = "as at the same time of the days before."
#: With more snapshots than so many percent of those expected, the recorder has another collection interval.
_MOST_SEEN = 160
_CRITICAL, _WARNING = FailureSeverity.CRITICAL, FailureSeverity.WARNING


def suites_of(
    tables: Iterable[Table],
    interval: Interval,
    configuration: Configuration,
    usual: Usual | None,
    unchanged: Mapping[Table, Mapping[datetime, bool]],
) -> Iterator[gx.ExpectationSuite]:
    """One per table: its rules, whether its steps are as usual and, of a source, whether they are complete.

    `usual` is None for a run of some groups only: nothing is known about those. `unchanged`: of tables that are checked
    after they were published, by step, whether they are as they were published.
    """
    steps = [step.start for step in configuration.grid.steps(interval)]
    for table in tables:
        of_steps: list[OfSteps] = []
        if table in SOURCES:
            of_steps += of_source(table, interval, configuration)
        if usual is not None:
            of_steps += as_usual(table, usual, steps)
        if table in unchanged:
            of_steps.append(
                ExpectContentToBeAsPublished(
                    name="content_is_as_published",
                    says="Number and content of the rows are what audit_runs says of the last run of the step.",
                    severity=_CRITICAL,
                    unchanged={step.isoformat(): is_same for step, is_same in unchanged[table].items()},
                )
            )
        yield suite(BY_TABLE[table], of_steps)


def suite(rules: Suite, of_steps: Iterable[OfSteps] = ()) -> gx.ExpectationSuite:
    """The rules of a table's rows, and expectations of its steps; named as the table."""
    of_rows = [
        ExpectRowsToKeep(name=rule.name, says=rule.says, severity=FailureSeverity(rules.severity_of(rule)))
        for rule in (*rules.expectations, KEYS_ARE_UNIQUE)
    ]
    return gx.ExpectationSuite(name=rules.table.name, expectations=[*of_rows, *of_steps])


def of_source(table: Table, interval: Interval, configuration: Configuration) -> Iterator[OfSteps]:
    """Rejected rows count in the look-back too; what is missing only in the steps of the run."""
    grid, quality = configuration.grid, configuration.quality
    read = Interval(grid.floor(interval.start - configuration.look_back), interval.end)
    yield ExpectFewRowsToBeQuarantined(
        name="few_rows_are_quarantined",
        says=f"No more than {quality.max_quarantined_percent:g} % of a cluster's rows in a step break a rule.",
        severity=_WARNING if table in OPTIONAL_SOURCES else _CRITICAL,
        bounds={step.start.isoformat(): [None, quality.max_quarantined_percent] for step in grid.steps(read)},
    )
    if table in EVERY_CADENCE:
        yield ExpectCadenceToBeKept(
            name="cadence_is_kept",
            says=f"Of everything that was recorded in a step, at least {quality.seen_percent:g} % of the snapshots are "
            f"there, one every {configuration.cadence_seconds} s from its first to its last; at most {_MOST_SEEN} %. "
            "Otherwise set `cadence_seconds` to the recorder's interval.",
            severity=_WARNING,
            cadence=configuration.cadence // timedelta(microseconds=1),
            bounds={step.start.isoformat(): [quality.seen_percent, _MOST_SEEN] for step in grid.steps(interval)},
        )


def as_usual(table: Table, usual: Usual, steps: Sequence[datetime]) -> Iterator[OfSteps]:
    """Expectations of a table's row count and of the nulls of its columns, in these steps.

    Where too little is known there are no bounds, and what is observed is remembered. What else was read, such as the
    look-back before the steps, is only a part of its step: it is neither evaluated nor remembered.
    """

    def bounds(column: str | None) -> dict[str, list[float | None]]:
        known = usual.get(Subject(table.name, column), {})
        return {step.isoformat(): list(known.get(step, (None, None))) for step in steps}

    yield ExpectRowCountToBeUsual(
        name=ROWS_ARE_USUAL,
        says=f"In a step there are about as many rows {_BEFORE}",
        severity=_WARNING,
        bounds=bounds(None),
    )
    for column in BY_TABLE[table].nullable:
        yield ExpectNullPercentToBeUsual(
            name=NULLS_ARE_USUAL,
            column=column,
            says=f"In a step {column} is null in about as many rows {_BEFORE}",
            severity=_WARNING,
            bounds=bounds(column),
        )
