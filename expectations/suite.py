"""What an expectation is, and what a table's suite is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from pyspark.sql import DataFrame

from schemas import SOURCES, Table


class Severity(StrEnum):
    """What a broken expectation does to a run."""

    CRITICAL = "critical"  # nothing is published; a source's row is quarantined, and the others are used
    WARNING = "warning"  # published, exit code 2; a source's row is used


@dataclass(frozen=True)
class Expectation:
    """A rule that every row of a table keeps.

    `holds` is SQL over the columns of the table, what the suite adds to them, and the settings of `Quality`; a row
    for which it is unknown (null) keeps it. With `each` it speaks of the elements of that array column, as `it`: a
    null element is the business of `common.present` alone. `at_once`, of the array as a whole, is true only if every
    element keeps the rule; Spark compiles it, while it interprets lambdas.
    """

    name: str
    says: str
    holds: str
    severity: Severity = Severity.CRITICAL
    each: str | None = None
    at_once: str | None = None


def _nothing_added(frame: DataFrame, _: Mapping[Table, DataFrame]) -> DataFrame:
    return frame


@dataclass(frozen=True)
class Suite:
    """The expectations of one table.

    `series`: columns that part the rows into those of one thing observed again and again (sources), or small enough
    to look for repeated keys in (outputs). `prepare` adds columns from other tables of the same run; grain unchanged.
    """

    table: Table
    series: tuple[str, ...]
    expectations: tuple[Expectation, ...]
    prepare: Callable[[DataFrame, Mapping[Table, DataFrame]], DataFrame] = _nothing_added

    def severity_of(self, one: Expectation) -> Severity:
        """Rows of a source that break a rule are quarantined and the others audited: a warning."""
        return Severity.WARNING if self.table in SOURCES else one.severity

    @property
    def rejecting(self) -> tuple[Expectation, ...]:
        """The expectations that a row must keep to be used."""
        return tuple(one for one in self.expectations if one.severity is Severity.CRITICAL)

    @property
    def nullable(self) -> tuple[str, ...]:
        """The columns of which it is remembered how often they are null."""
        return tuple(field.name for field in self.table.schema if field.nullable and field.name in self.table.columns)


#: The rule that every suite has; it is about rows together, so it is not looked at like the others.
KEYS_ARE_UNIQUE = Expectation("keys_are_unique", "No two rows that satisfy the other rules have the same key.", "true")
