"""The utilization of a group: messages received as a part of what its members can consume, and the headroom left."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import groupby
from math import isclose
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.kernel.allocations import Allocation
from spark_jobs.domain.kernel.audited_step import ALL_HOSTS, AuditedStep, IntervalProgress
from spark_jobs.domain.model.history import UNKNOWN, Place
from spark_jobs.domain.model.window import SECOND, Time, covered
from spark_jobs.domain.status.throughput import Throughput, throughputs

_DIGITS = 6


class Bottleneck(StrEnum):
    """The limit of a member: its threads, its pulls, those of a queue with twice the topic's average, or the one thread
    that an orderly consumer has for each queue (`ConsumeMessageOrderlyService`).
    """

    LISTENER = "LISTENER"
    PULLS = "PULLS"
    HOT_QUEUE = "HOT_QUEUE"
    ORDERED_QUEUE = "ORDERED_QUEUE"


class Utilization(NamedTuple):
    """Messages received as a part of what all members, and the busiest one, could have consumed; None is unknown.

    `headroom_messages_per_second`: how many more, spread as these were, before a member falls behind.
    """

    utilization: float | None = None
    busiest_utilization: float | None = None
    busiest_member: str | None = None
    busiest_bottleneck: str | None = None
    headroom_messages_per_second: float | None = None


class QueueLoad(NamedTuple):
    """Messages produced to one queue of a member, and for how many seconds the member owned it."""

    topic: str
    messages: float
    seconds: float


class _Usage(NamedTuple):
    """One member: messages it received and could have consumed, the part of its limit it reached, and that limit."""

    received: float
    capacity: float
    utilization: float
    limit: Bottleneck


def utilization(step: AuditedStep, produced_messages_per_second: float | None) -> Utilization:
    """How much of its capacity a group used in a step; `produced_messages_per_second`: over all queues.

    Unknown without messages, and if members with a known utilization received less than half of them.
    """
    reported = throughputs(step.history.clients, step.window.start, step.window.end)
    if not reported or not produced_messages_per_second:
        return Utilization()
    uncounted = _uncounted(step.progress)
    traffic = _Traffic({client_id: reported[client_id] for client_id in reported if client_id not in uncounted})
    for row, start, end in read_rows(step.progress):
        traffic.add(row, start, end)
    usages = {client_id: _usage(reported[client_id], *loads) for client_id, loads in traffic.members().items()}
    received = sum(usage.received for usage in usages.values())
    if not received or 2 * received < traffic.received:
        return Utilization()
    busiest = max(sorted(usages), key=lambda client_id: usages[client_id].utilization)
    highest = usages[busiest].utilization
    return Utilization(
        round(received / sum(usage.capacity for usage in usages.values()), _DIGITS),
        round(highest, _DIGITS),
        busiest,
        usages[busiest].limit.value,
        round(max(produced_messages_per_second * (1 / highest - 1), 0.0), _DIGITS),
    )


def _usage(client: Throughput, queues: Sequence[QueueLoad], seconds: float) -> _Usage:
    listener, per_queue = client.on_average()
    received = sum(load.messages for load in queues)
    hottest = max(queues, key=lambda load: load.messages / load.seconds)
    rate = hottest.messages / hottest.seconds
    same_topic = [load for load in queues if load.topic == hottest.topic]
    average = sum(load.messages for load in same_topic) / sum(load.seconds for load in same_topic)
    by_listener, by_queue = received / (listener * seconds), rate / per_queue
    capacity = min(listener * seconds, per_queue * sum(load.seconds for load in queues))
    limit = Bottleneck.LISTENER if by_listener >= by_queue else queue_limit(client, listener, per_queue, rate, average)
    return _Usage(received, capacity, max(by_listener, by_queue), limit)


def queue_limit(client: Throughput, listener: float, per_queue: float, hottest: float, average: float) -> Bottleneck:
    """The limit of a member that takes no more from its hottest queue; all rates are messages a second."""
    if 2 * average < hottest:
        return Bottleneck.HOT_QUEUE
    last = client.settings.states[client.settings.codes[-1]]
    is_thread = last.orderly and isclose(per_queue, listener / last.threads)
    return Bottleneck.ORDERED_QUEUE if is_thread else Bottleneck.PULLS


_Numbers = NDArray[np.int64]


class _OwnedQueues(NamedTuple):
    """The queues that members with a known throughput own in an allocation, an entry per queue and owner. `numbers`: of
    the entry in `_Traffic.owned`; `places`: of its queue; `receivers`: how often each message of a queue is received.
    """

    client_ids: Sequence[str]
    numbers: _Numbers
    places: _Numbers
    receivers: _Numbers


@dataclass
class _Traffic:
    """Messages produced to the queues of members with a known throughput. `owned`: each of these queues, numbered;
    `parts`: numbers, messages and microseconds; `spans`: when a member owned any; `received`: messages of all members.
    """

    throughputs: Mapping[str, Throughput]
    owned: dict[tuple[str, str, Place], int] = field(default_factory=dict)
    shares: dict[tuple[str, int], _OwnedQueues] = field(default_factory=dict)
    parts: list[tuple[_Numbers, _Numbers, _Numbers]] = field(default_factory=list)
    spans: dict[str, list[Time]] = field(default_factory=lambda: defaultdict(list))
    received: int = 0

    def add(self, row: IntervalProgress, start: int, end: int) -> None:
        """Adds the messages of one row of progress, produced from `start` to `end` (microseconds)."""
        produced = np.where(row.produced == UNKNOWN, 0, row.produced)
        self.received += int(row.rewound[row.rewound != UNKNOWN].sum())
        allocation = owners_of(row)
        if allocation is None:
            self.received += int(produced.sum())
            return
        shares = self._shares(row.interval.topic, allocation)
        self.received += int((produced * shares.receivers).sum())
        known = row.produced[shares.places] != UNKNOWN
        numbers, places = shares.numbers[known], shares.places[known]
        self.parts.append((numbers, produced[places], np.full(len(numbers), end - start)))
        for client_id in shares.client_ids:
            self.spans[client_id].append((start, end))

    def _shares(self, topic: str, allocation: Allocation) -> _OwnedQueues:
        """The owned queues of an allocation; kept, as a group changes back and forth between few allocations."""
        key = topic, id(allocation)
        if key not in self.shares:
            entries = [
                ((client_id, topic, queue), place)
                for place, (queue, ids) in enumerate(zip(allocation.queues, allocation.owner_ids, strict=True))
                for client_id in ids
                if client_id in self.throughputs
            ]
            self.shares[key] = _OwnedQueues(
                list(dict.fromkeys(client_id for (client_id, _, _), _ in entries)),
                np.array([self.owned.setdefault(owned_queue, len(self.owned)) for owned_queue, _ in entries], np.int64),
                np.array([place for _, place in entries], np.int64),
                np.array([max(len(ids), 1) for ids in allocation.owner_ids], np.int64),
            )
        return self.shares[key]

    def members(self) -> dict[str, tuple[list[QueueLoad], float]]:
        """By client id, the loads of its queues, and for how many seconds it owned any queue."""
        if not self.parts:
            return {}
        numbers, *sums = (np.concatenate(column) for column in zip(*self.parts, strict=True))
        messages, micros = (np.bincount(numbers, weights, len(self.owned)).tolist() for weights in sums)
        queues = defaultdict[str, list[QueueLoad]](list)
        for (client_id, topic, _), number in self.owned.items():
            if micros[number]:
                queues[client_id].append(QueueLoad(topic, messages[number], micros[number] / SECOND))
        return {client_id: (loads, covered(self.spans[client_id]) / SECOND) for client_id, loads in queues.items()}


def owners_of(row: IntervalProgress) -> Allocation | None:
    """The allocation of an interval; None: unknown who consumes its queues, as brokers disagree or members pop."""
    return None if row.interval.has_popping_members or row.interval.view != ALL_HOSTS else row.interval.allocation


def read_rows(progress: Iterable[IntervalProgress]) -> Iterator[tuple[IntervalProgress, int, int]]:
    """The rows with samples, each with the time in which its messages were produced: since the topic's row before."""
    for _, topic_rows in groupby(progress, key=lambda row: row.interval.topic):
        since: int | None = None
        for row in topic_rows:
            if row.readings.any():
                yield row, row.start if since is None else since, row.end
                since = row.end


def _uncounted(progress: Sequence[IntervalProgress]) -> set[str]:
    """Client ids that own queues of an ordinary topic whose produced messages are unknown."""
    counted = {row.interval.topic for row in progress if (row.produced != UNKNOWN).any()}
    uncounted = [row for row in progress if row.interval.is_ordinary and row.interval.topic not in counted]
    allocations = (allocation for row in uncounted if (allocation := owners_of(row)))
    return {client_id for allocation in allocations for ids in allocation.owner_ids for client_id in ids}
