"""Bodies about groups and topics → the columns beside the key.

Every function takes a parsed body and gives columns of its table in `schemas`; arrays are sorted, so the same
state gives the same row. A field of another type or range, or a missing one, raises `RejectedError` naming
its path; what RocketMQ omits when it is null, and what other clients than Java's do not send, is null.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from spark_jobs.domain.model.message_queue import MessageModel
from spark_jobs.domain.rocketmq.pop import PULL
from spark_jobs.domain.rocketmq.strategies import POP
from spark_jobs.ingest.fields import COUNT, INT32, INT64, Record, integer, items, text
from spark_jobs.ingest.reasons import RejectedError, RejectReason

Columns = dict[str, object]

REQUEST_MODES: Final = (PULL, POP)


def connections(body: object) -> Columns:
    """Columns of one `membership_snapshots` row.

    `messageModel` may be null only where nobody is connected.
    Source: org.apache.rocketmq.remoting.protocol.body.ConsumerConnection.
    """
    record = Record(body, "body")
    members = [_connection(connection) for connection in record.records("connectionSet")]
    model = message_model(record, "messageModel")
    table = record.named_records_or_none("subscriptionTable")
    if table is None or (members and model is None):
        missing = "subscriptionTable" if table is None else "messageModel"
        raise RejectedError(RejectReason.MISSING_FIELD, f"body.{missing} is missing")
    return {
        "message_model": model,
        "consume_type": record.text_or_none("consumeType"),
        "consume_from_where": record.text_or_none("consumeFromWhere"),
        "connections": in_order(members),
        "subscriptions": in_order(subscription(topic, data) for topic, data in table),
    }


def request_modes(body: object, group: str) -> Columns:
    """The column of a `membership_snapshots` row: of all that the broker was given, the group's; null: not recorded.

    Source: org.apache.rocketmq.broker.loadbalance.MessageRequestModeManager, SetMessageRequestModeRequestBody.
    """
    if body is None:
        return {"request_modes": None}
    path = "request_modes"
    topics = Record(body, path).named_records_or_none("messageRequestModeMap")
    if topics is None:
        raise RejectedError(RejectReason.MISSING_FIELD, f"{path}.messageRequestModeMap is missing")
    given = [(topic, of_groups.record_or_none(group)) for topic, of_groups in topics]
    return {"request_modes": in_order(_request_mode(topic, mode) for topic, mode in given if mode)}


def _request_mode(topic: str, given: Record) -> Columns:
    mode = given.text("mode")
    if mode not in REQUEST_MODES:
        raise RejectedError(
            RejectReason.OUT_OF_RANGE, f"{given.path}.mode is {mode!a}, not one of {', '.join(REQUEST_MODES)}"
        )
    return {"topic": topic, "mode": mode, "pop_share_queue_num": given.integer("popShareQueueNum", INT32)}


def route(body: object) -> Columns:
    """Columns of one `route_snapshots` row; a route without queue data has no queues.

    Source: org.apache.rocketmq.remoting.protocol.route.TopicRouteData, QueueData, BrokerData.
    """
    record = Record(body, "body")
    queue_datas = record.records_or_none("queueDatas") or []
    queues = [
        {
            "broker_name": queue.text("brokerName"),
            "perm": queue.integer("perm", COUNT),
            "read_queue_nums": queue.integer("readQueueNums", COUNT),
            "write_queue_nums": queue.integer("writeQueueNums", COUNT),
        }
        for queue in queue_datas
    ]
    _check_distinct(queues, ("broker_name",), "body.queueDatas")
    mapped = record.named_records_or_none("topicQueueMappingByBroker")
    return {"queues": in_order(queues), "addresses": _addresses(record), "is_static": bool(mapped)}


def message_type(attributes: object) -> Columns:
    """The column of a `route_snapshots` row; null: not recorded.

    Source: org.apache.rocketmq.common.TopicConfig.getTopicMessageType, which takes a topic without one for NORMAL.
    """
    if attributes is None:
        return {"message_type": None}
    return {"message_type": Record(attributes, "attributes").text_or_none("message.type") or "NORMAL"}


def _addresses(route: Record) -> list[Columns] | None:
    brokers = route.records_or_none("brokerDatas")
    if brokers is None:
        return None
    addresses: list[Columns] = [
        {"broker_name": broker.text("brokerName"), "broker_id": broker_id, "address": address}
        for broker in brokers
        for broker_id, address in broker.numbered_texts_or_none("brokerAddrs") or ()
    ]
    _check_distinct(addresses, ("broker_name", "broker_id"), "body.brokerDatas")
    return in_order(addresses)


def consume_stats(body: object, topic: str) -> Columns:
    """Columns of one `offset_snapshots` row; of equal queues the last counts.

    Source: org.apache.rocketmq.remoting.protocol.admin.ConsumeStats, OffsetWrapper.
    """
    record = Record(body, "body")
    entries = record.keyed_records_or_none("offsetTable")
    if entries is None:
        raise RejectedError(RejectReason.MISSING_FIELD, "body.offsetTable is missing")
    offsets: dict[tuple[str, int], Columns] = {}
    for key, wrapper in entries:
        if key.text("topic") != topic:
            raise RejectedError(RejectReason.CONTRADICTION, f"{key.path}.topic is not the topic of the line")
        broker_name, queue_id = key.text("brokerName"), key.integer("queueId", COUNT)
        offsets[broker_name, queue_id] = {
            "broker_name": broker_name,
            "queue_id": queue_id,
            "broker_offset": wrapper.integer("brokerOffset"),
            "consumer_offset": wrapper.integer("consumerOffset"),
            "pull_offset": wrapper.integer_or_none("pullOffset"),
            "last_timestamp": wrapper.integer_or_none("lastTimestamp"),
        }
    return {"offsets": in_order(offsets.values())}


def topic_stats(body: object) -> Columns:
    """Columns of one `topic_snapshots` row, from `[[broker, queueId, minOffset, maxOffset], …]`."""
    queues = [_topic_queue(entry, f"body[{i}]") for i, entry in enumerate(items(body, "body"))]
    _check_distinct(queues, ("broker_name", "queue_id"), "body")
    return {"queues": in_order(queues)}


def call(body: object) -> Columns:
    """Columns of one `capture_calls` row, from what the recorder wrote."""
    record = Record(body, "body")
    return {
        "fate": record.text("fate"),
        "took_ms": record.integer_or_none("tookMs", COUNT),
        "error": record.text_or_none("error"),
    }


def subscription(topic: str, data: Record) -> Columns:
    """One element of the `subscriptions` of a group or client."""
    return {
        "topic": topic,
        "expression_type": data.text_or_none("expressionType"),
        "sub_string": data.text_or_none("subString"),
        "sub_version": data.integer_or_none("subVersion"),
    }


def message_model(record: Record, name: str) -> str | None:
    """One of `MessageModel`, null where absent."""
    model = record.text_or_none(name)
    if model is not None and model not in tuple(MessageModel):
        raise RejectedError(
            RejectReason.OUT_OF_RANGE,
            f"{record.path}.{name} is {model!a}, not one of {', '.join(MessageModel)}",
        )
    return model


def in_order(elements: Iterable[Columns]) -> list[Columns]:
    """Sorted by their fields from the first to the last, null before all else."""
    return sorted(elements, key=lambda element: [(value is not None, value) for value in element.values()])


def _connection(connection: Record) -> Columns:
    return {
        "client_id": connection.text("clientId"),
        "client_addr": connection.text_or_none("clientAddr"),
        "language": connection.text_or_none("language"),
        "version": connection.integer_or_none("version", INT32),
    }


def _topic_queue(entry: object, path: str) -> Columns:
    fields = items(entry, path)
    if len(fields) != 4:
        raise RejectedError(RejectReason.MISSING_FIELD, f"{path} has {len(fields)} elements, not 4")
    broker_name, queue_id, min_offset, max_offset = fields
    return {
        "broker_name": text(broker_name, f"{path}[0]"),
        "queue_id": integer(queue_id, COUNT, f"{path}[1]"),
        "min_offset": integer(min_offset, INT64, f"{path}[2]"),
        "max_offset": integer(max_offset, INT64, f"{path}[3]"),
    }


def _check_distinct(rows: list[Columns], key: tuple[str, ...], path: str) -> None:
    seen: set[tuple[object, ...]] = set()
    for row in rows:
        values = tuple(row[name] for name in key)
        if values in seen:
            raise RejectedError(RejectReason.CONTRADICTION, f"{path} names {' '.join(map(ascii, values))} twice")
        seen.add(values)
