"""Lines of cells: a word is not broken, and a name that is longer than its column at punctuation only."""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate

from rich.cells import cell_len
from rich.text import Text

#: Where text may be broken, the best first: between words, behind a slash, behind other punctuation of names.
_PIECES = (r"\S+\s*|\s+", r"[^/]*/+|[^/]+", r".+?(?:[-_:@#;=+&|%]+|,+(?!\d)|$)")


def longest_piece(text: str) -> int:
    """The characters of the longest part of a name that is not broken."""
    return _longest(piece for line in text.split("\n") for piece in _pieces(line, 0, _PIECES))


def longest_word(text: str) -> int:
    """The characters of the longest word."""
    return _longest(text.split())


def _longest(pieces: Iterator[str] | Sequence[str]) -> int:
    return max((cell_len(piece.rstrip()) for piece in pieces), default=0)


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
    return Text("\n", no_wrap=text.no_wrap).join(lines)


def _breaks(line: str, width: int) -> list[int]:
    """The offsets at which a line is broken."""
    pieces = [*_pieces(line, width, _PIECES)]
    breaks, begun = list[int](), 0
    for start, piece in zip(accumulate(map(len, pieces), initial=0), pieces, strict=False):
        if start > begun and cell_len(line[begun:start] + piece.rstrip()) > width:
            breaks.append(start)
            begun = start
    return breaks
