"""The paces of a group's members by its recording, when each made no progress, and the pause of a moved queue."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.kernel.audited_step import AuditedStep, RebalanceInterval
from spark_jobs.domain.kernel.matrices import runs_of_true
from spark_jobs.domain.model.history import Numbers, OffsetSamples
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.status.throughput import Changes, Rates, Throughput
from spark_jobs.what_if.cases import Case, recorded_id
from spark_jobs.what_if.recorded import BacklogCourse, Messages, Recorded, spans_of

#: A pace is what a member with a backlog kept up for so long, in seconds; else what it did for so long.
_REACHED_SECONDS, _SEEN_SECONDS = 60, 20
#: A queue with no more waiting than comes in within this time is kept up with: offsets are committed every 5 seconds.
_KEPT_UP_SECONDS = 15


Flags = NDArray[np.bool_]


class Pace(NamedTuple):
    """Messages a second that a member can consume. Not `reached`: it never had a backlog, so it may be faster."""

    rate: float
    reached: bool


class KnownRates(NamedTuple):
    """How fast a member could be over time; not `known`: at least as fast."""

    rates: Rates
    known: bool


class MemberPace(NamedTuple):
    """How fast one member could consume when last measured; None is unknown. `listener`: messages a second of its
    `threads` at `response_ms` a batch, the median of so many `samples` (`inf`: no time); `per_queue`: of one queue, by
    its pulls; `seen`: what it was seen to do, at its limit if it is `reached`.
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


@dataclass(frozen=True)
class Members:
    """Known paces of a group's members: by client id the `paces` that were seen and the throughput that they
    `reported`, and when one of them made no progress; the `pause` of a queue that changes its owner, in microseconds;
    and the seconds from the consumption of a message to its commit.
    """

    paces: Mapping[str, Pace] = field(default_factory=dict)
    stalled_times: Sequence[StalledTime] = ()
    reported: Mapping[str, Throughput] = field(default_factory=dict)
    pause: int = 0
    uncommitted: float = 0.0

    def rates_of(self, client_id: str, case: Case, times: Numbers) -> KnownRates | None:
        """Of a member in a case at these times (microseconds); None: unknown. By the case; else its own report; else
        its own limit as seen; else the others' reports; else what it, or another, was seen to do.
        """
        own_id = recorded_id(client_id)
        for name in (client_id, own_id):
            if name in case.speed:
                return _steady(Pace(case.speed[name], True), times)
        pace, reported = self.paces.get(own_id), self.reported.get(own_id)
        if reported is None and not (pace and pace.reached):
            reported = self.typical
        if reported is not None:
            return KnownRates(reported.rates(times, case.changes_of(client_id)), True)
        pace = pace or self.usual
        return _steady(pace, times) if pace else None

    @cached_property
    def usual(self) -> Pace | None:
        """The median pace of those that reached theirs, else of all; None where there is none."""
        reached = [pace.rate for pace in self.paces.values() if pace.reached]
        rates = reached or [pace.rate for pace in self.paces.values()]
        return Pace(float(np.median(rates)), bool(reached)) if rates else None

    @cached_property
    def typical(self) -> Throughput | None:
        """That of the member whose listener is neither among the fast nor the slow ones: the lower median."""

        def median_rate(throughput: Throughput) -> float:
            return float(np.median(throughput.rates(throughput.responses.times).listener))

        by_rate = sorted(self.reported.values(), key=median_rate)
        return by_rate[(len(by_rate) - 1) // 2] if by_rate else None

    def member_paces(self) -> list[MemberPace]:
        """One per member of which anything is known, by client id."""
        return [self._of(client_id) for client_id in sorted(self.paces.keys() | self.reported.keys())]

    def _of(self, client_id: str) -> MemberPace:
        reported, seen = self.reported.get(client_id), self.paces.get(client_id, (None, False))
        if reported is None:
            return MemberPace(client_id, None, None, None, None, 0, *seen)
        times, took = reported.responses.times, reported.responses.took_ms
        response_ms = float(np.median(took))
        listener, per_queue = (float(rate[0]) for rate in reported.rates(times[-1:], Changes(response_ms=response_ms)))
        threads = reported.settings.states[reported.settings.codes[-1]].threads
        return MemberPace(client_id, listener, per_queue, threads, response_ms, len(times), *seen)


def _steady(pace: Pace, times: Numbers) -> KnownRates:
    return KnownRates(Rates(np.full(len(times), pace.rate), np.full(len(times), np.inf)), pace.reached)


def members_of(recorded: Recorded) -> Members:
    """The pace of a client id is its highest over `_REACHED_SECONDS` with a backlog, or else over `_SEEN_SECONDS`."""
    paces: dict[str, Pace] = {}
    stalled_times: list[StalledTime] = []
    course = recorded.course
    for rows, client_id, columns in _owned(recorded):
        times, known = course.times[rows], np.asarray(course.known[rows][:, columns].all(axis=1))
        produced, taken, waiting = (
            matrix[rows][:, columns].sum(axis=1) for matrix in (course.produced, course.consumed, course.waiting)
        )
        backlogged = waiting > np.maximum(np.diff(produced, prepend=produced[0]), recorded.allowed_lag)
        for pace in _paces(times, known, taken, backlogged):
            before = paces.get(client_id)
            if before is None or (pace.reached, pace.rate) > (before.reached, before.rate):
                paces[client_id] = pace
        still = (np.diff(taken) == 0) & (np.diff(waiting) > 0) & known[1:]
        for first, last in runs_of_true(still):
            # Longer than a state holds without another sample.
            if times[last] - times[first] > recorded.max_gap:
                stalled_times.append(StalledTime(client_id, int(times[first]), int(times[last])))
    return Members(paces, stalled_times, recorded.reported)


def _owned(recorded: Recorded) -> Iterator[tuple[slice, str, list[int]]]:
    """Rows (two or more), client id and columns of its queues, per time in which no allocation changed."""
    course = recorded.course
    for start, end, replayed in spans_of(recorded.replayed):
        first, last = np.searchsorted(course.times, (start, end)).tolist()
        rows = slice(first, min(last + 1, len(course.times)))
        columns_of_client: dict[str, list[int]] = defaultdict(list)
        for span in replayed:
            for column, client_ids in course.by_column(span, span.allocation.owner_ids):
                for client_id in client_ids:
                    columns_of_client[client_id].append(column)
        if rows.stop - rows.start >= 2:
            yield from ((rows, client_id, columns) for client_id, columns in columns_of_client.items())


def _paces(times: Numbers, known: Flags, taken: Messages, backlogged: Flags) -> Iterator[Pace]:
    """The highest with a backlog, and the highest of all, if there are any, of one client over a span of rows."""
    for seconds, reached in ((_REACHED_SECONDS, True), (_SEEN_SECONDS, False)):
        ends = np.searchsorted(times, times + seconds * SECOND)
        starts = np.flatnonzero(ends < len(times))
        ends = ends[starts]
        is_usable = _all_between(known, starts + 1, ends)
        if reached:
            is_usable &= _all_between(backlogged, starts, ends)
        rates = (taken[ends] - taken[starts]) / (times[ends] - times[starts]) * SECOND
        if is_usable.any() and (rate := float(rates[is_usable].max())) > 0:
            yield Pace(rate, reached)


def _all_between(true: Flags, first: Numbers, last: Numbers) -> Flags:
    """One per (first, last): all of `[first, last]` are true."""
    wrong = np.concatenate([[0], np.cumsum(~true)])
    return np.asarray(wrong[last + 1] == wrong[first])


def uncommitted_seconds(course: BacklogCourse) -> float:
    """How long a consumed message is uncommitted: the median wait, in seconds of what is produced; 0: unknown."""
    seconds = np.diff(course.times) / SECOND
    rates = np.diff(course.produced, axis=0) / seconds[:, None]
    reported = course.known[1:] & (rates > 0)
    every = course.waiting[1:][reported] / rates[reported]
    usual = float(np.quantile(every, 0.5, method="lower")) if len(every) else 0.0
    return usual if usual <= _KEPT_UP_SECONDS else 0.0


def hand_over_pause(steps: Sequence[AuditedStep]) -> int:
    """The median in microseconds from a rebalance until a moved queue with messages is consumed; 0: unknown."""
    pauses = [
        pause
        for step in steps
        for rebalance in step.rebalances
        if (samples := step.history.offsets.get(rebalance.interval.topic))
        for pause in _pauses(samples, rebalance.interval)
    ]
    return int(np.median(pauses)) if pauses else 0


def _pauses(samples: OffsetSamples, interval: RebalanceInterval) -> Iterator[int]:
    """Of each queue that the interval's beginning handed over."""
    rows = samples.inside(interval.start, interval.end)
    times = samples.times[rows]
    for queue in interval.moves.handed_over if interval.moves else ():
        place = samples.columns.get(queue)
        if place is not None:
            offsets, lag = samples.consumed_to[rows, place], samples.lag[rows, place]
            moved = np.flatnonzero(np.diff(offsets))
            if len(moved) and (lag[: moved[0] + 1] > 0).all():
                yield int(times[moved[0]] - interval.start) if moved[0] else 0
