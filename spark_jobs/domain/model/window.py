"""The time that an audit step looks at (microseconds since 1970, UTC), and arithmetic of half-open times."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

from spark_jobs.domain.model.intervals import EPOCH, format_utc
from spark_jobs.domain.model.silences import Silence
from spark_jobs.domain.model.thresholds import Thresholds

Time = tuple[int, int]


def offline_times(without_members: Iterable[Time], with_members: Iterable[Time]) -> list[Time]:
    """The maximal times in which a broker lists no member, and none lists any: a sweep over their bounds."""
    changes: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for kind, times in enumerate((without_members, with_members)):
        for start, end in times:
            changes[start][kind] += 1
            changes[end][kind] -= 1
    offline: list[Time] = []
    offline_since, none, some = None, 0, 0
    for at in sorted(changes):
        none, some = none + changes[at][0], some + changes[at][1]
        is_offline = none > 0 and some == 0
        if is_offline and offline_since is None:
            offline_since = at
        elif not is_offline and offline_since is not None:
            offline.append((offline_since, at))
            offline_since = None
    return offline


def joined(times: Iterable[Time]) -> list[Time]:
    """The maximal times that are in any of them, in order: those that overlap or touch are one."""
    return offline_times(times, ())


def common(first: Time, second: Time) -> Time | None:
    """The time that both share; None: none."""
    start, end = max(first[0], second[0]), min(first[1], second[1])
    return (start, end) if start < end else None


def without(time: Time, parts: Iterable[Time]) -> Iterator[Time]:
    """The rest of a time without the parts, which are in order and do not overlap."""
    start, end = time
    for part in parts:
        if start < part[0]:
            yield start, min(part[0], end)
        start = max(start, part[1])
        if start >= end:
            return
    yield start, end


def covered(times: Iterable[Time]) -> int:
    """How long they are together, whatever they share."""
    return sum(end - start for start, end in joined(times))


class _Lasting(Protocol):
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


Lasting = TypeVar("Lasting", bound=_Lasting)


def islands(in_order: Iterable[Lasting], gap: int = 0) -> Iterator[list[Lasting]]:
    """The maximal runs of what covers a time without a longer `gap` (microseconds); `in_order`: by start."""
    island: list[Lasting] = []
    covered_until = 0
    for each in in_order:
        if island and each.start > covered_until + gap:
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


SECOND = 1_000_000
MILLISECOND = 1_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
#: For so many collection intervals a snapshot holds unless configured.
SNAPSHOT_HOLDS = 3
#: Snapshots are taken as often as configured, if the time between two is within these multiples of it: none of them is
#: the ratio of two intervals that people choose, so that no step is on the other side by a few milliseconds.
_LEAST, _GREATEST = 0.6, 1.4


def to_micros(moment: datetime) -> int:
    """A UTC time as microseconds since 1970."""
    return (moment - EPOCH) // timedelta(microseconds=1)


def from_micros(micros: int) -> datetime:
    """Microseconds since 1970 as a UTC time."""
    return EPOCH + timedelta(microseconds=micros)


def moment_text(moment: int) -> str:
    """A moment in microseconds, as `format_utc` writes it."""
    return format_utc(from_micros(moment))


def second_text(moment: int) -> str:
    """The full second of a moment in microseconds, as `format_utc` writes it."""
    return format_utc(from_micros(moment).replace(microsecond=0))


@dataclass(frozen=True)
class AuditSettings:
    """Settings of the kernel; lengths in microseconds.

    `step`: length of an audit step; `cadence`: time between two snapshots of the same thing; `max_gap`: how long a
    state holds without another snapshot; `thresholds` and `silences`: those of one group; `sightings`: for how long
    before a step it counts that a thing was seen.
    """

    step: int
    cadence: int
    max_gap: int
    thresholds: Thresholds
    silences: tuple[Silence, ...] = ()
    sightings: int = 0

    @property
    def warm_up(self) -> int:
        """How far before a step its states are replayed: for persistence, and for the verdict at its first sample."""
        samples = (self.thresholds.verdict_window_readings - 1) * self.cadence
        seconds = max(self.thresholds.persistent_after_seconds, self.thresholds.verdict_window_seconds)
        return max(seconds * SECOND, samples) + self.max_gap

    @property
    def look_back(self) -> int:
        """How far before a step snapshots are read: the warm-up, and the state that held when it began."""
        return self.warm_up + self.max_gap

    def is_about(self, cadence: float) -> bool:
        """Return whether snapshots so far apart are taken about as often as configured."""
        return _LEAST * self.cadence <= cadence <= _GREATEST * self.cadence

    def recorded_every(self, cadence: int) -> AuditSettings:
        """The same with another collection interval; a gap that is configured by itself stays."""
        follows = self.max_gap == SNAPSHOT_HOLDS * self.cadence
        return replace(self, cadence=cadence, max_gap=SNAPSHOT_HOLDS * cadence if follows else self.max_gap)

    def window(self, step_start: int) -> StepWindow:
        """The window of the step that begins then."""
        return StepWindow(step_start - self.look_back, step_start - self.warm_up, step_start, step_start + self.step)


@dataclass(frozen=True)
class StepWindow:
    """A step publishes `[start, end)`. Its states are replayed from `observed_from` on, and it reads the snapshots of
    `[read_from, end)`; of those before it knows sightings only (`series.Sightings`).
    """

    read_from: int
    observed_from: int
    start: int
    end: int
