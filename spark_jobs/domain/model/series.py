"""States of one thing with the times of the snapshots that showed them; of days back, each hour's first and last."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from operator import attrgetter
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.model.caching import cached_with_value
from spark_jobs.domain.model.window import HOUR, AuditSettings, StepWindow, Time

State = TypeVar("State")
Other = TypeVar("Other")


def coded(
    values: Iterable[State], key: Callable[[State], Hashable] = lambda value: value
) -> tuple[NDArray[np.int64], list[State]]:
    """A code per value, and the distinct values by code, in the order in which they come; one per `key`."""
    codes: dict[Hashable, int] = {}
    distinct: list[State] = []
    of_values = []
    for value in values:
        code = codes.setdefault(key(value), len(distinct))
        if code == len(distinct):
            distinct.append(value)
        of_values.append(code)
    return np.array(of_values, dtype=np.int64), distinct


class Span(NamedTuple, Generic[State]):
    """A maximal span `[start, end)` of one state, in microseconds; `seen_at`: the last snapshot that showed it."""

    start: int
    end: int
    seen_at: int
    state: State

    @property
    def time(self) -> Time:
        """When it lasts."""
        return self.start, self.end

    def showing(self, state: Other) -> Span[Other]:
        """The same time with another state."""
        return Span(self.start, self.end, self.seen_at, state)


_END = attrgetter("end")


@dataclass(frozen=True)
class Timed:
    """Snapshots of one thing in the order of time: `times` in microseconds, each once."""

    times: NDArray[np.int64]

    @cached_property
    def moments(self) -> list[int]:
        """The same times as Python's integers, among which a few are found faster than in an array."""
        moments: list[int] = self.times.tolist()
        return moments

    @cached_property
    def distances(self) -> NDArray[np.int64]:
        """Microseconds from each snapshot to the next one."""
        return np.diff(self.times)

    def inside(self, start: int, end: int) -> slice:
        """The snapshots in `[start, end)`."""
        return slice(bisect_left(self.moments, start), bisect_left(self.moments, end))

    def of_step(self, window: StepWindow, max_gap: int) -> slice:
        """The snapshots in a step, and those up to `max_gap` before."""
        return self.inside(window.start - max_gap, window.end)

    def any_inside(self, start: int, end: int) -> bool:
        """Return whether there is a snapshot in `[start, end)`."""
        place = bisect_left(self.moments, start)
        return place < len(self.moments) and self.moments[place] < end


@dataclass(frozen=True)
class Series(Timed, Generic[State]):
    """The snapshots of one key: `codes` are places in `states`; equal states have one code."""

    codes: NDArray[np.int64]
    states: Sequence[State]

    def spans(self, window: StepWindow, max_gap: int | None) -> list[Span[State]]:
        """The spans of a step's window, clipped to `[observed_from, end)`, by its snapshots alone, linear in their
        changes. A snapshot holds until the next one, at most for `max_gap` (None: until the step's end).
        """
        inside, (breaks, spans) = self.inside(window.read_from, window.end), self._spans(max_gap)
        if inside.start >= inside.stop:
            return []
        first_run, stop = bisect_right(breaks, inside.start) - 1, bisect_left(breaks, inside.stop)
        last, seen_at = spans[stop - 1], self.moments[inside.stop - 1]
        end = window.end if max_gap is None else min(seen_at + max_gap, window.end)
        start = max(self.moments[inside.start], window.observed_from)
        if first_run == stop - 1:  # as mostly
            return [Span(start, end, seen_at, last.state)] if start < end else []
        of_window = [*spans[first_run : stop - 1], Span(last.start, end, seen_at, last.state)]
        of_window = of_window[bisect_right(of_window, start, key=_END) :]
        if of_window and of_window[0].start < start:
            of_window[0] = Span(start, *of_window[0][1:])
        return of_window

    def at(self, rows: slice) -> list[State]:
        """The state of each of these snapshots."""
        return [self.states[code] for code in self.codes[rows].tolist()]

    def runs(self, start: int, end: int, max_gap: int | None = None) -> list[Span[State]]:
        """The spans of the snapshots in `[start, end)`: each begins with the first snapshot of its run."""
        return self.spans(StepWindow(start, start, start, end), max_gap)

    @cached_with_value
    def _spans(self, max_gap: int | None) -> tuple[list[int], list[Span[State]]]:
        """The first snapshot of each span of all snapshots, by its place, and these spans."""
        is_first = np.diff(self.codes, prepend=-1) != 0
        if max_gap is not None:
            is_first[1:] |= self.distances > max_gap
        firsts: list[int] = np.flatnonzero(is_first).tolist()
        spans = []
        for first, following in zip_longest(firsts, firsts[1:], fillvalue=len(self.times)):
            start, last = self.moments[first], self.moments[following - 1]
            until = last + 1 if following == len(self.times) else self.moments[following]
            end = until if max_gap is None else min(last + max_gap, until)
            spans.append(Span(start, end, last, self.states[self.codes[first]]))
        return firsts, spans


Times = NDArray[np.int64]


@dataclass(frozen=True)
class Sightings:
    """The hours in which one thing was seen, in order; of each the first and last time, microseconds since 1970."""

    first: Times
    last: Times

    @classmethod
    def of(cls, times: Times) -> Sightings:
        """From times at which it was seen, in any order: of each hour at least the first and the last one."""
        times = np.sort(times)
        hours = times // HOUR
        is_first = np.diff(hours, prepend=hours[:1] - 1) > 0
        is_last = np.diff(hours, append=hours[-1:] + 1) > 0
        return cls(times[is_first], times[is_last])

    def last_hour(self, start: int, end: int) -> int | None:
        """Start of the last hour with a sighting in `[start, end)`, or None. Later sightings in that hour do not count,
        so that the answer does not depend on when a step is audited. It is exact for times an hour apart or more.
        """
        started_before = int(self.first.searchsorted(end))
        if not started_before:
            return None
        first, last = int(self.first[started_before - 1]), int(self.last[started_before - 1])
        return first - first % HOUR if first >= start or start <= last < end else None


#: Of what was never seen.
NO_SIGHTINGS = Sightings(np.empty(0, np.int64), np.empty(0, np.int64))


def last_hour_before(seen: Sightings, window: StepWindow, settings: AuditSettings) -> int | None:
    """Start of the last hour in which it was seen before the step's window, but no longer ago than sightings count."""
    return seen.last_hour(window.start - settings.sightings, window.read_from)
