"""How near a group was to what its members can consume, and how many more messages a second it would have taken."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import groupby
from math import isclose
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.kernel.audited_step import ALL_HOSTS, Allocation, AuditedStep, IntervalProgress
from spark_jobs.domain.model.history import UNKNOWN, Place
from spark_jobs.domain.model.window import SECOND, Time, covered
from spark_jobs.domain.rocketmq.strategies import is_popped
from spark_jobs.domain.status.throughput import Throughput, throughputs

_DIGITS = 6


class Bottleneck(StrEnum):
    """What keeps a member from consuming more: its threads, the pulls of its queues, or those of one of them that gets
    more than twice as much as its queues of the topic do on average.
    """

    LISTENER = "LISTENER"
    PULLS = "PULLS"
    HOT_QUEUE = "HOT_QUEUE"


class Utilisation(NamedTuple):
    """Messages that came in, as a part of what could have been consumed: of all members together, and of the one that
    was nearest to its limit. `headroom`: messages a second more, spread as these were, before it falls behind.

    All are None where it is unknown.
    """

    utilisation: float | None = None
    busiest_utilisation: float | None = None
    busiest_member: str | None = None
    busiest_limit: str | None = None
    headroom: float | None = None


class QueueLoad(NamedTuple):
    """Messages that came into one queue of a member, and for how many seconds it owned it."""

    topic: str
    messages: float
    seconds: float


class _Used(NamedTuple):
    """Of one member: messages that came, that it could have consumed, and the part of its limit that it reached."""

    came: float
    capacity: float
    utilisation: float
    limit: Bottleneck


def utilisation(step: AuditedStep, in_rate: float | None) -> Utilisation:
    """Of one step, by its own snapshots; `in_rate`: messages a second that came into all queues.

    Unknown where no message came, and where the members of which it is known received less than half of them: a member
    told too little, nobody counts the messages of one of its queues, or the owners are not known (POP).
    """
    told = throughputs(step.history.clients, step.window.start, step.window.end)
    if not told or not in_rate:
        return Utilisation()
    uncounted = _uncounted(step.progress)
    traffic = _Traffic({client_id: throughput for client_id, throughput in told.items() if client_id not in uncounted})
    for row, start, end in read_rows(step.progress):
        traffic.add(row, start, end)
    used = {client_id: _used(told[client_id], *of_member) for client_id, of_member in traffic.members().items()}
    came = sum(one.came for one in used.values())
    if not came or 2 * came < traffic.received:
        return Utilisation()
    busiest = max(sorted(used), key=lambda client_id: used[client_id].utilisation)
    highest = used[busiest].utilisation
    return Utilisation(
        round(came / sum(one.capacity for one in used.values()), _DIGITS),
        round(highest, _DIGITS),
        busiest,
        used[busiest].limit.value,
        round(max(in_rate * (1 / highest - 1), 0.0), _DIGITS),
    )


def _used(told: Throughput, queues: Sequence[QueueLoad], seconds: float) -> _Used:
    listener, of_queue = told.on_average()
    came = sum(load.messages for load in queues)
    hottest = max(queues, key=lambda load: load.messages / load.seconds)
    rate = hottest.messages / hottest.seconds
    beside = [load for load in queues if load.topic == hottest.topic]
    average = sum(load.messages for load in beside) / sum(load.seconds for load in beside)
    by_listener, by_queue = came / (listener * seconds), rate / of_queue
    capacity = min(listener * seconds, of_queue * sum(load.seconds for load in queues))
    limit = Bottleneck.LISTENER if by_listener >= by_queue else queue_limit(told, listener, of_queue, rate, average)
    return _Used(came, capacity, max(by_listener, by_queue), limit)


def queue_limit(told: Throughput, listener: float, of_queue: float, hottest: float, average: float) -> Bottleneck:
    """What limits a member that can take no more of its hottest queue: of an orderly consumer it may be the one thread
    that takes all of a queue. Messages a second.
    """
    if 2 * average < hottest:
        return Bottleneck.HOT_QUEUE
    last = told.settings.states[told.settings.codes[-1]]
    return Bottleneck.LISTENER if last.orderly and isclose(of_queue, listener / last.threads) else Bottleneck.PULLS


_Numbers = NDArray[np.int64]


class _OwnedQueues(NamedTuple):
    """Who owns what in an allocation, of the members that told: an entry per queue and owner. `numbers`: of the entry
    in `_Traffic.owned`; `places`: of its queue; `receivers`: how often each message of a queue is received.
    """

    client_ids: Sequence[str]
    numbers: _Numbers
    places: _Numbers
    receivers: _Numbers


@dataclass
class _Traffic:
    """What came into the queues of the members that `told`. `owned`: each queue of each of them, with its number;
    `parts`: numbers, messages and microseconds; `spans`: when it owned any; `received`: messages of all members.
    """

    told: Mapping[str, Throughput]
    owned: dict[tuple[str, str, Place], int] = field(default_factory=dict)
    shares: dict[tuple[str, int], _OwnedQueues] = field(default_factory=dict)
    parts: list[tuple[_Numbers, _Numbers, _Numbers]] = field(default_factory=list)
    spans: dict[str, list[Time]] = field(default_factory=lambda: defaultdict(list))
    received: int = 0

    def add(self, row: IntervalProgress, start: int, end: int) -> None:
        """What came in a time, by the readings of an interval."""
        came = np.where(row.produced == UNKNOWN, 0, row.produced)
        allocation = owners_of(row)
        if allocation is None:
            self.received += int(came.sum())
            return
        shares = self._shares(row.interval.topic, allocation)
        self.received += int((came * shares.receivers).sum())
        known = row.produced[shares.places] != UNKNOWN
        numbers, places = shares.numbers[known], shares.places[known]
        self.parts.append((numbers, came[places], np.full(len(numbers), end - start)))
        for client_id in shares.client_ids:
            self.spans[client_id].append((start, end))

    def _shares(self, topic: str, allocation: Allocation) -> _OwnedQueues:
        """Kept, as a group goes back and forth between few allocations."""
        key = topic, id(allocation)
        if key not in self.shares:
            entries = [
                ((client_id, topic, queue), place)
                for place, (queue, ids) in enumerate(zip(allocation.queues, allocation.owner_ids, strict=True))
                for client_id in ids
                if client_id in self.told
            ]
            self.shares[key] = _OwnedQueues(
                list(dict.fromkeys(client_id for (client_id, _, _), _ in entries)),
                np.array([self.owned.setdefault(one, len(self.owned)) for one, _ in entries], np.int64),
                np.array([place for _, place in entries], np.int64),
                np.array([max(len(ids), 1) for ids in allocation.owner_ids], np.int64),
            )
        return self.shares[key]

    def members(self) -> dict[str, tuple[list[QueueLoad], float]]:
        """By client id its queues, and for how many seconds it owned any."""
        if not self.parts:
            return {}
        numbers, *values = (np.concatenate(column) for column in zip(*self.parts, strict=True))
        messages, micros = (np.bincount(numbers, one, len(self.owned)).tolist() for one in values)
        queues = defaultdict[str, list[QueueLoad]](list)
        for (client_id, topic, _), number in self.owned.items():
            if micros[number]:
                queues[client_id].append(QueueLoad(topic, messages[number], micros[number] / SECOND))
        return {client_id: (found, covered(self.spans[client_id]) / SECOND) for client_id, found in queues.items()}


def owners_of(row: IntervalProgress) -> Allocation | None:
    """Who consumes its queues; None: nobody knows, as brokers disagree, or several members pop from one queue."""
    popped = any(is_popped(member.strategy) for member in row.interval.members or ())
    return None if popped or row.interval.view != ALL_HOSTS else row.interval.allocation


def read_rows(progress: Iterable[IntervalProgress]) -> Iterator[tuple[IntervalProgress, int, int]]:
    """The rows that have readings, with the time in which what they tell came: since the row before that has some."""
    for _, of_topic in groupby(progress, key=lambda one: one.interval.topic):
        since: int | None = None
        for one in of_topic:
            if one.readings.any():
                yield one, one.start if since is None else since, one.end
                since = one.end


def _uncounted(progress: Sequence[IntervalProgress]) -> set[str]:
    """Client ids that own queues of an ordinary topic of which no message is counted."""
    counted = {one.interval.topic for one in progress if (one.produced != UNKNOWN).any()}
    unknown = [one for one in progress if one.interval.is_ordinary and one.interval.topic not in counted]
    return {client_id for one in unknown if (found := owners_of(one)) for ids in found.owner_ids for client_id in ids}
