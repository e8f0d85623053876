"""What a person sees of failed expectations: a table, or plain lines where nobody watches.

The keys in them hold names that come from clients: nothing of them reaches the terminal raw.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from spark_jobs.cli.terminal import Column, show_table
from spark_jobs.domain.model.intervals import format_utc

#: A result of an expectation that failed in a step, as its row of `quality_results`.
Failure = Mapping[str, Any]

_STYLES = {"critical": "bold red", "warning": "yellow"}


def show_failures(console: Console, failures: Sequence[Failure], checked: int) -> None:
    """Which expectations failed, of so many checked, critical ones first: each with its first step, what was seen
    there, and a key.
    """
    per_expectation = defaultdict[tuple[str, ...], list[Failure]](list)
    for row in sorted(failures, key=lambda f: (f["severity"], f["table_name"], f["expectation"], f["step_start"])):
        per_expectation[row["table_name"], row["expectation"], row["column_name"] or ""].append(row)
    outcome = f"{len(per_expectation)} failed" if per_expectation else "all hold"
    summary = f"{checked} expectations × steps checked: {outcome}."
    show_table(console, "Failed expectations", _COLUMNS, [*per_expectation.values()], summary, ruled=True)


def _expectation(failures: Sequence[Failure]) -> tuple[str, str]:
    first = failures[0]
    column = f"({first['column_name']})" if first["column_name"] else ""
    return f"{first['expectation']}{column}", first["table_name"]


def _observed(failures: Sequence[Failure]) -> str:
    first, rows = failures[0], failures[0]["unexpected_count"]
    return f"{first['observed_value']:g}" if rows is None else f"{rows} rows ({first['unexpected_percent']:.2g} %)"


def _example(failures: Sequence[Failure]) -> str:
    return next(iter(failures[0]["examples"]), "")


def _severity(failures: Sequence[Failure]) -> Text:
    return Text(failures[0]["severity"], _STYLES[failures[0]["severity"]])


def _first_and_count(failures: Sequence[Failure]) -> tuple[str, str]:
    return format_utc(failures[0]["step_start"]), str(len(failures))


def _example_word(failures: Sequence[Failure]) -> str:
    return f"example={_example(failures)}" if failures[0]["examples"] else ""


#: Of the failures of one expectation, the first step first.
_COLUMNS: tuple[Column[Sequence[Failure]], ...] = (
    Column("", _severity, "{}", fold=True),
    Column("expectation\ntable", _expectation, "{} table={}", fold=True),
    Column("first step\nfailed steps", _first_and_count, "steps={1} first={0}", fold=True),
    Column("observed", _observed, "observed={}", fold=True),
    Column("for example", _example, _example_word, fold=True),
)
