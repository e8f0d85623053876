"""Further names to ask for, from the texts that came, and texts as the recording has them."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from spark_jobs.domain.model.message_queue import MessageModel
from spark_jobs.ingest import fastjson
from spark_jobs.ingest.fields import Record, named_records, records, text
from spark_jobs.ingest.references import ObjectKeyMap

#: Field of RocketMQ's messageRequestMode.json.
_MODES: Final = "messageRequestModeMap"
#: The modes of a group that the broker was given none for.
NO_MODES: Final = f'{{"{_MODES}":{{}}}}'


class ConnectionAnswer(NamedTuple):
    """One answer about connections: client ids, topics of subscriptions, `host:port` of each connection."""

    clients: frozenset[str]
    topics: frozenset[str]
    broadcasting: bool
    addresses: tuple[str, ...]


def members(body: str) -> ConnectionAnswer:
    """Raises `RejectedError` or `FastjsonError` where RocketMQ's text is another than expected."""
    record = Record(fastjson.parse(body), "body")
    connections = record.optional("connectionSet", records) or []
    return ConnectionAnswer(
        frozenset(connection.required("clientId", text) for connection in connections),
        frozenset(topic for topic, _ in record.optional("subscriptionTable", named_records) or ()),
        record.optional("messageModel", text) == MessageModel.BROADCASTING,
        tuple(sorted(filter(None, (connection.optional("clientAddr", text) for connection in connections)))),
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


def offsets_per_topic(body: str) -> dict[str, list[str]]:
    """Topic → the queues that one broker's ConsumeStats has of it, as `offsets_of` wants them."""
    queues_of: dict[str, list[str]] = defaultdict(list)
    for queue, offsets in _queues(body):
        queues_of[str(queue["topic"])].append(f"{as_json(queue)}:{as_json(offsets)}")
    return queues_of


def offsets_of(queues: Iterable[str]) -> str:
    """Body of a topic's line, from the queues of all its brokers."""
    return f'{{"offsetTable":{{{",".join(sorted(queues))}}}}}'


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


def _queues(body: str) -> Iterator[tuple[dict[str, object], dict[str, object]]]:
    """(message queue, what its broker says of it) of the `offsetTable`."""
    table = _object(fastjson.parse(body)).get("offsetTable")
    for queue, offsets in table.entries if isinstance(table, ObjectKeyMap) else ():
        yield _object(queue), _object(offsets)


def _object(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise fastjson.FastjsonError("expected an object", 0)
    return value


def as_json(value: object) -> str:
    """Without blanks, as RocketMQ writes it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
