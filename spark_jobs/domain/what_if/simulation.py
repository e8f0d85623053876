"""A case played over what was recorded: who would have owned what, and what would have waited."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.kernel.triggers import moved_between
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.status.throughput import Rates, Times
from spark_jobs.domain.what_if.assignments import Assignment
from spark_jobs.domain.what_if.cases import Case, origin
from spark_jobs.domain.what_if.fluid import Amounts, Service, flow, inflow
from spark_jobs.domain.what_if.pace import Members, Pace
from spark_jobs.domain.what_if.recorded import BacklogCourse, Recorded, spans_of


@dataclass(frozen=True)
class KnownMembers:
    """What the recording tells of its `members`; the `pause` of a queue that changes hands, in microseconds; and how
    many seconds a message waits that is consumed and not yet committed.
    """

    members: Members
    pause: int = 0
    uncommitted: float = 0.0

    def rates_of(self, client_id: str, case: Case, times: Times) -> KnownRates | None:
        """Of a member in a case at these times (microseconds); None: nothing tells how fast it could be.

        What the case says of it; else what it reported itself; else what it was seen to do at its limit; else what the
        others reported; else what it, or another, was seen to do.
        """
        names = (client_id, origin(client_id))
        speed = next((case.speed[name] for name in names if name in case.speed), None)
        if speed is not None:
            return _steady(Pace(speed, True), times)
        seen = self.members.paces.get(origin(client_id))
        reported = self.members.reported.get(origin(client_id))
        if reported is None and not (seen and seen.reached):
            reported = self.members.typical
        if reported is not None:
            return KnownRates(reported.rates(times, case.changes_of(client_id)), True)
        pace = seen or self.members.usual
        return _steady(pace, times) if pace else None


class KnownRates(NamedTuple):
    """How fast a member could be over time; not `known`: at least as fast."""

    rates: Rates
    known: bool


def _steady(pace: Pace, times: Times) -> KnownRates:
    return KnownRates(Rates(np.full(len(times), pace.rate), np.full(len(times), np.inf)), pace.reached)


@dataclass
class Simulation:
    """`waiting`: messages at each of the recorded times, NaN where nothing is claimed; `twice`: messages consumed more
    often than once; `strained`: client ids that had a backlog, and those of them whose pulls held back more of it than
    their listeners (`by_pulls`); `at_most`: of one of them it is not known how fast it could be.
    """

    owned: Mapping[str, Sequence[Assignment]]
    waiting: Amounts
    twice: float
    strained: set[str] = field(default_factory=set)
    by_pulls: set[str] = field(default_factory=set)
    at_most: bool = False


def simulate(
    case: Case, owned: Mapping[str, Sequence[Assignment]], recorded: Recorded, known: KnownMembers
) -> Simulation | None:
    """What waits, given who owns what; None: of some owner nothing tells how fast it could be."""
    run = Run(case, inflow(case, recorded), known)
    owners = {one for of_topic in owned.values() for replayed in of_topic for one in run.entries(replayed).client_ids}
    if any(run.rates_of(client_id) is None for client_id in owners):
        return None
    return run.played(spans_of(owned), owned)


class _Entries(NamedTuple):
    """One per (client id, queue that it owns): its column, and by how many connections it is owned."""

    client_ids: list[str]
    columns: list[int]
    connections: list[int]


@dataclass
class Run:
    """One case while it is played: `rates` of the members, by client id; `waits`: messages in each queue; `paused`:
    until when; `claimed`: it is known.
    """

    case: Case
    course: BacklogCourse
    known: KnownMembers
    rates: dict[str, KnownRates | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        count = len(self.course.queues)
        self.waits, self.claimed = np.zeros(count), np.zeros(count, bool)
        self.paused = np.zeros(count, np.int64)
        self.of_allocation: dict[tuple[str, int], _Entries] = {}

    def rates_of(self, client_id: str) -> KnownRates | None:
        """How fast a member could be at the times of the course; None: nothing tells it."""
        if client_id not in self.rates:
            self.rates[client_id] = self.known.rates_of(client_id, self.case, self.course.times)
        return self.rates[client_id]

    def entries(self, owned: Assignment) -> _Entries:
        """Of one topic; queues that were never recorded are left out."""
        key = owned.topic, id(owned.allocation)
        if key not in self.of_allocation:
            found = self.of_allocation[key] = _Entries([], [], [])
            for place, owners in zip(owned.allocation.queues, owned.allocation.owners, strict=True):
                column = self.course.columns.get(MessageQueue(owned.topic, *place))
                for client_id, count in Counter(owned.client_ids[owner] for owner in owners).items():
                    if column is not None:
                        found.client_ids.append(client_id)
                        found.columns.append(column)
                        found.connections.append(count)
        return self.of_allocation[key]

    def played(
        self, spans: Iterable[tuple[int, int, Sequence[Assignment]]], owned: Mapping[str, Sequence[Assignment]]
    ) -> Simulation:
        """Span by span, each of which is asked for when those before it were played. Of all owners it is known how fast
        they are.
        """
        result = Simulation(owned, np.full(len(self.course.times), np.nan), 0.0)
        cuts, before = self._cuts(), dict[str, Assignment]()
        resumed: list[int] = []
        for start, end, replayed in spans:
            if columns := self._handed_over(before, replayed):
                self.paused[columns] = start + self.known.pause
                resumed.append(start + self.known.pause)
            before = {one.topic: one for one in replayed}
            first, last = np.searchsorted(self.course.times, (start, end), side="right").tolist()
            inside = cuts[slice(*np.searchsorted(cuts, (first + 1, last)).tolist())].tolist()
            resumed = [one for one in resumed if one >= start]
            again = np.searchsorted(self.course.times, np.array(resumed, np.int64), side="right").tolist()
            inside += [one for one in again if first < one < last]
            for row, behind in pairwise(sorted({max(first, 1), *inside, max(last, 1)})):
                self._span(result, slice(row, behind), replayed, start)
        return result

    def _handed_over(self, before: Mapping[str, Assignment], replayed: Iterable[Assignment]) -> list[int]:
        """The columns of the queues that changed hands."""
        return [
            self.course.columns[queue]
            for after in replayed
            if (earlier := before.get(after.topic)) and earlier.allocation is not after.allocation
            for place in moved_between(earlier.allocation, after.allocation).handed_over
            if (queue := MessageQueue(after.topic, *place)) in self.course.columns
        ]

    def _cuts(self) -> NDArray[np.int64]:
        """Rows of the matrices before which something changes that is no allocation."""
        edges = [moment for one in self.known.members.stood_still for moment in (one.start, one.end)]
        times = np.searchsorted(self.course.times, np.array(edges, np.int64), side="right")
        changed = np.flatnonzero((self.course.known[1:] != self.course.known[:-1]).any(axis=1)) + 1
        return np.unique(np.concatenate([times, changed]))

    def _span(self, result: Simulation, rows: slice, replayed: Sequence[Assignment], since: int) -> None:
        """Plays the rows of one span, in which only the messages change. Who is there `since` a time between two
        rows is there from the first.
        """
        course, start = self.course, max(int(self.course.times[rows.start - 1]), since)
        known = course.known[rows.start]
        self.waits = np.where(known, np.where(self.claimed, self.waits, course.waiting[rows.start - 1]), 0)
        self.claimed = known
        if not known.any():
            return
        produced = np.where(known, np.diff(course.produced[rows.start - 1 : rows.stop], axis=0), 0)
        ids, service, connections = self._service(replayed, known & (self.paused <= start))
        idle = {one.client_id for one in self.known.members.stood_still if one.start <= start < one.end}
        rates = [known_rates for one in ids if (known_rates := self.rates_of(one))]
        seconds = np.diff(course.times[rows.start - 1 : rows.stop])[:, None] / SECOND
        listeners = [
            0 if origin(one) in idle else of_one.rates.listener[rows] for one, of_one in zip(ids, rates, strict=True)
        ]
        capacity = seconds * _columns(listeners, len(seconds))
        pulls = seconds * _columns([one.rates.queue[rows] for one in rates], len(seconds))
        flowed = flow(self.waits, produced, service, capacity, pulls[:, service.server])
        served = np.unique(service.queue)
        needed = (self.waits + produced.sum(axis=0) - flowed.waiting[-1])[served].sum()
        result.twice += float((flowed.served * connections).sum() - needed)
        result.strained.update(np.array(ids, object)[flowed.strained].tolist())
        result.by_pulls.update(np.array(ids, object)[flowed.strained & flowed.by_pulls].tolist())
        result.at_most |= any(strained and not one.known for strained, one in zip(flowed.strained, rates, strict=True))
        self.waits = flowed.waiting[-1]
        uncommitted = produced[:, served] / seconds * self.known.uncommitted
        seen = flowed.waiting.copy()
        seen[:, served] = np.maximum(seen[:, served], uncommitted)
        result.waiting[rows] = seen[:, known].sum(axis=1)

    def _service(
        self, replayed: Sequence[Assignment], served: NDArray[np.bool_]
    ) -> tuple[list[str], Service, NDArray[np.int64]]:
        """Client ids of the servers, who serves what, and per entry its connections."""
        found = [self.entries(one) for one in replayed]
        ids, columns, connections = (
            [one for of_topic in part for one in of_topic] for part in zip(*found, strict=True)
        )
        queue = np.array(columns, np.int64)
        kept = np.flatnonzero(served[queue])
        names = sorted({ids[entry] for entry in kept.tolist()})
        numbers = {name: number for number, name in enumerate(names)}
        server = np.array([numbers[ids[entry]] for entry in kept.tolist()], np.int64)
        order = np.argsort(server, kind="stable")
        kept = kept[order]
        return names, Service(server[order], queue[kept]), np.array(connections, np.int64)[kept]


def _columns(values: Sequence[Any], rows: int) -> Amounts:
    """One column per value, which is a number or has one per row."""
    found = np.empty((rows, len(values)))
    for column, value in enumerate(values):
        found[:, column] = value
    return found
