"""Bodies about groups and topics → columns of their table in `schemas`, without the key.

Arrays are sorted, so that equal states give equal rows. A field that is missing, or of another type or range,
raises `RejectedError` naming its path; fields that RocketMQ or other clients omit are null.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Final

from spark_jobs.domain.model.message_queue import MessageModel
from spark_jobs.domain.rocketmq.pop import PULL
from spark_jobs.domain.rocketmq.strategies import POP
from spark_jobs.ingest import fields
from spark_jobs.ingest.fields import Record
from spark_jobs.ingest.files import RejectedError, RejectReason

Columns = dict[str, object]

REQUEST_MODES: Final = (PULL, POP)


def connections(body: object) -> Columns:
    """Columns of one `membership_snapshots` row; `messageModel` may be null only without members.
    Source: org.apache.rocketmq.remoting.protocol.body.ConsumerConnection.
    """
    record = Record(body, "body")
    members = [_connection(connection) for connection in record.required("connectionSet", fields.records)]
    model = record.optional("messageModel", message_model)
    topics = record.required("subscriptionTable", fields.records_by_name)
    if members and model is None:
        raise record.missing("messageModel")
    return {
        "message_model": model,
        "consume_type": record.optional("consumeType", fields.text),
        "consume_from_where": record.optional("consumeFromWhere", fields.text),
        "connections": in_order(members),
        "subscriptions": in_order(subscription(topic, data) for topic, data in topics),
        "listed": None,
    }


def _connection(connection: Record) -> Columns:
    return {
        "client_id": connection.required("clientId", fields.name),
        "client_addr": connection.optional("clientAddr", fields.text),
        "language": connection.optional("language", fields.text),
        "version": connection.optional("version", fields.int32),
    }


def request_modes(body: object, group: str) -> list[Columns]:
    """The group's request modes, a column of `membership_snapshots`.
    Source: org.apache.rocketmq.broker.loadbalance.MessageRequestModeManager, SetMessageRequestModeRequestBody.
    """
    topics = Record(body, "request_modes").required("messageRequestModeMap", fields.records_by_name)
    modes = [(topic, groups.optional(group, Record)) for topic, groups in topics]
    return in_order(
        {
            "topic": topic,
            "mode": mode.required("mode", partial(_one_of, REQUEST_MODES)),
            "pop_share_queue_num": mode.required("popShareQueueNum", fields.int32),
        }
        for topic, mode in modes
        if mode
    )


def name_servers(routes: object) -> list[Columns]:
    """The column of a `route_snapshots` row: by name server the queues of its route."""
    nothing = dict.fromkeys(("broker_name", "perm", "read_queue_nums", "write_queue_nums"))
    return in_order(
        {"address": address, **entry}
        for address, record in fields.records_by_name(routes, "name_servers")
        for entry in _queue_data(record) or [nothing]
    )


def route(body: object) -> Columns:
    """Columns of one `route_snapshots` row; a route without queue data has no queues.
    Source: org.apache.rocketmq.remoting.protocol.route.TopicRouteData, QueueData, BrokerData.
    """
    record = Record(body, "body")
    queues = _queue_data(record)
    _check_distinct(queues, ("broker_name",), "body.queueDatas")
    mapped = record.optional("topicQueueMappingByBroker", fields.named_records)
    return {"queues": in_order(queues), "addresses": _addresses(record), "is_static": bool(mapped)}


def _queue_data(route: Record) -> list[Columns]:
    return [
        {
            "broker_name": queue.required("brokerName", fields.name),
            "perm": queue.required("perm", fields.count),
            "read_queue_nums": queue.required("readQueueNums", fields.count),
            "write_queue_nums": queue.required("writeQueueNums", fields.count),
        }
        for queue in route.optional("queueDatas", fields.records) or ()
    ]


def _addresses(route: Record) -> list[Columns] | None:
    brokers = route.optional("brokerDatas", fields.records)
    if brokers is None:
        return None
    addresses: list[Columns] = [
        {"broker_name": broker.required("brokerName", fields.name), "broker_id": broker_id, "address": address}
        for broker in brokers
        for broker_id, address in broker.optional("brokerAddrs", partial(fields.numbered, read=fields.text)) or ()
    ]
    _check_distinct(addresses, ("broker_name", "broker_id"), "body.brokerDatas")
    return in_order(addresses)


def message_type(attributes: object) -> str:
    """The message type, a column of `route_snapshots`.
    Source: org.apache.rocketmq.common.TopicConfig.getTopicMessageType, which takes a topic without one for NORMAL.
    """
    return Record(attributes, "attributes").optional("message.type", fields.text) or "NORMAL"


def consume_stats(body: object, topic: str) -> Columns:
    """Columns of one `offset_snapshots` row; of equal queues the last counts. Brokers before 5.1.0 report no pull
    offsets, for which today's admin client writes 0; later ones report at least the consumer's offset.
    Source: org.apache.rocketmq.remoting.protocol.admin.OffsetWrapper, AdminBrokerProcessor.getConsumeStats.
    """
    offsets: dict[tuple[str, int], Columns] = {}
    without_pull_offsets = set()
    for key, wrapper in Record(body, "body").required("offsetTable", fields.keyed_records):
        if key.required("topic", fields.text) != topic:
            raise RejectedError(RejectReason.CONTRADICTION, f"{key.path}.topic is not the topic of the line")
        broker_name, queue_id = key.required("brokerName", fields.name), key.required("queueId", fields.count)
        consumer_offset = wrapper.required("consumerOffset", fields.integer)
        pull_offset = wrapper.optional("pullOffset", fields.integer)
        if pull_offset == 0 < consumer_offset:
            without_pull_offsets.add(broker_name)
        offsets[broker_name, queue_id] = {
            "broker_name": broker_name,
            "queue_id": queue_id,
            "broker_offset": wrapper.required("brokerOffset", fields.integer),
            "consumer_offset": consumer_offset,
            "pull_offset": pull_offset,
            "last_timestamp": wrapper.optional("lastTimestamp", fields.integer),
        }
    for (broker_name, _), queue in offsets.items():
        if broker_name in without_pull_offsets:
            queue["pull_offset"] = None
    return {"offsets": in_order(offsets.values())}


#: The elements of a queue's entry in a body that is a list of lists, and how each is read.
_COMMITTED = {"broker_name": fields.name, "queue_id": fields.count, "consumer_offset": fields.integer}
_STORED = {
    "broker_name": fields.name,
    "queue_id": fields.count,
    "min_offset": fields.integer,
    "max_offset": fields.integer,
}


def committed_offsets(body: object) -> Columns:
    """Columns of one `offset_snapshots` row, from `[[broker, queueId, consumerOffset], …]`; all else is unknown."""
    unknown = dict.fromkeys(("broker_offset", "pull_offset", "last_timestamp"))
    return {"offsets": [queue | unknown for queue in _queues(body, _COMMITTED)]}


def topic_stats(body: object) -> Columns:
    """Columns of one `topic_snapshots` row, from `[[broker, queueId, minOffset, maxOffset], …]`."""
    return {"queues": _queues(body, _STORED)}


def _queues(body: object, readers: Mapping[str, Callable[[object, str], object]]) -> list[Columns]:
    queues = [_elements(entry, f"body[{i}]", readers) for i, entry in enumerate(fields.items(body, "body"))]
    _check_distinct(queues, ("broker_name", "queue_id"), "body")
    return in_order(queues)


def _elements(entry: object, path: str, readers: Mapping[str, Callable[[object, str], object]]) -> Columns:
    values = fields.items(entry, path)
    if len(values) != len(readers):
        raise RejectedError(RejectReason.MISSING_FIELD, f"{path} has {len(values)} elements, not {len(readers)}")
    return {name: read(values[i], f"{path}[{i}]") for i, (name, read) in enumerate(readers.items())}


def call(body: object) -> Columns:
    """Columns of one `capture_calls` row, from what the recorder wrote."""
    record = Record(body, "body")
    return {
        "outcome": record.required("fate", fields.text),
        "took_ms": record.optional("tookMs", fields.count),
        "error": record.optional("error", fields.text),
    }


def stacks(body: object) -> Columns:
    """Columns of one `client_stacks` row, from what the recorder wrote."""
    record = Record(body, "body")
    distinct = record.required("stacks", fields.records)
    return {"threads": record.required("threads", fields.count), "stacks": [*map(_stack, distinct)]}


def _stack(stack: Record) -> Columns:
    return {
        "state": stack.required("state", fields.name),
        "threads": stack.required("threads", fields.count),
        "frames": [fields.name(frame, f"{stack.path}.frames") for frame in stack.required("frames", fields.items)],
    }


def subscription(topic: str, data: Record) -> Columns:
    """One element of the `subscriptions` of a group or client."""
    return {
        "topic": topic,
        "expression_type": data.optional("expressionType", fields.text),
        "sub_string": data.optional("subString", fields.text),
        "sub_version": data.optional("subVersion", fields.integer),
    }


def _one_of(known: Collection[str], value: object, path: str) -> str:
    name = fields.text(value, path)
    if name not in known:
        raise RejectedError(RejectReason.OUT_OF_RANGE, f"{path} is {name!a}, not one of {', '.join(known)}")
    return name


#: Reads one of `MessageModel`.
message_model = partial(_one_of, tuple(MessageModel))


def in_order(elements: Iterable[Columns]) -> list[Columns]:
    """Sorted by their fields from the first to the last, null before all else."""
    return sorted(elements, key=lambda element: [(value is not None, value) for value in element.values()])


def _check_distinct(rows: list[Columns], key: tuple[str, ...], path: str) -> None:
    seen: set[tuple[object, ...]] = set()
    for row in rows:
        values = tuple(row[name] for name in key)
        if values in seen:
            raise RejectedError(RejectReason.CONTRADICTION, f"{path} names {' '.join(map(ascii, values))} twice")
        seen.add(values)
