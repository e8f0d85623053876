"""Tables for people: columns that fit the terminal, or plain lines where there is none.

A word is not broken, and a name that is longer than its column at punctuation only.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Generic, TypeVar

from rich.box import HORIZONTALS
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from spark_jobs.cli.terminal import SEVERITY_STYLES, print_line, printable
from spark_jobs.domain.phrases import UNKNOWN
from spark_jobs.show.language import word

T = TypeVar("T")
#: Characters between columns, and of the longest part of a name.
_SPACE, _MOST = 2, 48
#: Where text may be broken, the best first: between words, and wide characters; behind a slash; behind other
#: punctuation of names. No line begins with a closing sign.
_WIDE = "⺀-〿㐀-鿿！-｠"
_PIECES = (
    rf"（?(?:[{_WIDE}]|[^\s{_WIDE}]+)[、。，；：？！）]*\s*|\s+",
    r"[^/]*/+|[^/]+",
    r".+?(?:[-_:@#;=+&|%]+|,+(?!\d)|$)",
)


@dataclass(frozen=True)
class Column(Generic[T]):
    """One thing about each row: a cell below the heading, or a word of a plain line.

    Texts of a cell stand one below the other. `word` has {} for each of them, or makes the row's word; empty words
    are left out. Text breaks between words; `fixed` never, `fold` at punctuation too, if there is no room for more
    than `enough` characters. A narrow terminal leaves out the columns with the greatest `drop` first; 0 always stays.
    """

    heading: str
    cell: Callable[[T], Text | str | tuple[str | None, ...]]
    word: str | Callable[[T], str] = ""
    right: bool = False
    fold: bool = False
    fixed: bool = False
    enough: int = 24
    drop: int = 0

    def drawn(self, row: T) -> Text:
        """The cell; all but the first of its texts are dim, and none is there for null."""
        cell = self.cell(row)
        if isinstance(cell, Text):
            return cell
        if isinstance(cell, str):
            return Text(printable(cell))
        first, *below = cell
        return Text.assemble(printable(first or ""), *(("\n" + printable(text), "dim") for text in below if text))

    def room(self, rows: Iterable[T]) -> tuple[int, int, int]:
        """The characters that it needs, those that are enough alongside others, and those of its longest line."""
        texts = [word(self.heading), *(self.drawn(row).plain for row in rows)]
        longest = max(cell_len(line) for text in texts for line in text.split("\n"))
        enough = min(longest, self.enough) if self.fold else longest
        if self.fixed:
            return enough, enough, longest
        patterns = _PIECES if self.fold else _PIECES[:1]
        needed = min(max(_longest_piece(text, patterns) for text in texts), _MOST)
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
        heading = folded(Text(word(column.heading)), room)
        drawn.add_column(heading, justify="right" if column.right else "left", overflow="fold", width=room)
    for row in rows:
        drawn.add_row(*(folded(column.drawn(row), room) for column, room in widths.items()))
    return Group(Text(word(title), style="table.title"), drawn)


def severity_text(severity: str | None) -> Text:
    """A cell; `-` where there is none."""
    return Text(severity or "-", SEVERITY_STYLES.get(severity or "", "dim"))


def known(text: str) -> Text:
    """A cell that is dim where its text says that it is unknown."""
    return Text(word(text), style="dim" if text == UNKNOWN else "")


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


def _longest_piece(text: str, patterns: Sequence[str]) -> int:
    """The characters of the longest part that is not broken."""
    pieces = (piece for line in text.split("\n") for piece in _pieces(line, 0, patterns))
    return max(cell_len(piece.rstrip()) for piece in pieces)


def _pieces(text: str, width: int, patterns: Sequence[str]) -> Iterator[str]:
    """The parts of the text between which it may be broken, the largest that are no wider, if there are such."""
    if cell_len(text.rstrip()) <= width or not patterns:
        yield text
    else:
        for piece in re.findall(patterns[0], text):
            yield from _pieces(piece, width, patterns[1:])


def folded(text: Text, width: int) -> Text:
    """The text in lines of so many characters."""
    lines = [part for line in text.split("\n", allow_blank=True) for part in line.divide(_breaks(line.plain, width))]
    for line in lines:
        line.rstrip()
    return Text("\n").join(lines)


def _breaks(line: str, width: int) -> list[int]:
    """The offsets at which a line is broken."""
    pieces = [*_pieces(line, width, _PIECES)]
    breaks, begun = list[int](), 0
    for start, piece in zip(accumulate(map(len, pieces), initial=0), pieces, strict=False):
        if start > begun and cell_len(line[begun:start] + piece.rstrip()) > width:
            breaks.append(start)
            begun = start
    return breaks
