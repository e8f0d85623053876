"""Choices from random bytes: as wild as `random`, cheap to draw, and Hypothesis shrinks every byte towards 0."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


class Choices:
    """One byte per choice; where the bytes are all used, and where one is 0, the first option."""

    def __init__(self, data: bytes) -> None:
        self._data, self._used = data, 0

    def part(self, size: int) -> Choices:
        """The next bytes apart, so that what is chosen there and what after it do not depend on each other."""
        self._used += size
        return Choices(self._data[self._used - size : self._used])

    def below(self, count: int) -> int:
        """A number from 0 on; `count` is at most 256."""
        self._used += 1
        return self._data[self._used - 1] % count if self._used <= len(self._data) else 0

    def of(self, options: Sequence[T]) -> T:
        """One of them; what is named twice comes twice as often."""
        return options[self.below(len(options))]

    def many(self, draw: Callable[[], T], counts: Sequence[int]) -> list[T]:
        """As many as one of the counts says."""
        return [draw() for _ in range(self.of(counts))]


def choices(size: int) -> st.SearchStrategy[Choices]:
    """So many choices, in one draw: of several like ones, Hypothesis would take the same bytes again and again."""
    return st.binary(min_size=size, max_size=size).map(Choices)
