"""What the recording tells of the members: how fast each can consume, and when it stood still."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.kernel.audited_step import RebalanceInterval
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.status.throughput import Changes, Throughput
from spark_jobs.domain.what_if.recorded import BacklogCourse, Recorded, spans_of

#: A pace is what a member with a backlog kept up for so long, in seconds; else what it did for so long.
REACHED_SECONDS, SEEN_SECONDS = 60, 20
#: A queue with no more waiting than comes in within this time is kept up with: offsets are committed every 5 seconds.
KEPT_UP_SECONDS = 15


class Pace(NamedTuple):
    """Messages a second that a member can consume. Not `reached`: it never had a backlog, so it may be faster."""

    rate: float
    reached: bool


class MemberPace(NamedTuple):
    """How fast one member could consume when it was last measured, and by what it is known; None is unknown.

    `listener`: messages a second of its `threads` at a response time of `response_ms` a batch, which is the median of
    so many `samples`, `inf` where it takes no time; `per_queue`: of one queue, by its pulls. `seen`: what it was seen
    to do, at its limit if it is `reached`.
    """

    client_id: str
    listener: float | None
    per_queue: float | None
    threads: int | None
    response_ms: float | None
    samples: int
    seen: float | None
    reached: bool


class StalledTime(NamedTuple):
    """A time in which a client consumed nothing, and more and more waited in its queues; microseconds."""

    client_id: str
    start: int
    end: int


@dataclass
class Members:
    """What is known of a group's members: the throughput that they `reported` and the `paces` that were seen, by client
    id, and when one of them stood still.
    """

    paces: dict[str, Pace] = field(default_factory=dict)
    stood_still: list[StalledTime] = field(default_factory=list)
    reported: Mapping[str, Throughput] = field(default_factory=dict)

    @cached_property
    def usual(self) -> Pace | None:
        """The median pace of those that reached theirs, else of all; None where there is none."""
        reached = [one.rate for one in self.paces.values() if one.reached]
        rates = reached or [one.rate for one in self.paces.values()]
        return Pace(float(np.median(rates)), bool(reached)) if rates else None

    def of_each(self) -> list[MemberPace]:
        """One per member of which anything is known, by client id."""
        return [self._of(client_id) for client_id in sorted(self.paces.keys() | self.reported.keys())]

    def _of(self, client_id: str) -> MemberPace:
        seen, reported = self.paces.get(client_id), self.reported.get(client_id)
        by_sight = (seen.rate, seen.reached) if seen else (None, False)
        if reported is None:
            return MemberPace(client_id, None, None, None, None, 0, *by_sight)
        times, took = reported.responses
        response_ms = float(np.median(took))
        listener, per_queue = (float(one[0]) for one in reported.rates(times[-1:], Changes(response_ms=response_ms)))
        threads = reported.settings.states[reported.settings.codes[-1]].threads
        return MemberPace(client_id, listener, per_queue, threads, response_ms, len(times), *by_sight)

    @cached_property
    def typical(self) -> Throughput | None:
        """That of the member whose listener is neither among the fast nor the slow ones: the lower median."""

        def median_rate(throughput: Throughput) -> float:
            return float(np.median(throughput.rates(throughput.responses.times).listener))

        by_rate = sorted(self.reported.values(), key=median_rate)
        return by_rate[(len(by_rate) - 1) // 2] if by_rate else None


def members_of(recorded: Recorded) -> Members:
    """The pace of a client id is the highest over any `REACHED_SECONDS` in which it had a backlog all the time, else
    over any `SEEN_SECONDS`.

    It had a backlog at a time if more waited in its queues than came in since the time before, and than is allowed.
    """
    found = Members(reported=recorded.reported)
    for first, last, client_id, columns in _owned(recorded):
        rows = slice(first, min(last + 1, len(recorded.course.times)))
        if rows.stop - rows.start < 2:
            continue
        span = _Span(recorded, rows, columns)
        for pace in span.paces():
            known = found.paces.get(client_id)
            if known is None or (pace.reached, pace.rate) > (known.reached, known.rate):
                found.paces[client_id] = pace
        found.stood_still += [StalledTime(client_id, *one) for one in span.stood_still()]
    return found


def _owned(recorded: Recorded) -> Iterator[tuple[int, int, str, list[int]]]:
    """Spans in which no topic's allocation changed: first and last place in the times, client id, columns it owns."""
    columns = recorded.course.columns
    for start, end, replayed in spans_of(recorded.replayed):
        first, last = np.searchsorted(recorded.course.times, (start, end)).tolist()
        own: dict[str, list[int]] = {}
        for one in replayed:
            for client_id, queues in _queues_of(one.interval).items():
                own.setdefault(client_id, []).extend(columns[queue] for queue in queues if queue in columns)
        yield from ((first, last, client_id, of_client) for client_id, of_client in own.items())


def _queues_of(interval: RebalanceInterval) -> Mapping[str, list[MessageQueue]]:
    """By client id. Several owners each consume the whole of a queue."""
    found: dict[str, list[MessageQueue]] = {}
    if interval.allocation is not None:
        for client_id, queues in interval.allocation.queues_of_client.items():
            found[client_id] = [MessageQueue(interval.topic, *queue) for queue in queues]
    return found


class _Span:
    """One client over a span of rows: the sums over its queues."""

    def __init__(self, recorded: Recorded, rows: slice, columns: Sequence[int]) -> None:
        course = recorded.course
        self._times, self._max_gap = course.times[rows], recorded.max_gap
        self._known = np.asarray(course.known[rows][:, columns].all(axis=1))
        produced, self._taken, self._waiting = (
            matrix[rows][:, columns].sum(axis=1) for matrix in (course.produced, course.consumed, course.waiting)
        )
        grown = np.diff(produced, prepend=produced[0])
        self._backlogged = self._waiting > np.maximum(grown, recorded.allowed_lag)

    def paces(self) -> Iterator[Pace]:
        """The highest with a backlog, and the highest of all, if there are any."""
        for seconds, reached in ((REACHED_SECONDS, True), (SEEN_SECONDS, False)):
            ends = np.searchsorted(self._times, self._times + seconds * SECOND)
            starts = np.flatnonzero(ends < len(self._times))
            ends = ends[starts]
            whole = _all_between(self._known, starts + 1, ends)
            if reached:
                whole &= _all_between(self._backlogged, starts, ends)
            rates = (self._taken[ends] - self._taken[starts]) / (self._times[ends] - self._times[starts]) * SECOND
            if whole.any() and (rate := float(rates[whole].max())) > 0:
                yield Pace(rate, reached)

    def stood_still(self) -> Iterator[tuple[int, int]]:
        """Longer than a state holds without another reading."""
        still = np.asarray((np.diff(self._taken) == 0) & (np.diff(self._waiting) > 0) & self._known[1:])
        edges = np.flatnonzero(np.diff(still, prepend=False, append=False))
        for first, last in edges.reshape(-1, 2).tolist():
            if self._times[last] - self._times[first] > self._max_gap:
                yield int(self._times[first]), int(self._times[last])


def _all_between(true: NDArray[np.bool_], first: NDArray[np.int64], last: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether all of `[first, last]` are true."""
    wrong = np.concatenate([[0], np.cumsum(~true)])
    return np.asarray(wrong[last + 1] == wrong[first])


def uncommitted_seconds(course: BacklogCourse) -> float:
    """How long a message waits that is consumed and not yet committed: what waits in a queue, in seconds of what comes
    in, is mostly that, or there is a backlog most of the time, and nothing is known: 0.
    """
    seconds = np.diff(course.times) / SECOND
    rates = np.diff(course.produced, axis=0) / seconds[:, None]
    reported = course.known[1:] & (rates > 0)
    every = course.waiting[1:][reported] / rates[reported]
    usual = float(np.quantile(every, 0.5, method="lower")) if len(every) else 0.0
    return usual if usual <= KEPT_UP_SECONDS else 0.0
