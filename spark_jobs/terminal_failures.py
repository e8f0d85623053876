"""What a person sees of failed expectations: a table, or plain lines where nobody watches.

The keys in them hold names that come from clients: nothing of them reaches the terminal raw.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from spark_jobs.domain.intervals import format_utc
from spark_jobs.terminal import print_line, printable, stacked, titled_table

#: A result of an expectation that failed in a step, as its row of `quality_results`.
Failure = Mapping[str, Any]

_STYLES = {"critical": "bold red", "warning": "yellow"}


def show_failures(console: Console, failures: Sequence[Failure], looked_at: int) -> None:
    """Which expectations failed, of so many looked at, critical ones first: each with its first step, what was seen
    there, and a key; one line each where the console is no terminal.
    """
    by_name: dict[tuple[str, ...], list[Failure]] = {}
    for one in sorted(failures, key=lambda f: (f["severity"], f["table_name"], f["expectation"], f["step_start"])):
        by_name.setdefault((one["table_name"], one["expectation"], one["column_name"] or ""), []).append(one)
    if by_name and console.is_terminal:
        console.print(_table(by_name.values()))
    else:
        for of_one in by_name.values():
            print_line(console, _line(of_one))
    told = f"{len(by_name)} failed" if by_name else "all hold"
    console.print(f"{looked_at} expectations × steps looked at: {told}.", soft_wrap=True, highlight=False)


def _table(failures: Iterable[Sequence[Failure]]) -> Table:
    table = titled_table("Failed expectations", show_lines=True)
    for heading in ("", "expectation\ntable", "first step\nfailed steps", "observed", "for example"):
        table.add_column(heading, overflow="fold")
    for of_one in failures:
        first = of_one[0]
        table.add_row(
            Text(first["severity"], _STYLES[first["severity"]]),
            stacked(_expectation(first), first["table_name"]),
            stacked(format_utc(first["step_start"]), str(len(of_one))),
            Text(_observed(first)),
            Text(printable(next(iter(first["examples"]), ""))),
        )
    return table


def _line(of_one: Sequence[Failure]) -> str:
    first = of_one[0]
    words = (
        first["severity"],
        _expectation(first),
        f"table={first['table_name']}",
        f"steps={len(of_one)}",
        f"first={format_utc(first['step_start'])}",
        f"observed={_observed(first)}",
        *(f"example={key}" for key in first["examples"][:1]),
    )
    return " ".join(words)


def _expectation(failure: Failure) -> str:
    column = f"({failure['column_name']})" if failure["column_name"] else ""
    return f"{failure['expectation']}{column}"


def _observed(failure: Failure) -> str:
    rows = failure["unexpected_count"]
    return f"{failure['observed_value']:g}" if rows is None else f"{rows} rows ({failure['unexpected_percent']:.2g} %)"
