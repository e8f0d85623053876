"""What lasts from a start to an end, in microseconds: what leaves no gap, and what shares a time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, TypeVar


class _Lasting(Protocol):
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


Lasting = TypeVar("Lasting", bound=_Lasting)


def islands(in_order: Iterable[Lasting]) -> Iterator[list[Lasting]]:
    """The maximal runs of what covers a time without a gap; `in_order`: by start."""
    island: list[Lasting] = []
    covered_until = 0
    for each in in_order:
        if island and each.start > covered_until:
            yield island
            island = []
        covered_until = max(covered_until, each.end) if island else each.end
        island.append(each)
    if island:
        yield island


def overlaps(start: int, end: int, in_order: Sequence[Lasting]) -> Iterator[tuple[Lasting, int, int]]:
    """Each that shares a time with `[start, end)`, with the start and end of that; `in_order`: one after the other."""
    place = bisect_right(in_order, start, key=lambda each: each.end)
    while place < len(in_order) and in_order[place].start < end:
        each, place = in_order[place], place + 1
        yield each, max(start, each.start), min(end, each.end)
