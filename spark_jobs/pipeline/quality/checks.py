"""What is expected of a table, and what was seen: plain values, which Great Expectations is given and gives back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from expectations.suite import Severity, Suite

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
    """What is expected of a table: its suite, and what else of its steps."""

    suite: Suite
    of_steps: tuple[StepsWithin | AsPublished, ...] = ()


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
