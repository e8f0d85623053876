"""`python -m tests.support.sentences` reports words and long sentences of every page, the longest sentence first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_ROOT = Path(__file__).parents[2]
#: Words that a sentence may have (the style of the pages).
LONGEST = 25


class Sentence(NamedTuple):
    """One sentence of a page, and how many words it has."""

    words: int
    page: str
    text: str


def sentences(text: str) -> Iterator[str]:
    """The sentences of a page: of paragraphs, items and cells; code and headings are none."""
    prose = re.sub(r"^```.*?^```|^#.*?$|^\|[-|]+\|$|<!--.*?-->", "", text, flags=re.DOTALL | re.MULTILINE)
    for block in re.split(r"\n\s*\n|^\s*(?:[-*]|\d+\.) |\|", prose, flags=re.MULTILINE):
        yield from (part for part in re.split(r"(?<=[.!?:;]) +(?=\S)", " ".join(block.split())) if part)


def main() -> None:
    """Print the words of all pages, and the sentences with more than `LONGEST` words."""
    pages = {page: page.read_text(encoding="utf-8") for page in sorted((_ROOT / "docs").rglob("*.md"))}
    found = [
        Sentence(len(sentence.split()), str(page.relative_to(_ROOT)), sentence)
        for page, text in pages.items()
        for sentence in sentences(text)
    ]
    too_long = sorted((each for each in found if each.words > LONGEST), reverse=True)
    for each in too_long:
        print(f"{each.words:3} {each.page}: {each.text}")
    words = sum(len(text.split()) for text in pages.values())
    print(f"{words:,} words; {len(too_long):,} of {len(found):,} sentences have more than {LONGEST} words")


if __name__ == "__main__":
    main()
