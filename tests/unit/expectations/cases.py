"""Hand-made rows that break an expectation, or just keep it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pyarrow as pa

import expectations.rows
from expectations.rows import CheckSettings
from expectations.suite import KEYS_ARE_UNIQUE, Suite
from schemas import OUTPUTS, SOURCES, Table
from spark_jobs.pipeline.quality.facts import BROKEN, by_name, counts_of
from tests.support.stored import arrow_table
from tests.support.times import at

#: Of the run to which the cases belong.
SETTINGS = CheckSettings(read_start=at(-300), read_end=at(3600), step=timedelta(hours=1))

Row = dict[str, Any]
#: The rows of one case: those of the suite's table, and what `prepare` needs of others.
Rows = Mapping[Table, Sequence[Row]]

#: The rows of a case say so where their cluster, or the id of a finding, is to be the case's own.
OWN = "(this case)"
_IN_PART = "kept by a part of the groups"


@dataclass(frozen=True)
class Cases:
    """Of one suite: by expectation, rows that break it and no other; and rows that keep all.

    `keeps_in_part`: rows that keep all only in a run of one topic.
    """

    suite: Suite
    breaks: Mapping[str, Sequence[Rows]]
    keeps: Sequence[Rows]
    keeps_in_part: Sequence[Rows] = field(default=())

    @property
    def expectations(self) -> set[str]:
        """Names of the expectations that must have a case."""
        return {one.name for one in (*self.suite.expectations, KEYS_ARE_UNIQUE)}

    def named(self) -> Iterator[tuple[str, set[str], Rows]]:
        """Every case with a name and the expectations that it breaks."""
        for expectation, cases in self.breaks.items():
            yield from ((f"breaks {expectation} ({number})", {expectation}, case) for number, case in enumerate(cases))
        yield from ((f"is kept ({number})", set(), case) for number, case in enumerate(self.keeps))
        yield from ((f"{_IN_PART} ({number})", set(), case) for number, case in enumerate(self.keeps_in_part))


def alone(table: Table, row: Callable[..., Row]) -> Callable[..., Rows]:
    """Makes cases of one row, with changes."""
    return lambda **changes: {table: [row(**changes)]}


def of_every_source(good: Callable[..., Rows], *names: str) -> dict[str, list[Rows]]:
    """What breaks the rules of names, and of the time of a snapshot."""
    no_names = (None, "", "x" * 256, "\0" * 256, "\U0001f600" * 256)
    cases = {f"{column}_is_a_name": [good(**{column: name}) for name in no_names] for column in names}
    return cases | {"captured_at_is_of_the_run": [good(captured_at=time) for time in (None, at(-300.001), at(3600))]}


def at_the_edge(good: Callable[..., Rows], *names: str) -> list[Rows]:
    """What just keeps them."""
    longest = [good(**{column: "x" * 255}) for column in names]
    return [*longest, good(captured_at=at(-300)), good(captured_at=at(3599.999999))]


def broken_by_case(cases: Cases) -> dict[str, set[str]]:
    """The names of the broken expectations, by the name of the case: what the audit counts of whole rows."""
    return {name: _broken(cases.suite, tables, name) for name, _, tables in cases.named()}


def _broken(suite: Suite, tables: Rows, name: str) -> set[str]:
    is_whole = not name.startswith(_IN_PART)
    settings = replace(SETTINGS, whole_groups=is_whole, has_coverage=is_whole)
    rows = {table: arrow_rows(table, tables.get(table, ()), settings) for table in (*SOURCES, *OUTPUTS)}
    (fact,) = counts_of(suite.prepare(rows[suite.table], rows), suite).facts()
    return {one for one, count in by_name(suite, fact)[BROKEN].items() if count}


def arrow_rows(table: Table, rows: Sequence[Row], settings: CheckSettings) -> expectations.rows.Rows:
    """Rows written by hand; of a source in the one step of the cases."""
    found = arrow_table(table, rows).select(table.columns)
    if table in SOURCES:
        start = pa.array([at(0)] * len(rows), pa.timestamp("us", "UTC"))
        found = found.append_column("step_start", start)
    return expectations.rows.Rows.of(found, settings)
