"""What a person sees of failed expectations: a table, or plain lines where nobody watches.

The keys in them hold names that come from clients: nothing of them reaches the terminal raw.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from spark_jobs.cli.terminal import Heading, show_rows, stacked, table
from spark_jobs.domain.model.intervals import format_utc

#: A result of an expectation that failed in a step, as its row of `quality_results`.
Failure = Mapping[str, Any]

_STYLES = {"critical": "bold red", "warning": "yellow"}


_HEADINGS = tuple(
    Heading(text, fold=True)
    for text in ("", "expectation\ntable", "first step\nfailed steps", "observed", "for example")
)


def show_failures(console: Console, failures: Sequence[Failure], checked: int) -> None:
    """Which expectations failed, of so many checked, critical ones first: each with its first step, what was seen
    there, and a key; one line each where the console is no terminal.
    """
    by_name: dict[tuple[str, ...], list[Failure]] = {}
    for one in sorted(failures, key=lambda f: (f["severity"], f["table_name"], f["expectation"], f["step_start"])):
        by_name.setdefault((one["table_name"], one["expectation"], one["column_name"] or ""), []).append(one)
    told = f"{len(by_name)} failed" if by_name else "all hold"
    summary = f"{checked} expectations × steps checked: {told}."
    show_rows(console, list(by_name.values()), _table, _line, summary)


def _table(failures: Sequence[Sequence[Failure]]) -> Table:
    return table("Failed expectations", _HEADINGS, map(_cells, failures), ruled=True)


def _cells(of_one: Sequence[Failure]) -> Iterable[Text | str]:
    first = of_one[0]
    yield Text(first["severity"], _STYLES[first["severity"]])
    yield stacked(_expectation(first), first["table_name"])
    yield stacked(format_utc(first["step_start"]), str(len(of_one)))
    yield _observed(first)
    yield next(iter(first["examples"]), "")


def _line(of_one: Sequence[Failure]) -> str:
    first = of_one[0]
    parts = (
        first["severity"],
        _expectation(first),
        f"table={first['table_name']}",
        f"steps={len(of_one)}",
        f"first={format_utc(first['step_start'])}",
        f"observed={_observed(first)}",
        *(f"example={key}" for key in first["examples"][:1]),
    )
    return " ".join(parts)


def _expectation(failure: Failure) -> str:
    column = f"({failure['column_name']})" if failure["column_name"] else ""
    return f"{failure['expectation']}{column}"


def _observed(failure: Failure) -> str:
    rows = failure["unexpected_count"]
    return f"{failure['observed_value']:g}" if rows is None else f"{rows} rows ({failure['unexpected_percent']:.2g} %)"
