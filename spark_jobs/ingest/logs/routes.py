"""Which broker had how many queues of a topic, from what brokers, name servers and clients logged."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from operator import attrgetter, itemgetter
from typing import NamedTuple

from spark_jobs.domain.model.message_queue import PERM_WRITE
from spark_jobs.ingest.logs.events import Booted, QueueCounts, TopicChanged, WritePermission
from spark_jobs.ingest.logs.sources import Process


class QueuesChanged(NamedTuple):
    """A topic's queues at a broker from this time (milliseconds) on; None: it has none."""

    at: int
    queues: QueueCounts | None


def topics_of(read: Sequence[Process]) -> dict[str, dict[str, list[QueuesChanged]]]:
    """Per topic and broker the queues from when on, in order of time; before the first change of a topic its queues are
    those that the change names as the ones before, or that `topics.json` has.
    """
    changes: dict[str, dict[str, list[tuple[int, TopicChanged]]]] = defaultdict(lambda: defaultdict(list))
    permissions: dict[str, list[tuple[int, bool]]] = defaultdict(list)
    for process in read:
        for at, event in process.logged:
            broker = process.name if isinstance(event, TopicChanged) and event.broker is None else None
            if isinstance(event, TopicChanged) and (event.broker or broker):
                changes[event.topic][event.broker or str(broker)].append((at, event))
            elif isinstance(event, WritePermission):
                permissions[event.broker].append((at, event.writable))
    brokers = {process.name: process for process in read if process.name}
    for name, process in brokers.items():
        for topic in process.topics or ():
            changes[topic].setdefault(str(name), [])
    return {
        topic: {
            broker: _permitted(_of_broker(logged, brokers.get(broker), topic), permissions[broker])
            for broker, logged in of_topic.items()
        }
        for topic, of_topic in changes.items()
    }


def _of_broker(logged: list[tuple[int, TopicChanged]], broker: Process | None, topic: str) -> list[QueuesChanged]:
    begins = broker.alive[0][0] if broker else 0
    if not logged:
        table = broker.topics if broker else None
        return [QueuesChanged(begins, (table or {}).get(topic))]
    ordered = [change for _, change in sorted(logged, key=itemgetter(0))]
    times = sorted(at for at, _ in logged)
    first = QueuesChanged(begins, ordered[0].before)
    return [first, *(QueuesChanged(at, change.queues) for at, change in zip(times, ordered, strict=True))]


def _permitted(changes: list[QueuesChanged], permissions: Iterable[tuple[int, bool]]) -> list[QueuesChanged]:
    """The changes, and those that a change of the broker's permission makes to the queues of that time."""
    for at, writable in sorted(permissions):
        place = bisect_right(changes, at, key=attrgetter("at"))
        queues = changes[place - 1].queues if place else None
        if queues:
            perm = queues.perm | PERM_WRITE if writable else queues.perm & ~PERM_WRITE
            changes.insert(place, QueuesChanged(at, queues._replace(perm=perm)))
    return changes


def addresses_of(read: Sequence[Process]) -> dict[str, str]:
    """The address of each broker, as it last logged it."""
    return {event.broker: event.address for process in read for _, event in process.logged if isinstance(event, Booted)}
