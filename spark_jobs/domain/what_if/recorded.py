"""What was recorded of a group's ordinary topics: who owned the queues when, and every queue's messages over time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.kernel.audited_step import Allocation, AuditedStep, RebalanceInterval
from spark_jobs.domain.kernel.progress import without_overlaps
from spark_jobs.domain.model.history import UNKNOWN, OffsetReadings, Place
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.status.throughput import Throughput, throughputs

Messages = NDArray[np.float64]
Times = NDArray[np.int64]


Value = TypeVar("Value")


class ReplayedSpan(NamedTuple):
    """A replayed interval, and the part `[start, end)` of its time in which no other view counts; microseconds."""

    start: int
    end: int
    interval: RebalanceInterval
    allocation: Allocation


@dataclass(frozen=True)
class BacklogCourse:
    """Every queue's messages at each of the `times` (microseconds): matrices of times × queues.

    `produced`: messages since the first reading, and those that an operator's reset of the offset brought back;
    `consumed`: those by which the consumer offset went forward; `waiting`: the lag. Between two readings they are
    interpolated. `known`: from the time before to this one its topic was replayed, and the queue lies between two
    readings with a known lag that are no further apart than `max_gap`; the other numbers mean something only there.
    """

    times: Times
    queues: Sequence[MessageQueue]
    produced: Messages
    consumed: Messages
    waiting: Messages
    known: NDArray[np.bool_]

    @cached_property
    def columns(self) -> Mapping[MessageQueue, int]:
        """Column of each queue."""
        return {queue: column for column, queue in enumerate(self.queues)}

    def by_column(self, topic: str, queues: Sequence[Place], values: Sequence[Value]) -> Iterator[tuple[int, Value]]:
        """(column, value) of each queue of the topic that was recorded; one value per queue."""
        for place, value in zip(queues, values, strict=True):
            column = self.columns.get(MessageQueue(topic, *place))
            if column is not None:
                yield column, value

    def rates(self, messages: Messages) -> Messages:
        """Per queue `messages` (one of the matrices) a second, over the time in which it is known; NaN: it never is."""
        known = self.known[1:]
        seconds = np.where(known, np.diff(self.times)[:, None], 0).sum(axis=0) / SECOND
        grown = np.where(known, np.diff(messages, axis=0), 0).sum(axis=0)
        return np.asarray(np.divide(grown, seconds, out=np.full(len(seconds), np.nan), where=seconds > 0))

    @property
    def total(self) -> Messages:
        """Messages that waited at each time, in the queues that are known then; NaN where none is."""
        return np.where(self.known.any(axis=1), np.where(self.known, self.waiting, 0).sum(axis=1), np.nan)


_MATRICES = ("produced", "consumed", "waiting", "known")


@dataclass(frozen=True)
class Recorded:
    """What was recorded of one group. `replayed`: by topic, in order of time; time in which nothing was replayed is in
    none of them. `reported`: by client id, what it said of its throughput.
    """

    course: BacklogCourse
    replayed: Mapping[str, Sequence[ReplayedSpan]]
    max_gap: int
    allowed_lag: int
    reported: Mapping[str, Throughput]


def within(found: Recorded, start: int, end: int) -> Recorded | None:
    """What was recorded from `start` to `end` (microseconds); None where nothing was replayed then."""
    replayed: dict[str, list[ReplayedSpan]] = {}
    for topic, of_topic in found.replayed.items():
        cut = [one._replace(start=max(one.start, start), end=min(one.end, end)) for one in of_topic]
        if inside := [one for one in cut if one.start < one.end]:
            replayed[topic] = inside
    if not replayed:
        return None
    rows = (found.course.times >= start) & (found.course.times <= end)
    course = {name: getattr(found.course, name)[rows] for name in ("times", *_MATRICES)}
    reported = {
        client_id: part for client_id, throughput in found.reported.items() if (part := throughput.between(start, end))
    }
    return replace(found, course=replace(found.course, **course), replayed=replayed, reported=reported)


def recorded(steps: Sequence[AuditedStep], pause: int = 0) -> Recorded | None:
    """The steps of one group in order; None where no ordinary topic was replayed.

    The times are those of the readings, of all changes, and `pause` (microseconds) after each change.
    """
    replayed = _replayed(steps)
    if not replayed:
        return None
    offsets = {topic: one for topic in replayed if (one := steps[0].history.offsets.get(topic))}
    start, end = steps[0].window.start, steps[-1].window.end
    changes = [moment for of_topic in replayed.values() for one in of_topic for moment in (one.start, one.end)]
    changes += [one.start + pause for of_topic in replayed.values() for one in of_topic]
    times = np.unique(np.concatenate([np.array(changes, np.int64), *(one.times for one in offsets.values())]))
    times = times[(times >= start) & (times <= end)]
    settings = steps[0].settings
    tolerance = settings.thresholds.rewind_tolerance
    none = np.zeros((len(times), 0))
    parts = [BacklogCourse(times, (), none, none, none, none.astype(bool))]
    parts += [
        _course(topic, readings, replayed[topic], times, settings.max_gap, tolerance)
        for topic, readings in offsets.items()
    ]
    course = BacklogCourse(
        times,
        [queue for part in parts for queue in part.queues],
        *(np.hstack([getattr(part, name) for part in parts]) for name in _MATRICES),
    )
    reported = throughputs(steps[0].history.clients, steps[0].window.read_from, end)
    return Recorded(course, replayed, settings.max_gap, settings.thresholds.allowed_lag, reported)


class HasTimes(Protocol):
    """What holds for a time `[start, end)`."""

    @property
    def start(self) -> int: ...  # noqa: D102

    @property
    def end(self) -> int: ...  # noqa: D102


Thing = TypeVar("Thing", bound=HasTimes)


def spans_of(replayed: Mapping[str, Sequence[Thing]]) -> Iterator[tuple[int, int, list[Thing]]]:
    """The spans between two changes of any topic, with what holds in each of them, at most one of a topic."""
    cuts = sorted({moment for of_topic in replayed.values() for one in of_topic for moment in (one.start, one.end)})
    following = {topic: iter(of_topic) for topic, of_topic in replayed.items()}
    current = {topic: next(of_topic) for topic, of_topic in following.items()}
    for start, end in pairwise(cuts):
        for topic, one in list(current.items()):
            if one.end <= start:
                after = next(following[topic], None)
                if after is None:
                    del current[topic]
                else:
                    current[topic] = after
        yield start, end, [one for one in current.values() if one.start <= start]


def _replayed(steps: Iterable[AuditedStep]) -> dict[str, list[ReplayedSpan]]:
    """By topic, in order of time."""
    replayed: dict[str, list[ReplayedSpan]] = defaultdict(list)
    for step in steps:
        ordinary = [interval for interval in step.intervals if interval.is_ordinary]
        for topic, of_topic in groupby(ordinary, key=lambda interval: interval.topic):
            for interval, start, end in without_overlaps(list(of_topic), step.window.start):
                if interval.allocation is not None and start < end:
                    replayed[topic].append(ReplayedSpan(start, end, interval, interval.allocation))
    return replayed


def _course(
    topic: str, readings: OffsetReadings, replayed: Sequence[ReplayedSpan], times: Times, max_gap: int, tolerance: int
) -> BacklogCourse:
    """Of one topic."""
    shared = _shared_times(replayed)
    columns = [
        _queue(readings, place, times, max_gap, shared.get(queue, ()), tolerance)
        for place, queue in enumerate(readings.queues)
    ]
    produced, consumed, waiting, known = (np.column_stack(part) for part in zip(*columns, strict=True))
    is_replayed = np.zeros((len(times), 1), bool)
    for span in replayed:
        is_replayed[slice(*np.searchsorted(times, (span.start, span.end), side="right").tolist())] = True
    known &= is_replayed
    queues = [MessageQueue(topic, *queue) for queue in readings.queues]
    return BacklogCourse(times, queues, produced, consumed, waiting, known)


def _shared_times(replayed: Iterable[ReplayedSpan]) -> dict[Place, list[tuple[int, int]]]:
    """When a queue had several connections as owners: each commits its own offset, so it goes back and forth."""
    times: dict[Place, list[tuple[int, int]]] = defaultdict(list)
    for span in replayed:
        for queue, owners in zip(span.allocation.queues, span.allocation.owners, strict=True):
            if len(owners) > 1:
                times[queue].append((span.start, span.end))
    return times


def _queue(
    readings: OffsetReadings,
    place: int,
    times: Times,
    max_gap: int,
    shared: Sequence[tuple[int, int]],
    tolerance: int,
) -> tuple[Any, ...]:
    """One column of each matrix of a course."""
    rows = np.flatnonzero(readings.lag[:, place] != UNKNOWN)
    if len(rows) < 2:
        nothing = np.zeros(len(times))
        return nothing, nothing, nothing, np.zeros(len(times), bool)
    at = readings.times[rows]
    moved = np.diff(readings.consumed_to[rows, place], prepend=readings.consumed_to[rows[0], place])
    back = np.where(-moved > tolerance, -moved, 0)
    for start, end in shared:
        back[(at > start) & (at <= end)] = 0
    grown = np.maximum(np.diff(readings.end_offset[rows, place], prepend=readings.end_offset[rows[0], place]), 0)
    produced, consumed = np.cumsum(grown + back), np.cumsum(np.maximum(moved, 0))
    after = np.searchsorted(at, times, side="left")
    inside = (after > 0) & (after < len(at))
    known = inside & (np.diff(at)[np.clip(after - 1, 0, len(at) - 2)] <= max_gap)
    return *(np.interp(times, at, one) for one in (produced, consumed, readings.lag[rows, place])), known
