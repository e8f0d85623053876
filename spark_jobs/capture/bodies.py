"""Further names to ask for, from the texts that came, and texts as the recording has them."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from spark_jobs.domain.model.message_queue import LONGEST_NAME, MessageModel
from spark_jobs.ingest import fastjson
from spark_jobs.ingest.fields import Record, named_records, records, text
from spark_jobs.ingest.references import ObjectKeyMap

#: Field of RocketMQ's messageRequestMode.json.
_MODES: Final = "messageRequestModeMap"
#: The modes of a group that the broker was given none for.
NO_MODES: Final = f'{{"{_MODES}":{{}}}}'
#: The line above the frames of a thread, each of which begins with the same name.
#: Source: org.apache.rocketmq.common.UtilAll.jstack, whose names have 40 characters or more.
_THREAD: Final = re.compile(r"(.*)TID: \d+ STATE: ([A-Z_]+)")
#: Of distinct stacks, and of the frames of one, the recording has so many: the most common, and the innermost.
_STACKS, _FRAMES = 20, 60
#: Topic, broker name and number of a queue.
Queue = tuple[str, str, str]
#: A message queue, and what is said of it, in RocketMQ's fields.
QueueEntry = tuple[dict[str, Any], dict[str, Any]]


class ConnectionAnswer(NamedTuple):
    """One answer about connections: client ids, topics of subscriptions, `host:port` of each connection, and the client
    ids whose connections are all of Java.
    """

    clients: frozenset[str]
    topics: frozenset[str]
    broadcasting: bool
    addresses: tuple[str, ...]
    of_java: frozenset[str]


def members(body: str) -> ConnectionAnswer:
    """Raises `RejectedError` or `FastjsonError` where RocketMQ's text is another than expected."""
    record = Record(fastjson.parse(body), "body")
    connections = record.optional("connectionSet", records) or []
    clients = {connection.required("clientId", text) for connection in connections}
    not_java = {each.required("clientId", text) for each in connections if each.get("language") != "JAVA"}
    return ConnectionAnswer(
        frozenset(clients),
        frozenset(topic for topic, _ in record.optional("subscriptionTable", named_records) or ()),
        record.optional("messageModel", text) == MessageModel.BROADCASTING,
        tuple(sorted(filter(None, (connection.optional("clientAddr", text) for connection in connections)))),
        frozenset(clients - not_java),
    )


def brokers_of_route(body: str) -> tuple[str, ...]:
    """Names of the brokers that host the topic, sorted."""
    queues = Record(fastjson.parse(body), "body").optional("queueDatas", records) or []
    return tuple(sorted({queue.required("brokerName", text) for queue in queues}))


def queues_of_route(body: str) -> dict[str, object]:
    """The queues of a route, as the name server gives them."""
    return {"queueDatas": _object(fastjson.parse(body)).get("queueDatas") or []}


def broker_version(body: str) -> str:
    """The version in a broker's runtime info, such as V4_7_1."""
    return str(_object(_object(fastjson.parse(body)).get("table"))["brokerVersionDesc"])


def topic_attributes(body: str) -> str:
    """The attributes of a TopicConfig, as the recording has them."""
    return as_json(_object(fastjson.parse(body)).get("attributes") or {})


def addresses(body: str) -> Mapping[str, tuple[str, str]]:
    """Broker name → (cluster, address of its master, or of a replica that stands in)."""
    by_name = {}
    table = Record(fastjson.parse(body), "body").optional("brokerAddrTable", named_records) or ()
    for name, broker in table:
        if isinstance(by_id := broker.get("brokerAddrs"), dict) and by_id:
            first = min(by_id, key=int)
            by_name[name] = broker.required("cluster", text), str(by_id[first])
    return by_name


def offsets_per_topic(body: str) -> dict[str, list[QueueEntry]]:
    """Topic → the queues that one broker's ConsumeStats has of it."""
    queues_of: dict[str, list[QueueEntry]] = defaultdict(list)
    for queue, offsets in _queues(body):
        queues_of[str(queue["topic"])].append((queue, offsets))
    return queues_of


def offsets_of(queues: Iterable[QueueEntry]) -> str:
    """Body of a topic's line, from the queues of all its brokers."""
    entries = sorted(f"{as_json(queue)}:{as_json(offsets)}" for queue, offsets in queues)
    return f'{{"offsetTable":{{{",".join(entries)}}}}}'


def consumer_offsets(queues: Iterable[QueueEntry]) -> dict[Queue, int]:
    """The consumer offset of each queue that has a backlog."""
    numbers = ((queue, offsets.get("consumerOffset"), offsets.get("brokerOffset")) for queue, offsets in queues)
    return {
        _key(queue): consumed
        for queue, consumed, end in numbers
        if isinstance(consumed, int) and isinstance(end, int) and consumed < end
    }


def owned_queues(body: str) -> set[Queue]:
    """The queues that a client has in its running info."""
    return {_key(queue) for queue, _ in _queues(body, "mqTable")}


def topic_offsets(body: str) -> list[list[object]]:
    """`[broker, queueId, minOffset, maxOffset]` per queue of one broker's TopicStatsTable."""
    return [
        [queue["brokerName"], queue["queueId"], offsets["minOffset"], offsets["maxOffset"]]
        for queue, offsets in _queues(body)
    ]


def modes_per_group(body: str) -> dict[str, str]:
    """Consumer group → what is the group's in the broker's request modes, in the same form."""
    topics_of: dict[str, dict[str, object]] = defaultdict(dict)
    for topic, groups in _object(_object(fastjson.parse(body)).get(_MODES)).items():
        for group, mode in _object(groups).items():
            topics_of[group][topic] = {group: mode}
    return {group: as_json({_MODES: topics}) for group, topics in topics_of.items()}


def consume_stacks(jstack: str, group: str) -> dict[str, Any] | None:
    """How many consume threads the group has, and their distinct stacks, the most common first; None: it has none.
    Source of their names: ConsumeMessageConcurrentlyService; those of old versions, and of POP, lack the group.
    """
    of_group = re.compile(rf"ConsumeMessageThread_({re.escape(group[:100])}_)?\d+ *")
    threads: list[tuple[str, list[str]]] = []
    name, frames = "", list[str]()
    for line in jstack.replace("\r", "").split("\n"):
        if thread := _THREAD.fullmatch(line):
            name, frames = thread[1], []
            if of_group.fullmatch(name):
                threads.append((thread[2], frames))
        elif line and line.startswith(name):
            frames.append(line.removeprefix(name)[:LONGEST_NAME])
    stacks = Counter((state, tuple(frames[:_FRAMES])) for state, frames in threads)
    in_order = sorted(stacks.items(), key=lambda counted: (-counted[1], counted[0]))[:_STACKS]
    distinct = [{"state": state, "threads": count, "frames": frames} for (state, frames), count in in_order]
    return {"threads": len(threads), "stacks": distinct} if threads else None


def _queues(body: str, name: str = "offsetTable") -> Iterator[QueueEntry]:
    """The entries of the table of this name."""
    table = _object(fastjson.parse(body)).get(name)
    for queue, entry in table.entries if isinstance(table, ObjectKeyMap) else ():
        yield _object(queue), _object(entry)


def _key(queue: Mapping[str, Any]) -> Queue:
    return str(queue.get("topic")), str(queue.get("brokerName")), str(queue.get("queueId"))


def _object(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise fastjson.FastjsonError("expected an object", 0)
    return value


def as_json(value: object) -> str:
    """Without blanks, as RocketMQ writes it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
