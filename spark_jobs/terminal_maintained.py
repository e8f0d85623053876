"""What a person sees of maintained tables: a table, or plain lines where nobody watches."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from spark_jobs.jobs.maintain import Maintained
from spark_jobs.terminal import print_line, titled_table


def show_maintained(console: Console, maintained: Sequence[Maintained]) -> None:
    """Files and MB before and after, and how long versions stay readable; one line per table where the console is no
    terminal.
    """
    if maintained and console.is_terminal:
        console.print(_table(maintained))
    else:
        for one in maintained:
            print_line(console, _line(one))
    console.print(f"{len(maintained)} tables maintained; their constraints hold.", soft_wrap=True, highlight=False)


def _table(maintained: Sequence[Maintained]) -> Table:
    table = titled_table("Maintained tables")
    table.add_column("table", overflow="fold")
    for heading in ("files", "MB", "version", "days kept"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in maintained:
        table.add_row(one.table, *_cells(one))
    return table


def _line(one: Maintained) -> str:
    files, megabytes, versions, days = _cells(one)
    return f"{one.table} files={files} MB={megabytes} version={versions} days_kept={days}"


def _cells(one: Maintained) -> tuple[str, str, str, str]:
    return (
        f"{one.files_before}→{one.files_after}",
        f"{one.bytes_before / 1e6:.1f}→{one.bytes_after / 1e6:.1f}",
        f"{one.version_before}→{one.version_after}",
        str(one.retention_days),
    )
