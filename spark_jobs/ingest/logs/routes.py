"""Which broker had how many queues of a topic, from what brokers, name servers and clients logged."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter, itemgetter
from typing import NamedTuple

from spark_jobs.domain.model.message_queue import PERM_WRITE
from spark_jobs.domain.model.window import Time
from spark_jobs.ingest.logs.events import Booted, QueueCounts, TopicChanged, TopicListed, WritePermission
from spark_jobs.ingest.logs.read import LONGEST_SILENCE, spans_of
from spark_jobs.ingest.logs.sources import Process

OfTopic = TopicListed | TopicChanged


class QueuesChanged(NamedTuple):
    """A topic's queues at a broker from this time (milliseconds) on; None: it has none."""

    at: int
    queues: QueueCounts | None


class Presence(NamedTuple):
    """When a broker was up, and when it was down (milliseconds, both ends within); else that is unknown."""

    up: Sequence[Time]
    down: Sequence[Time]

    def state_at(self, at: int, changes: Sequence[QueuesChanged]) -> QueuesChanged | None:
        """A topic's queues at the broker; None: unknown. Without its log, name servers and clients count."""
        if any(first <= at <= last for first, last in self.down):
            return QueuesChanged(at, None)
        place = bisect_right(changes, at, key=attrgetter("at"))
        newest = changes[place - 1] if place else None
        is_up = any(first <= at <= last + LONGEST_SILENCE for first, last in self.up)
        silent_since = max((last for _, last in self.up if last < at), default=0)
        return newest if newest and (is_up or newest.at > silent_since) else None


def presence_of(read: Sequence[Process]) -> Mapping[str, Presence]:
    """Per broker when it was up: one without logs while name servers and clients have some."""
    of_unnamed = spans_of(span for process in read if not process.name for span in process.alive)
    presence = {str(process.name): Presence(process.alive, _down(process)) for process in read if process.name}
    return defaultdict(lambda: Presence(of_unnamed, ()), presence)


def boots_of(process: Process) -> list[int]:
    """When the broker has started, in order of time."""
    return [at for at, event in process.logged if isinstance(event, Booted)]


def _down(process: Process) -> list[Time]:
    """The gaps of a broker's log, and the time before it, that end with a start of the broker."""
    boots = boots_of(process)
    gaps = zip([0, *(last + 1 for _, last in process.alive)], [first - 1 for first, _ in process.alive], strict=False)
    return [(end, start) for end, start in gaps if any(start < boot <= start + LONGEST_SILENCE for boot in boots)]


def topics_of(read: Sequence[Process]) -> dict[str, dict[str, list[QueuesChanged]]]:
    """Queues per topic and broker since each time; before the first, as that change or `topics.json` names them."""
    changes: dict[str, dict[str, list[tuple[int, OfTopic]]]] = defaultdict(lambda: defaultdict(list))
    permissions: dict[str, list[tuple[int, bool]]] = defaultdict(list)
    for process in read:
        for at, event in process.logged:
            if isinstance(event, OfTopic) and (broker := event.broker or process.name):
                changes[event.topic][broker].append((at, event))
            elif isinstance(event, WritePermission):
                permissions[event.broker].append((at, event.writable))
    brokers = {process.name: process for process in read if process.name}
    for name, process in brokers.items():
        for topic in process.topics:
            changes[topic].setdefault(str(name), [])
    return {
        topic: {
            broker: _permitted(_of_broker(logged, brokers.get(broker), topic), permissions[broker])
            for broker, logged in of_topic.items()
        }
        for topic, of_topic in changes.items()
    }


def _losses(logged: Sequence[tuple[int, OfTopic]], boots: Sequence[int]) -> Iterator[tuple[int, OfTopic]]:
    """The starts at which a broker has not loaded a topic that it had: its store is lost."""
    own = [(at, event) for at, event in logged if event.broker is None and isinstance(event, TopicChanged)]
    for former, boot in pairwise([0, *boots]):
        known = [event for at, event in own if at <= boot]
        loaded = any(former < at <= boot and event.before == event.queues for at, event in own)
        if known and known[-1].queues and not loaded:
            yield boot, TopicChanged(None, known[-1].topic, None, known[-1].queues)


def _of_broker(logged: list[tuple[int, OfTopic]], broker: Process | None, topic: str) -> list[QueuesChanged]:
    begins = broker.alive[0][0] if broker and broker.alive else 0
    stored = broker.topics.get(topic) if broker else None
    if not logged:
        return [QueuesChanged(begins, stored)]
    lost = _losses(sorted(logged, key=itemgetter(0)), boots_of(broker) if broker else ())
    ordered = sorted([*logged, *lost], key=itemgetter(0))
    changes = [QueuesChanged(at, event.queues) for at, event in ordered]
    match ordered[0][1]:
        case TopicChanged(before=before):
            return [QueuesChanged(begins, before), *changes]
        case TopicListed(queues=queues) if queues == stored:
            return [QueuesChanged(begins, stored), *changes]
    return changes


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
