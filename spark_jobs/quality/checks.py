"""What is expected of a table, and what was seen: plain values, which Great Expectations is given and gives back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from pyspark.sql import DataFrame

from expectations.suite import Severity, Suite
from schemas import Table

#: What `StepsWithin` can look at; a column's nulls are `NULL_PERCENT` and its name.
ROW_COUNT, SEEN_PERCENT, QUARANTINED_PERCENT, NULL_PERCENT = "row_count", "seen", "quarantined", "null "


#: Of each table the facts of its steps, as `facts.collected` gives them.
Facts = Mapping[Table, Sequence[Mapping[str, Any]]]


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


@dataclass(frozen=True, eq=False)
class Check:
    """A suite, the rows it is to look at (`facts.flagged`, with `step_start`), and what else to expect of its steps.

    Without rows it is known that there are none: nothing is asked of Spark. Where the rows are folded snapshots,
    `one_by_one` gives each of them, for what is only done where one breaks a rule.
    """

    suite: Suite
    rows: DataFrame | None
    of_steps: tuple[StepsWithin | AsPublished, ...] = field(default=())
    one_by_one: Callable[[], DataFrame] | None = None

    def each(self) -> DataFrame:
        """The rows one by one, flagged; there must be some."""
        if self.one_by_one is not None:
            return self.one_by_one()
        assert self.rows is not None
        return self.rows


class Result(NamedTuple):
    """What an expectation saw in one step: a row of `quality_results` without its run."""

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
