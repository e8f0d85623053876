"""Progress, tables, and text on terminals: of clients' names no control character and no markup gets there raw."""

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
from rich.console import Console, Group, RenderableType
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from spark_jobs.cli.folding import folded, longest_piece, longest_word
from spark_jobs.domain import phrases
from spark_jobs.domain.model.intervals import parse_utc
from spark_jobs.domain.model.severities import ERROR, INFO, WARN

_NAME = "rebalance-audit"
#: Of findings, failed expectations, and problems of source tables; others are dim.
SEVERITY_STYLES = {ERROR: "bold red", WARN: "yellow", INFO: "cyan", "critical": "bold red", "warning": "yellow"}
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{3})?)?Z")
#: Of the command that runs: the zone in which it shows times, and whether it shows no progress and no next command.
ZONE: ContextVar[tzinfo] = ContextVar("ZONE", default=UTC)
QUIET: ContextVar[bool] = ContextVar("QUIET", default=False)


def local(moment: datetime) -> datetime:
    """The moment in the zone in which times are shown."""
    return moment.astimezone(ZONE.get())


def zone_name() -> str:
    """Return what the zone in which times are shown is called."""
    return str(ZONE.get())


def printable(text: str) -> str:
    """The text with every character that could steer a terminal (or hide) as an escape, and its times in the zone."""
    inert = phrases.printable(text)
    return inert if ZONE.get() is UTC else _TIME.sub(_shown, inert)


def _shown(match: re.Match[str]) -> str:
    """Return the same moment in local time, with the same precision."""
    precision = {17: "minutes", 20: "seconds"}.get(len(match[0]), "milliseconds")
    return local(parse_utc(match[0])).isoformat(timespec=precision)


def print_line(console: Console, text: str) -> None:
    """The text as one line, as it is: no markup, no emoji codes, nothing that could steer a terminal."""
    console.print(Text(printable(text)), soft_wrap=True)


@contextmanager
def progress_on(console: Console | None = None) -> Iterator[Callable[[str], None]]:
    """A function that shows on the console (default: stderr) what is being done: a timed spinner, or a line each.

    A message that it has shown is not shown again.
    """
    console = console or Console(stderr=True)
    if QUIET.get():
        yield lambda _: None
        return
    if not console.is_terminal:
        yield _once(lambda message: print_line(console, message))
        return
    columns = (SpinnerColumn(finished_text="✓"), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=console) as display:

        def done() -> None:
            for task in display.task_ids:
                display.update(task, total=1, completed=1)

        def say(message: str) -> None:
            done()
            display.add_task(printable(message), total=None)

        yield _once(say)
        done()


def _once(say: Callable[[str], None]) -> Callable[[str], None]:
    shown = set[str]()

    def say_once(message: str) -> None:
        if message not in shown:
            shown.add(message)
            say(message)

    return say_once


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
    if QUIET.get():
        return
    given = {"warehouse": warehouse, **options}
    words = "".join(f" --{name}{_joined(value)}" for name, value in given.items() if value)
    print(f"Next: {own_command()} {command}{printable(words)}", file=sys.stderr)


def _joined(value: str) -> str:
    """The value after its option; one that begins like an option must not be taken for one."""
    return f"{'=' if value.startswith('-') else ' '}{shlex.quote(value)}"


T = TypeVar("T")
#: Characters between columns, that suffice of a text before it is folded, and of the longest part of a name.
_SPACE, _ENOUGH, _MOST = 2, 24, 48


@dataclass(frozen=True)
class Column(Generic[T]):
    """One thing about each row: a cell below the heading, or a word of a plain line.

    Texts of a cell stand one below the other. `word` has {} for each of them, or makes the row's word; empty words
    are left out. Text breaks between words; `fold` breaks it at punctuation too, `fixed` never, and `cut` ends it with
    its line. A narrow terminal leaves out the columns with the greatest `drop` first; 0 always stays.
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

    def room(self, rows: Iterable[T]) -> tuple[int, int, int]:
        """The characters that it needs, those that are enough alongside others, and those of its longest line."""
        texts = [self.heading, *(self.drawn(row).plain for row in rows)]
        longest = max(cell_len(line) for text in texts for line in text.split("\n"))
        enough = min(longest, _ENOUGH) if self.fold or self.cut else longest
        if self.fixed or self.cut:
            return enough, enough, longest
        needed = min(max(map(longest_piece if self.fold else longest_word, texts)), _MOST)
        return needed, max(needed, enough), longest

    def worded(self, row: T) -> str:
        """The word of the plain line."""
        if not isinstance(self.word, str):
            return self.word(row)
        cell = self.cell(row)
        return self.word.format(*cell) if isinstance(cell, tuple) else self.word.format(cell)


def measure(
    heading: str, name: str, cell: Callable[[T], Text | str], *, fixed: bool = False, drop: int = 0
) -> Column[T]:
    """A number that is said of each row: at the right of its cell, and as `name=` in a plain line."""
    return Column(heading, cell, f"{name}={{}}", right=True, fixed=fixed, drop=drop)


def fitting(columns: Iterable[Column[T]], rows: Sequence[T], width: int) -> dict[Column[T], int]:
    """The columns that a terminal of this width has room for, each with its characters."""
    rooms = {column: column.room(rows) for column in columns}

    def left(place: int) -> int:
        return width - sum(room[place] + _SPACE for room in rooms.values())

    while left(1) < 0 and (last := max(rooms, key=lambda column: column.drop)).drop:
        del rooms[last]
    least, rest = (1, left(1)) if left(1) >= 0 else (0, left(0))
    widths = {column: room[least] for column, room in rooms.items()}
    for _ in range(rest):  # each character goes where most are missing
        narrowest = max(rooms, key=lambda column: rooms[column][-1] - widths[column])
        widths[narrowest] += widths[narrowest] < rooms[narrowest][-1]
    for _ in range(rest, 0):
        widths[max(widths, key=lambda column: widths[column])] -= 1
    return widths


def table(
    title: str, columns: Iterable[Column[T]], rows: Sequence[T], width: int, *, ruled: bool = False
) -> RenderableType:
    """The rows under the headings of the columns that have room; `ruled` draws a line between any two."""
    drawn = Table(box=HORIZONTALS, show_lines=ruled, pad_edge=False, padding=(0, 1, 0, 0))
    widths = fitting(columns, rows, width)
    for column, room in widths.items():
        justify, overflow = "right" if column.right else "left", "ellipsis" if column.cut else "fold"
        heading = folded(Text(column.heading), room)
        drawn.add_column(heading, justify=justify, overflow=overflow, width=room)  # type: ignore[arg-type]
    for row in rows:
        cells = ((column, column.drawn(row)) for column in widths)
        drawn.add_row(*(cell if column.cut else folded(cell, widths[column]) for column, cell in cells))
    return Group(Text(title, style="table.title"), drawn)


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
        lambda: table(title, columns, rows, console.width, ruled=ruled),
        lambda row: " ".join(filter(None, (column.worded(row) for column in columns))),
        summary,
    )


def show_rows(
    console: Console, rows: Sequence[T], drawn: Callable[[], RenderableType], line: Callable[[T], str], summary: str
) -> None:
    """Show rows as `show_table` does, drawn or worded otherwise."""
    if rows and console.is_terminal:
        console.print(drawn())
    else:
        for row in rows:
            print_line(console, line(row))
    print_line(console, summary)
