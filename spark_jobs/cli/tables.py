"""Tables: one style on a terminal, plain lines where nobody watches.

Names come from clients and may hold anything: a cell that is a string is shown as it is, nothing in it steers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from rich.box import HORIZONTALS
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from spark_jobs.cli.terminal import print_line, printable

T = TypeVar("T")


class Heading(NamedTuple):
    """A column of a table. One that folds breaks its text anywhere, one that is fixed nowhere."""

    text: str
    right: bool = False
    fold: bool = False
    fixed: bool = False


def table(
    title: str, headings: Iterable[Heading], rows: Iterable[Iterable[Text | str]], *, ruled: bool = False
) -> Table:
    """The rows under their headings; `ruled` draws a line between any two."""
    drawn = Table(title=title, title_justify="left", box=HORIZONTALS, show_lines=ruled)
    drawn.pad_edge, drawn.padding = False, (0, 1, 0, 0)
    for text, right, fold, fixed in headings:
        justify, overflow = "right" if right else "left", "fold" if fold else "ellipsis"
        drawn.add_column(text, justify=justify, overflow=overflow, no_wrap=fixed)  # type: ignore[arg-type]
    for row in rows:
        drawn.add_row(*(cell if isinstance(cell, Text) else Text(printable(cell)) for cell in row))
    return drawn


def stacked(first: str, *below: str | None) -> Text:
    """A cell: the first line, and below it, dim, the others."""
    return Text.assemble(printable(first), *(("\n" + printable(text), "dim") for text in below if text))


def show_rows(
    console: Console,
    rows: Sequence[T],
    drawn: Callable[[Sequence[T]], RenderableType],
    line: Callable[[T], str],
    summary: str,
) -> None:
    """The rows drawn as a table, or one line each where the console is no terminal; below them the summary."""
    if rows and console.is_terminal:
        console.print(drawn(rows))
    else:
        for row in rows:
            print_line(console, line(row))
    print_line(console, summary)
