"""What a person sees of maintained tables: a table, or plain lines where nobody watches."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from spark_jobs.cli.tables import Heading, show_rows, table
from spark_jobs.jobs.upgrade import Upgraded
from spark_jobs.jobs.upkeep import Maintained

_HEADINGS = (
    Heading("table", fold=True),
    *(Heading(text, right=True, fixed=True) for text in ("files", "MB", "version", "days kept")),
)


def show_maintained(console: Console, maintained: Sequence[Maintained]) -> None:
    """Files and MB before and after, and how long versions stay readable; one line per table where the console is no
    terminal.
    """
    show_rows(console, maintained, _table, _line, f"{len(maintained)} tables maintained; their constraints hold.")


def _table(maintained: Sequence[Maintained]) -> Table:
    return table("Maintained tables", _HEADINGS, ((one.table, *_cells(one)) for one in maintained))


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


def show_upgraded(console: Console, upgraded: Sequence[Upgraded]) -> None:
    """A line per change, or that there was none."""
    for one in upgraded:
        console.print(f"{one.table}: {one.change}", markup=False, highlight=False, soft_wrap=True)
    if not upgraded:
        console.print("All tables are up to date.", highlight=False)
