"""Message queues, the route they come from, and the order in which every client sorts them."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from spark_jobs.domain.model.causes import UnassignedCause

#: Characters of a name: RocketMQ refuses longer ones of topics and groups (`Validators`, `TopicValidator`).
LONGEST_NAME = 255
#: Bits of a broker's `perm` that let clients read, and producers write (Java `PermName`).
PERM_READ, PERM_WRITE = 4, 2
#: Message types of topics that are consumed otherwise than by an allocation. Source: `TopicMessageType`.
FIFO, PRIORITY, LITE = "FIFO", "PRIORITY", "LITE"
#: Instead of its message type, of a topic whose clients see logical queues (`topicQueueMappingByBroker`).
STATIC = "STATIC"


class MessageModel(StrEnum):
    """How a group's members consume (`MessageModel`); LITE_SELECTIVE since 5.5, lite topics."""

    CLUSTERING = "CLUSTERING"
    BROADCASTING = "BROADCASTING"
    LITE_SELECTIVE = "LITE_SELECTIVE"


class MessageQueue(NamedTuple):
    """One queue of a topic; `str()` is Java's `toString`, which CONSISTENT_HASH hashes."""

    topic: str
    broker_name: str
    queue_id: int

    def __str__(self) -> str:
        return f"MessageQueue [topic={self.topic}, brokerName={self.broker_name}, queueId={self.queue_id}]"


class RouteEntry(NamedTuple):
    """A broker of a topic's route, named once. `topic_type`: message type of the topic, or `STATIC`; None: unknown."""

    broker_name: str
    perm: int
    read_queue_nums: int
    write_queue_nums: int
    topic_type: str | None = None


class RouteQueue(NamedTuple):
    """A queue the route can hold messages in; `unreadable` says why no client lists it, None: clients do."""

    queue: MessageQueue
    unreadable: UnassignedCause | None


def java_order(text: str) -> bytes:
    """Sort key that orders like Java's `String.compareTo`: by UTF-16 code units."""
    return text.encode("utf-16-be", "surrogatepass")


def sort_queues(queues: Iterable[MessageQueue]) -> list[MessageQueue]:
    """By topic, broker name, then queue id as a number (Java `MessageQueue.compareTo`)."""
    return sorted(queues, key=lambda mq: (java_order(mq.topic), java_order(mq.broker_name), mq.queue_id))


def sort_client_ids(client_ids: Iterable[str]) -> list[str]:
    """Sort as every client sorts `cidAll`; duplicates are kept."""
    return sorted(client_ids, key=java_order)


def topic_type(route: Iterable[RouteEntry]) -> str | None:
    """Return the value of its entries; None: unknown."""
    return next((entry.topic_type for entry in route if entry.topic_type), None)


def all_queues(topic: str, route: Sequence[RouteEntry]) -> list[RouteQueue]:
    """One per queue to read or write, in allocation order: ids `0..max(read, write)-1` of each broker. Those that no
    client lists (beyond `read_queue_nums`, or without read permission) can hold messages, too.
    """
    unreadable = {
        MessageQueue(topic, entry.broker_name, queue_id): _unreadable(entry, queue_id)
        for entry in route
        for queue_id in range(max(entry.read_queue_nums, entry.write_queue_nums))
    }
    return [RouteQueue(queue, unreadable[queue]) for queue in sort_queues(unreadable)]


def broker_ranges(in_order: Iterable[tuple[str, int]]) -> list[str]:
    """The queues of each broker as text, neighbors as ranges: `broker-a:0,4-7`."""
    ids_of: dict[str, list[int]] = {}
    for broker, queue_id in in_order:
        ids_of.setdefault(broker, []).append(queue_id)
    return [f"{broker}:{number_ranges(ids)}" for broker, ids in ids_of.items()]


def queue_ranges(queues: Iterable[tuple[str, int]]) -> str:
    """Queues of one topic, each (broker name, queue id), as text in allocation order: `broker-a:0,4-7, broker-b:0`."""
    return ", ".join(broker_ranges(sorted(set(queues), key=lambda queue: (java_order(queue[0]), queue[1]))))


def queues_by_topic(queues: Iterable[tuple[str, str, int]]) -> str:
    """Neighbors as ranges: `orders broker-a:0-7 broker-b:0-3, ticks broker-a:1`."""
    of_topics: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for topic, broker, queue_id in sorted(queues):
        of_topics[topic].append((broker, queue_id))
    return ", ".join(" ".join((topic, *broker_ranges(places))) for topic, places in of_topics.items())


def number_ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers, neighbors as ranges: `0,4-7`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def _unreadable(entry: RouteEntry, queue_id: int) -> UnassignedCause | None:
    if not entry.perm & PERM_READ:
        return UnassignedCause.BROKER_NOT_READABLE
    if queue_id >= entry.read_queue_nums:
        return UnassignedCause.BEYOND_READ_QUEUES
    return None
