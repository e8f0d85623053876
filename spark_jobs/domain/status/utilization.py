"""The utilization of a group: messages received as a part of what its members can consume, and the headroom left."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import groupby
from math import isclose
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.kernel.allocations import Allocation
from spark_jobs.domain.kernel.audited_step import ALL_HOSTS, AuditedStep, IntervalProgress
from spark_jobs.domain.kernel.matrices import known_total
from spark_jobs.domain.model.history import UNKNOWN, Numbers, Place
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
    counted = reported.keys() - _uncounted(step.progress)
    allocated, of_unknown_owners = _allocated(step.progress)
    usages = {client_id: _usage(reported[client_id], *loads) for client_id, loads in _loads(allocated, counted).items()}
    received = sum(usage.received for usage in usages.values())
    if not received or 2 * received < of_unknown_owners + sum(each.received for each in allocated):
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


@dataclass
class _Allocated:
    """The times in which a topic has one allocation. Of each of its queues: messages produced in them, and for how many
    microseconds that is known.
    """

    topic: str
    allocation: Allocation
    messages: Numbers
    micros: Numbers
    times: list[Time] = field(default_factory=list)

    @property
    def received(self) -> int:
        """Messages that members received: each as often as its queue has owners."""
        receivers = np.array([max(len(ids), 1) for ids in self.allocation.owner_ids], np.int64)
        return int((self.messages * receivers).sum())


def _allocated(progress: Iterable[IntervalProgress]) -> tuple[Sequence[_Allocated], int]:
    """One per (topic, allocation), as a group changes back and forth between few; and the messages of queues with
    unknown owners, and those that were consumed again.
    """
    allocated: dict[tuple[str, int], _Allocated] = {}
    of_unknown_owners = 0
    for row, start, end in read_rows(progress):
        is_known, allocation, topic = row.produced != UNKNOWN, owners_of(row), row.interval.topic
        produced = np.where(is_known, row.produced, 0)
        of_unknown_owners += known_total(row.rewound) or 0
        if allocation is None:
            of_unknown_owners += int(produced.sum())
            continue
        nothing = np.zeros_like(produced)
        same = allocated.setdefault((topic, id(allocation)), _Allocated(topic, allocation, nothing, nothing.copy()))
        same.messages += produced
        same.micros += np.where(is_known, end - start, 0)
        same.times.append((start, end))
    return [*allocated.values()], of_unknown_owners


def _loads(allocated: Iterable[_Allocated], client_ids: set[str]) -> dict[str, tuple[Sequence[QueueLoad], float]]:
    """By client id of these, the loads of its queues, and for how many seconds it owned any queue."""
    loads: dict[str, dict[tuple[str, Place], tuple[int, int]]] = defaultdict(dict)
    times: dict[str, list[Time]] = defaultdict(list)
    for each in allocated:
        allocation, columns = each.allocation, (each.messages.tolist(), each.micros.tolist())
        for queue, ids, messages, micros in zip(allocation.queues, allocation.owner_ids, *columns, strict=True):
            for client_id in (each_id for each_id in ids if each_id in client_ids):
                before = loads[client_id].get((each.topic, queue), (0, 0))
                loads[client_id][each.topic, queue] = before[0] + messages, before[1] + micros
        for client_id in client_ids.intersection(allocation.queues_of_client):
            times[client_id] += each.times
    of_members = {
        client_id: [QueueLoad(topic, sent, micros / SECOND) for (topic, _), (sent, micros) in of.items() if micros]
        for client_id, of in loads.items()
    }
    return {client_id: (of, covered(times[client_id]) / SECOND) for client_id, of in of_members.items() if of}


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
