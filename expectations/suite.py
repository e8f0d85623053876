"""Expectations, and the suite of a table."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from expectations.rows import Rows, Values
from schemas import SOURCES, Table

#: The tables of one group, or topic, by which an expectation of one of them may look at others.
Tables = Mapping[Table, Rows]


class Severity(StrEnum):
    """Effect of a broken expectation on a run."""

    CRITICAL = "critical"  # nothing is published; a source's row is quarantined, and the others are used
    WARNING = "warning"  # published, exit code 2; a source's row is used


@dataclass(frozen=True)
class Expectation:
    """A rule for each row of a table, with the columns that its suite adds; rows of unknown outcome keep it.
    Snapshots of one state are checked once, unless the rule is `of_samples`: about times and numbers.
    """

    name: str
    says: str
    holds: Callable[[Rows], Values]
    severity: Severity = Severity.CRITICAL
    of_samples: bool = False


@dataclass(frozen=True)
class Suite:
    """The expectations of one table. `prepare` adds columns from other tables of the same group."""

    table: Table
    expectations: tuple[Expectation, ...]
    prepare: Callable[[Rows, Tables], Rows] = lambda rows, _: rows

    def severity_of(self, expectation: Expectation) -> Severity:
        """Rows of a source that break a rule are quarantined and the others audited: a warning."""
        return Severity.WARNING if self.table in SOURCES else expectation.severity

    @property
    def rejecting(self) -> tuple[Expectation, ...]:
        """The expectations that a row must keep to be used."""
        return tuple(expectation for expectation in self.expectations if expectation.severity is Severity.CRITICAL)

    @cached_property
    def nullable(self) -> tuple[str, ...]:
        """The columns of which it is remembered how often they are null."""
        return tuple(field.name for field in self.table.schema if field.nullable and field.name in self.table.columns)


#: The rule that every suite has; it is about rows together, so it is not looked at like the others.
KEYS_ARE_UNIQUE = Expectation(
    "keys_are_unique", "No two rows that satisfy the other rules have the same key.", Rows.always
)
