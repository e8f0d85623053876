"""What a person sees of failed expectations: a table, or plain lines where nobody watches.

The keys in them hold names that come from clients: nothing of them reaches the terminal raw.
"""

from __future__ import annotations

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
    failures_per_expectation: dict[tuple[str, ...], list[Failure]] = {}
    for row in sorted(failures, key=lambda f: (f["severity"], f["table_name"], f["expectation"], f["step_start"])):
        failures_per_expectation.setdefault(
            (row["table_name"], row["expectation"], row["column_name"] or ""), []
        ).append(row)
    outcome = f"{len(failures_per_expectation)} failed" if failures_per_expectation else "all hold"
    summary = f"{checked} expectations × steps checked: {outcome}."
    show_table(console, "Failed expectations", _COLUMNS, list(failures_per_expectation.values()), summary, ruled=True)


def _expectation(failure: Failure) -> str:
    column = f"({failure['column_name']})" if failure["column_name"] else ""
    return f"{failure['expectation']}{column}"


def _observed(failure: Failure) -> str:
    rows = failure["unexpected_count"]
    return f"{failure['observed_value']:g}" if rows is None else f"{rows} rows ({failure['unexpected_percent']:.2g} %)"


def _example(failure: Failure) -> str:
    return next(iter(failure["examples"]), "")


#: Of the failures of one expectation, the first step first.
_COLUMNS: tuple[Column[Sequence[Failure]], ...] = (
    Column("", lambda steps: Text(steps[0]["severity"], _STYLES[steps[0]["severity"]]), "{}", fold=True),
    Column(
        "expectation\ntable", lambda steps: (_expectation(steps[0]), steps[0]["table_name"]), "{} table={}", fold=True
    ),
    Column(
        "first step\nfailed steps",
        lambda steps: (format_utc(steps[0]["step_start"]), str(len(steps))),
        "steps={1} first={0}",
        fold=True,
    ),
    Column("observed", lambda steps: _observed(steps[0]), "observed={}", fold=True),
    Column(
        "for example",
        lambda steps: _example(steps[0]),
        lambda steps: f"example={_example(steps[0])}" if steps[0]["examples"] else "",
        fold=True,
    ),
)
