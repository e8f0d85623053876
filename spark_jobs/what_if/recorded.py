"""The recording of a group's ordinary topics: who owned the queues when, and every queue's messages over time."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.kernel.allocations import Allocation
from spark_jobs.domain.kernel.audited_step import AuditedStep, RebalanceInterval
from spark_jobs.domain.kernel.progress import without_overlaps
from spark_jobs.domain.model.history import UNKNOWN, OffsetSamples, Place
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.window import SECOND, AuditSettings
from spark_jobs.domain.status.throughput import Throughput, throughputs

Messages = NDArray[np.float64]
Times = NDArray[np.int64]


Value = TypeVar("Value")


class Assignment(NamedTuple):
    """A topic's allocation, as it was or in a case, in the part `[start, end)` of a replayed interval in which no other
    view counts; microseconds. `client_ids`: of the connections to which its owners are positions.
    """

    start: int
    end: int
    interval: RebalanceInterval
    allocation: Allocation
    client_ids: Sequence[str]

    @property
    def topic(self) -> str:
        """The topic whose queues are owned."""
        return self.interval.topic


@dataclass(frozen=True)
class BacklogCourse:
    """Every queue's messages at each of the `times` (microseconds): matrices of times × queues, interpolated between
    samples. `produced`: since the first sample, with what a reset brought back; `consumed`: by which the offset went
    forward; `waiting`: the lag. They mean something only where `known`: since the time before the topic was replayed,
    and the queue lies between two samples with a known lag, at most `max_gap` apart.
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

    def by_column(self, assignment: Assignment, values: Sequence[Value]) -> Iterator[tuple[int, Value]]:
        """(column, value) of each queue that was recorded; one value per queue of the allocation."""
        for place, value in zip(assignment.allocation.queues, values, strict=True):
            column = self.columns.get(MessageQueue(assignment.topic, *place))
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
        """Messages that wait at each time in the queues known then, or else known from then on; NaN: none is."""
        following = np.vstack([self.known[1:], np.zeros_like(self.known[:1])])
        known = np.where(self.known.any(axis=1, keepdims=True), self.known, following)
        return np.where(known.any(axis=1), np.where(known, self.waiting, 0).sum(axis=1), np.nan)


_MATRICES = ("produced", "consumed", "waiting", "known")


@dataclass(frozen=True)
class Recorded:
    """The recording of one group: assignments `replayed`, by topic, and `reported` throughput, by client id."""

    course: BacklogCourse
    replayed: Mapping[str, Sequence[Assignment]]
    max_gap: int
    allowed_lag: int
    reported: Mapping[str, Throughput]

    @property
    def intervals(self) -> list[RebalanceInterval]:
        """The replayed intervals of all topics."""
        return [span.interval for spans in self.replayed.values() for span in spans]

    @property
    def client_ids(self) -> set[str]:
        """Those of all members that there ever were."""
        return {client_id for interval in self.intervals for client_id in interval.client_ids}


def recorded(steps: Sequence[AuditedStep], pause: int = 0) -> Recorded | None:
    """One group's steps in order; None: nothing was replayed. Times: samples, changes, `pause` after each change."""
    replayed = _replayed(steps)
    if not replayed:
        return None
    offsets = {topic: samples for topic in replayed if (samples := steps[0].history.offsets.get(topic))}
    start, end = steps[0].window.start, steps[-1].window.end
    spans = [span for of_topic in replayed.values() for span in of_topic]
    changes = [moment for span in spans for moment in (span.start, span.end, span.start + pause)]
    times = np.unique(np.concatenate([np.array(changes, np.int64), *(topic.times for topic in offsets.values())]))
    times = times[(times >= start) & (times <= end)]
    settings = steps[0].settings
    none = np.zeros((len(times), 0))
    parts = [BacklogCourse(times, (), none, none, none, none.astype(bool))]
    parts += [_course(topic, samples, replayed[topic], times, settings) for topic, samples in offsets.items()]
    course = BacklogCourse(
        times,
        [queue for part in parts for queue in part.queues],
        *(np.hstack([getattr(part, name) for part in parts]) for name in _MATRICES),
    )
    reported = throughputs(steps[0].history.clients, steps[0].window.read_from, end)
    return Recorded(course, replayed, settings.max_gap, settings.thresholds.allowed_lag, reported)


def spans_of(replayed: Mapping[str, Sequence[Assignment]]) -> Iterator[tuple[int, int, list[Assignment]]]:
    """The spans between two changes of any topic, with what holds in each of them, at most one of a topic."""
    cuts = sorted({moment for of_topic in replayed.values() for span in of_topic for moment in (span.start, span.end)})
    following = {topic: iter(of_topic) for topic, of_topic in replayed.items()}
    current = {topic: next(of_topic, None) for topic, of_topic in following.items()}
    for start, end in pairwise(cuts):
        for topic, span in current.items():
            if span and span.end <= start:
                current[topic] = next(following[topic], None)
        yield start, end, [span for span in current.values() if span and span.start <= start]


def _replayed(steps: Iterable[AuditedStep]) -> dict[str, list[Assignment]]:
    """By topic, in order of time."""
    replayed: dict[str, list[Assignment]] = defaultdict(list)
    for step in steps:
        ordinary = [interval for interval in step.intervals if interval.is_ordinary]
        for topic, of_topic in groupby(ordinary, key=lambda interval: interval.topic):
            for interval, start, end in without_overlaps(list(of_topic), step.window.start):
                if interval.allocation is not None and start < end:
                    replayed[topic].append(Assignment(start, end, interval, interval.allocation, interval.client_ids))
    return replayed


def _course(
    topic: str, samples: OffsetSamples, replayed: Sequence[Assignment], times: Times, settings: AuditSettings
) -> BacklogCourse:
    """Of one topic."""
    shared = _shared_times(replayed)
    columns = [
        _queue(samples, place, times, settings, shared.get(queue, ())) for place, queue in enumerate(samples.queues)
    ]
    produced, consumed, waiting, known = (np.column_stack(part) for part in zip(*columns, strict=True))
    is_replayed = np.zeros((len(times), 1), bool)
    for span in replayed:
        is_replayed[slice(*np.searchsorted(times, (span.start, span.end), side="right").tolist())] = True
    next_samples = samples.times[np.minimum(samples.times.searchsorted(times), len(samples.times) - 1)]
    known &= is_replayed & is_replayed[np.minimum(times.searchsorted(next_samples), len(times) - 1)]
    queues = [MessageQueue(topic, *queue) for queue in samples.queues]
    return BacklogCourse(times, queues, produced, consumed, waiting, known)


def _shared_times(replayed: Iterable[Assignment]) -> dict[Place, list[tuple[int, int]]]:
    """When a queue had several connections as owners: each commits its own offset, so it goes back and forth."""
    times: dict[Place, list[tuple[int, int]]] = defaultdict(list)
    for span in replayed:
        for queue, owners in zip(span.allocation.queues, span.allocation.owners, strict=True):
            if len(owners) > 1:
                times[queue].append((span.start, span.end))
    return times


def _queue(
    samples: OffsetSamples, place: int, times: Times, settings: AuditSettings, shared: Sequence[tuple[int, int]]
) -> tuple[Any, ...]:
    """One column of each matrix of a course."""
    rows = np.flatnonzero(samples.lag[:, place] != UNKNOWN)
    if len(rows) < 2:
        nothing = np.zeros(len(times))
        return nothing, nothing, nothing, np.zeros(len(times), bool)
    at = samples.times[rows]
    moved = _grown(samples.consumed_to[rows, place])
    back = np.where(-moved > settings.thresholds.rewind_tolerance, -moved, 0)
    for start, end in shared:
        back[(at > start) & (at <= end)] = 0
    grown = np.maximum(_grown(samples.end_offset[rows, place]), 0)
    produced, consumed = (grown + back).cumsum(), np.maximum(moved, 0).cumsum()
    # The time since the sample before: none before the first sample, and too long behind the last one, or where the
    # topic was read without the queue meanwhile.
    lasting = np.append(np.where(_grown(rows) > 1, settings.max_gap + 1, _grown(at)), settings.max_gap + 1)
    after = at.searchsorted(times)
    known = (after > 0) & (lasting[after] <= settings.max_gap)
    return *(np.interp(times, at, numbers) for numbers in (produced, consumed, samples.lag[rows, place])), known


def _grown(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """By how much each is greater than the one before it; the first: 0."""
    grown = np.zeros_like(numbers)
    np.subtract(numbers[1:], numbers[:-1], out=grown[1:])
    return grown
