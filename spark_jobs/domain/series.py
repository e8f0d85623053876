"""What was seen of one thing, and when: states with the times of the snapshots that showed them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.window import StepWindow

State = TypeVar("State")


class Span(NamedTuple, Generic[State]):
    """A maximal span `[start, end)` of one state, in microseconds; `seen_at`: the last snapshot that showed it."""

    start: int
    end: int
    seen_at: int
    state: State


@dataclass(frozen=True)
class Series(Generic[State]):
    """The snapshots of one key in the order of time: `times` (microseconds, each once), and `codes`, the place in
    `states` of what each of them showed. Equal states have one code.
    """

    times: NDArray[np.int64]
    codes: NDArray[np.int64]
    states: Sequence[State]

    def inside(self, start: int, end: int) -> slice:
        """The snapshots in `[start, end)`."""
        return slice(*self.times.searchsorted((start, end)).tolist())

    def spans(self, window: StepWindow, max_gap: int | None) -> list[Span[State]]:
        """The spans of a step's window, clipped to `[observed_from, end)`, by the snapshots of the window alone.

        A snapshot holds until the next one, but no longer than `max_gap` (None: until the step's end). Linear in the
        changes inside the window, whatever the number of its snapshots.
        """
        seen = self.inside(window.read_from, window.end)
        if seen.start == seen.stop:
            return []
        firsts = self._first_places(seen, max_gap)
        spans = []
        for place, following in zip(firsts, [*firsts[1:], seen.stop], strict=True):
            seen_at = int(self.times[following - 1])
            end = window.end if max_gap is None else min(seen_at + max_gap, window.end)
            if following < seen.stop:
                end = min(end, int(self.times[following]))
            start = max(int(self.times[place]), window.observed_from)
            if start < end:
                spans.append(Span(start, end, seen_at, self.states[self.codes[place]]))
        return spans

    def _first_places(self, seen: slice, max_gap: int | None) -> list[int]:
        """Places of the snapshots inside that begin a span."""
        breaks = self._breaks(max_gap)
        return [seen.start, *breaks[bisect_right(breaks, seen.start) : bisect_left(breaks, seen.stop)]]

    def _breaks(self, max_gap: int | None) -> list[int]:
        """Places of the snapshots that show another state than the one before, or are behind a gap; kept, as every step
        of a run asks for the same.
        """
        known: dict[int | None, list[int]] = self.__dict__.setdefault("_breaks_of", {})
        if max_gap not in known:
            is_break = np.diff(self.codes) != 0
            if max_gap is not None:
                is_break |= np.diff(self.times) > max_gap
            known[max_gap] = (np.flatnonzero(is_break) + 1).tolist()
        return known[max_gap]
