"""A case played over what was recorded: who would have owned what, also if an autoscaler adds and removes members, and
what would have waited.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.kernel.ownership import Replays
from spark_jobs.domain.kernel.triggers import moved_between
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.rocketmq.strategies import NEW
from spark_jobs.what_if.cases import Autoscaler, Case, Change, assignment_of, assignments_in, recorded_id
from spark_jobs.what_if.fluid import Service, flow, inflow
from spark_jobs.what_if.pace import KnownRates, Members
from spark_jobs.what_if.recorded import Assignment, BacklogCourse, Messages, Recorded, spans_of


@dataclass
class Simulation:
    """`course`: what was produced in the case; `owned`: who owned what, by topic; `waiting`: messages at each time of
    the course, NaN where nothing is claimed; `twice`: messages consumed more often than once; `strained`: client ids
    that had a backlog, and those of them whose pulls held back more of it than their listeners (`by_pulls`); `at_most`:
    of one of them it is not known how fast it could be. Not `paced`: nothing is claimed, as nothing shows how fast an
    owner is.
    """

    course: BacklogCourse
    owned: Mapping[str, Sequence[Assignment]]
    waiting: Messages
    twice: float = 0.0
    strained: set[str] = field(default_factory=set)
    by_pulls: set[str] = field(default_factory=set)
    at_most: bool = False
    paced: bool = True


def play(case: Case, recorded: Recorded, members: Members, replays: Replays) -> Simulation:
    """The case over the recorded time. Raises `StrategyError` as `assignments_in`."""
    owned, course = assignments_in(case, recorded, replays), inflow(case, recorded)
    run = _Run(case, course, members)
    if case.scaler:
        client_ids = {*recorded.client_ids, f"{NEW}0000"}
    else:
        client_ids = {own[0] for of_topic in owned.values() for assignment in of_topic for own in run.owned(assignment)}
    result = Simulation(course, owned, np.full(len(course.times), np.nan))
    result.paced = all(run.rates_of(client_id) for client_id in client_ids)
    if result.paced and case.scaler:
        result.owned = scaled = defaultdict[str, list[Assignment]](list)
        run.play(result, scaled_spans(case, case.scaler, recorded, replays, lambda: float(run.waits.sum()), scaled))
    elif result.paced:
        run.play(result, spans_of(owned))
    return result


#: A client id, the column of a queue that it owns, and by how many of its connections.
_OwnedQueue = tuple[str, int, int]


@dataclass
class _Run:
    """One case while it is played, per queue: messages that wait, whether they are `claimed` as known, and pauses."""

    case: Case
    course: BacklogCourse
    members: Members

    def __post_init__(self) -> None:
        count = len(self.course.queues)
        self.waits, self.claimed = np.zeros(count), np.zeros(count, bool)
        self.paused = np.zeros(count, np.int64)
        self._rates: dict[str, KnownRates | None] = {}
        self._owned: dict[tuple[str, int], list[_OwnedQueue]] = {}

    def rates_of(self, client_id: str) -> KnownRates | None:
        """How fast a member could be at the times of the course; None: unknown."""
        if client_id not in self._rates:
            self._rates[client_id] = self.members.rates_of(client_id, self.case, self.course.times)
        return self._rates[client_id]

    def owned(self, assignment: Assignment) -> list[_OwnedQueue]:
        """Of one topic; queues that were never recorded are left out."""
        key = assignment.topic, id(assignment.allocation)
        if key not in self._owned:
            self._owned[key] = [
                (client_id, column, connections)
                for column, owners in self.course.by_column(assignment, assignment.allocation.owners)
                for client_id, connections in Counter(assignment.client_ids[owner] for owner in owners).items()
            ]
        return self._owned[key]

    def play(self, result: Simulation, spans: Iterable[tuple[int, int, Sequence[Assignment]]]) -> None:
        """Span by span; each is asked for after the one before. The pace of all owners is known."""
        cuts, before = self._cuts(), dict[str, Assignment]()
        resumed: list[int] = []
        for start, end, replayed in spans:
            if columns := self._handed_over(before, replayed):
                self.paused[columns] = start + self.members.pause
                resumed.append(start + self.members.pause)
            before = {assignment.topic: assignment for assignment in replayed}
            first, last = np.searchsorted(self.course.times, (start, end), side="right").tolist()
            inside = cuts[slice(*np.searchsorted(cuts, (first + 1, last)).tolist())].tolist()
            resumed = [moment for moment in resumed if moment >= start]
            resumed_rows = np.searchsorted(self.course.times, np.array(resumed, np.int64), side="right").tolist()
            inside += [row for row in resumed_rows if first < row < last]
            for row, stop in pairwise(sorted({max(first, 1), *inside, max(last, 1)})):
                self._span(result, slice(row, stop), replayed, start)

    def _handed_over(self, before: Mapping[str, Assignment], replayed: Iterable[Assignment]) -> list[int]:
        """The columns of the queues that changed owner."""
        return [
            self.course.columns[queue]
            for after in replayed
            if (earlier := before.get(after.topic)) and earlier.allocation is not after.allocation
            for place in moved_between(earlier.allocation, after.allocation).handed_over
            if (queue := MessageQueue(after.topic, *place)) in self.course.columns
        ]

    def _cuts(self) -> NDArray[np.int64]:
        """Rows of the matrices before which something changes that is no allocation."""
        edges = [moment for stalled in self.members.stalled_times for moment in (stalled.start, stalled.end)]
        rows = np.searchsorted(self.course.times, np.array(edges, np.int64), side="right")
        changed = np.flatnonzero((self.course.known[1:] != self.course.known[:-1]).any(axis=1)) + 1
        return np.unique(np.concatenate([rows, changed]))

    def _span(self, result: Simulation, rows: slice, replayed: Sequence[Assignment], since: int) -> None:
        """Plays the rows of one span, in which only messages change; owners `since` then count from its first row."""
        course, start = self.course, max(int(self.course.times[rows.start - 1]), since)
        known = course.known[rows.start]
        self.waits = np.where(known, np.where(self.claimed, self.waits, course.waiting[rows.start - 1]), 0)
        self.claimed = known
        if not known.any():
            return
        if np.isnan(result.waiting[rows.start - 1]):
            result.waiting[rows.start - 1] = self.waits.sum()
        produced = np.where(known, np.diff(course.produced[rows.start - 1 : rows.stop], axis=0), 0)
        client_ids, service, connections = self._service(replayed, known & (self.paused <= start))
        idle = {stalled.client_id for stalled in self.members.stalled_times if stalled.start <= start < stalled.end}
        rates = [known_rates for client_id in client_ids if (known_rates := self.rates_of(client_id))]
        seconds = np.diff(course.times[rows.start - 1 : rows.stop])[:, None] / SECOND
        listeners = [
            0 if recorded_id(client_id) in idle else of_client.rates.listener[rows]
            for client_id, of_client in zip(client_ids, rates, strict=True)
        ]
        capacity = seconds * _columns(listeners, len(seconds))
        pulls = seconds * _columns([of_client.rates.queue[rows] for of_client in rates], len(seconds))
        flowed = flow(self.waits, produced, service, capacity, pulls[:, service.server])
        served = np.unique(service.queue)
        needed = (self.waits + produced.sum(axis=0) - flowed.waiting[-1])[served].sum()
        result.twice += float((flowed.served * connections).sum() - needed)
        result.strained.update(np.array(client_ids, object)[flowed.strained].tolist())
        result.by_pulls.update(np.array(client_ids, object)[flowed.strained & flowed.by_pulls].tolist())
        result.at_most |= any(
            strained and not of_client.known for strained, of_client in zip(flowed.strained, rates, strict=True)
        )
        self.waits = flowed.waiting[-1]
        uncommitted = produced[:, served] / seconds * self.members.uncommitted
        waiting = flowed.waiting.copy()
        waiting[:, served] = np.maximum(waiting[:, served], uncommitted)
        result.waiting[rows] = waiting[:, known].sum(axis=1)

    def _service(
        self, replayed: Sequence[Assignment], served: NDArray[np.bool_]
    ) -> tuple[list[str], Service, NDArray[np.int64]]:
        """Client ids of the servers, who serves what, and per entry its connections."""
        owned = [queue for assignment in replayed for queue in self.owned(assignment) if served[queue[1]]]
        client_ids = sorted({client_id for client_id, _, _ in owned})
        numbers = {client_id: number for number, client_id in enumerate(client_ids)}
        entries = [(numbers[client_id], column, connections) for client_id, column, connections in owned]
        entries.sort(key=itemgetter(0))
        server, columns, connections = np.array(entries, np.int64).reshape(-1, 3).T
        return client_ids, Service(server, columns), connections


def _columns(values: Sequence[Any], rows: int) -> Messages:
    """One column per value, which is a number or has one per row."""
    columns = np.empty((rows, len(values)))
    for number, value in enumerate(values):
        columns[:, number] = value
    return columns


#: Nothing is changed within this part of what is wanted (`--horizontal-pod-autoscaler-tolerance`).
_TOLERANCE = 0.1


def scaled_spans(
    case: Case,
    scaler: Autoscaler,
    recorded: Recorded,
    replays: Replays,
    lag: Callable[[], float],
    owned: dict[str, list[Assignment]],
) -> Iterator[tuple[int, int, list[Assignment]]]:
    """Who owns what, also in `owned`, until the autoscaler looks again, or members are there that it has asked for.
    `lag`: messages that wait once the spans before are played. Raises `StrategyError` as `assignment_of`.
    """
    first = min((spans[0] for spans in recorded.replayed.values()), key=lambda span: span.start).interval
    count = max(len(first.members or ()), scaler.least, 1)
    scaling, look_at = _Scaling(scaler, count, count), 0
    for start, end, replayed in spans_of(recorded.replayed):
        most = max((len(span.interval.queues or ()) for span in replayed), default=scaler.most)
        now = start
        while now < end:
            scaling.start(now)
            if now >= look_at:
                scaling.look(now, lag(), most)
                look_at = now + scaler.every
            until = min(end, look_at, *(ready for ready, _ in scaling.starting[:1]))
            resized = replace(case, members=Change("=", scaling.members))
            spans = [span._replace(start=now, end=until) for span in replayed]
            assignments = [assignment_of(resized, span, replays) for span in spans]
            for assignment in assignments:
                owned[assignment.topic].append(assignment)
            yield now, until, assignments
            now = until


@dataclass
class _Scaling:
    """`members` that are there, and how many were `requested`; `starting`: when more of them are there, and how many
    then; `wanted`: when how many were wanted.
    """

    scaler: Autoscaler
    members: int
    requested: int
    starting: list[tuple[int, int]] = field(default_factory=list)
    wanted: list[tuple[int, int]] = field(default_factory=list)

    def start(self, now: int) -> None:
        """Members that were requested are there."""
        while self.starting and self.starting[0][0] <= now:
            self.members = self.starting.pop(0)[1]

    def look(self, now: int, lag: float, most: int) -> None:
        """Decide, with so many messages of lag, how many members to request: up to `most`."""
        scaler, wanted = self.scaler, self.requested
        if abs(lag / scaler.lag / self.requested - 1) > _TOLERANCE:
            wanted = -int(-lag // scaler.lag)
        wanted = max(min(wanted, scaler.most, most), scaler.least)
        recent = [(then, number) for then, number in self.wanted if then > now - scaler.down_after]
        self.wanted = [*recent, (now, wanted)]
        requested = max(wanted, min(self.requested, max(number for _, number in self.wanted)))
        if requested < self.requested:
            self.starting = []
            self.members = min(self.members, requested)
        elif requested > self.requested:
            self.starting.append((now + scaler.start, requested))
        self.requested = requested
