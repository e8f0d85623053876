"""What a person sees while a command works, and how text reaches a terminal.

Names come from clients and may hold anything: no control character, and no markup, reaches the terminal raw.
"""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Generic, TypeVar

from rich.box import HORIZONTALS
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from spark_jobs.domain import phrases
from spark_jobs.domain.model.intervals import parse_utc
from spark_jobs.domain.model.severities import ERROR, INFO, WARN

_NAME = "rebalance-audit"
SEVERITY_STYLES: dict[str, str] = {ERROR: "bold red", WARN: "yellow", INFO: "cyan"}
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{3})?)?Z")
#: The zone in which times are shown, of the command that runs.
_zone: ContextVar[tzinfo] = ContextVar("_zone", default=UTC)


#: Whether the command that runs shows no progress.
_quiet: ContextVar[bool] = ContextVar("_quiet", default=False)


def be_quiet() -> None:
    """From now on, this command shows neither progress nor the next command."""
    _quiet.set(True)


def is_quiet() -> bool:
    """Whether the command that runs shows no progress."""
    return _quiet.get()


def show_times_in(zone: tzinfo) -> None:
    """From now on, this command shows times in this zone."""
    _zone.set(zone)


def local(moment: datetime) -> datetime:
    """The moment in the zone in which times are shown."""
    return moment.astimezone(_zone.get())


def zone_name() -> str:
    """What the zone in which times are shown is called."""
    return str(_zone.get())


def printable(text: str) -> str:
    """The text with every character that could steer a terminal (or hide) as an escape, and its times in the zone."""
    inert = phrases.printable(text)
    return inert if _zone.get() is UTC else _TIME.sub(_shown, inert)


def _shown(match: re.Match[str]) -> str:
    """The same moment, as exactly as it was told."""
    precision = {17: "minutes", 20: "seconds"}.get(len(match[0]), "milliseconds")
    return local(parse_utc(match[0])).isoformat(timespec=precision)


def print_line(console: Console, text: str) -> None:
    """The text as one line, as it is: no markup, no emoji codes, nothing that could steer a terminal."""
    console.print(Text(printable(text)), soft_wrap=True)


@contextmanager
def progress_on(console: Console | None = None) -> Iterator[Callable[[str], None]]:
    """A function that says on the console, stderr by default, what is being done: a spinner with its time on a
    terminal, else one line each.
    """
    console = console or Console(stderr=True)
    if is_quiet():
        yield lambda _: None
        return
    if not console.is_terminal:
        yield lambda message: print_line(console, message)
        return
    columns = (
        SpinnerColumn(finished_text="✓"),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as display:

        def done() -> None:
            for task in display.task_ids:
                display.update(task, total=1, completed=1)

        def say(message: str) -> None:
            done()
            display.add_task(printable(message), total=None)

        yield say
        done()


def own_command() -> str:
    """How this command is called here, as one would type it: by its name only where the shell finds it by that."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py" and called.parent == Path(__file__).parent:
        return f"{shlex.quote(from_here(Path(sys.executable)))} -m {__package__}"
    installed = shutil.which(_NAME)
    if called.name != _NAME or (installed and called.exists() and called.samefile(installed)):
        return _NAME
    return shlex.quote(from_here(called))


def from_here(path: Path) -> str:
    """The path as one would type it in the working directory."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def print_to_stderr(message: str) -> None:
    """Says on stderr, in one line, what a person should know who pipes on the answer."""
    print(f"{_NAME}: {printable(message)}", file=sys.stderr)


def show_next(command: str, warehouse: str, **options: str | None) -> None:
    """The command to type next, ready to be copied, on stderr: what is piped on is the answer alone."""
    if is_quiet():
        return
    given = {"warehouse": warehouse, **options}
    words = "".join(f" --{name}{_joined(value)}" for name, value in given.items() if value)
    print(f"Next: {own_command()} {command}{printable(words)}", file=sys.stderr)


def _joined(value: str) -> str:
    """The value after its option; one that begins like an option must not be taken for one."""
    return f"{'=' if value.startswith('-') else ' '}{shlex.quote(value)}"


T = TypeVar("T")
#: Characters between two columns; of a name or a sentence, so many are enough before the rest goes below or away.
_SPACE, _ENOUGH = 2, 24


@dataclass(frozen=True)
class Column(Generic[T]):
    """One thing that is said of each row: in a table a cell below the heading, in a plain line a word.

    The texts of a cell stand one below the other. `word` has {} where each of them comes, or makes the word of the row;
    an empty word is left out. Text that folds is broken anywhere, text that is fixed nowhere, and text that is cut ends
    with its line. A terminal that is too narrow for all columns leaves out those with the greatest `drop` first; one
    with 0 always stays.
    """

    heading: str
    cell: Callable[[T], Text | str | tuple[str | None, ...]]
    word: str | Callable[[T], str] = ""
    right: bool = False
    fold: bool = False
    fixed: bool = False
    cut: bool = False
    drop: int = 0

    def drawn(self, row: T) -> Text:
        """The cell; all but the first of its texts are dim, and none is there for null."""
        cell = self.cell(row)
        if isinstance(cell, Text):
            return cell
        if isinstance(cell, str):
            return Text(printable(cell), no_wrap=self.cut or None)
        first, *below = cell
        return Text.assemble(printable(first or ""), *(("\n" + printable(text), "dim") for text in below if text))

    def width(self, rows: Iterable[T]) -> int:
        """The characters that it takes beside others: those of its longest line, but of text that folds or is cut no
        more than `_ENOUGH`.
        """
        texts = (self.heading, *(self.drawn(row).plain for row in rows))
        longest = max(cell_len(line) for text in texts for line in text.split("\n"))
        return _SPACE + (min(longest, _ENOUGH) if self.fold or self.cut else longest)

    def worded(self, row: T) -> str:
        """The word of the plain line."""
        if not isinstance(self.word, str):
            return self.word(row)
        cell = self.cell(row)
        return self.word.format(*cell) if isinstance(cell, tuple) else self.word.format(cell)


def measure(heading: str, name: str, cell: Callable[[T], Text | str], *, fixed: bool = False) -> Column[T]:
    """A number that is said of each row: at the right of its cell, and as `name=` in a plain line."""
    return Column(heading, cell, f"{name}={{}}", right=True, fixed=fixed)


def fitting(columns: Iterable[Column[T]], rows: Sequence[T], width: int) -> list[Column[T]]:
    """The columns that a terminal of this width has room for."""
    shown = {column: column.width(rows) for column in columns}
    while sum(shown.values()) > width and (last := max(shown, key=lambda column: column.drop)).drop:
        del shown[last]
    return list(shown)


def table(title: str, columns: Iterable[Column[T]], rows: Iterable[T], *, ruled: bool = False) -> Table:
    """The rows under the headings of the columns; `ruled` draws a line between any two."""
    drawn = Table(title=title, title_justify="left", box=HORIZONTALS, show_lines=ruled)
    drawn.pad_edge, drawn.padding = False, (0, 1, 0, 0)
    columns = list(columns)
    for column in columns:
        justify, overflow = "right" if column.right else "left", "fold" if column.fold else "ellipsis"
        drawn.add_column(column.heading, justify=justify, overflow=overflow, no_wrap=column.fixed)  # type: ignore[arg-type]
    for row in rows:
        drawn.add_row(*(column.drawn(row) for column in columns))
    return drawn


def severity_text(severity: str | None) -> Text:
    """A cell; `-` where there is none."""
    return Text(severity or "-", SEVERITY_STYLES.get(severity or "", "dim"))


def known(text: str) -> Text:
    """A cell that is dim where its text says that it is unknown."""
    return Text(text, style="dim" if text == phrases.UNKNOWN else "")


def show_table(
    console: Console, title: str, columns: Sequence[Column[T]], rows: Sequence[T], summary: str, *, ruled: bool = False
) -> None:
    """The rows as a table, or one plain line each where the console is no terminal; below them the summary."""
    show_rows(
        console,
        rows,
        lambda: table(title, fitting(columns, rows, console.width), rows, ruled=ruled),
        lambda row: " ".join(filter(None, (column.worded(row) for column in columns))),
        summary,
    )


def show_rows(
    console: Console, rows: Sequence[T], drawn: Callable[[], RenderableType], line: Callable[[T], str], summary: str
) -> None:
    """As `show_table`, of what is drawn or said otherwise."""
    if rows and console.is_terminal:
        console.print(drawn())
    else:
        for row in rows:
            print_line(console, line(row))
    print_line(console, summary)
