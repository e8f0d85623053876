"""Rows of the source tables → the lines of a recording, which `recording` reads as the same rows.

A line has what its row needs, not all that RocketMQ answered.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import cache
from typing import Any, Final

from schemas import (
    CAPTURE_CALLS,
    CLIENT_SNAPSHOTS,
    CLIENT_STACKS,
    MEMBERSHIP_SNAPSHOTS,
    OFFSET_SNAPSHOTS,
    ROUTE_SNAPSHOTS,
    TOPIC_SNAPSHOTS,
    Table,
)
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.window import to_micros
from spark_jobs.ingest.recording import KINDS, NOT_LISTED
from spark_jobs.ingest.running import CONSUME_STATUS, PROCESS_QUEUE, PROPERTIES

Values = Mapping[str, Any]
Fields = dict[str, Any]

_NO_ROUTE: Final = "code 17 no route"
_TIMED_OUT: Final = "RemotingTimeoutException"
_NOT_IN_GROUP: Final = "the group does not exist in this consumer"
_PROCESS_QUEUE: Final = {column: name for column, (name, _) in PROCESS_QUEUE.items()} | {
    "cached_count": "cachedMsgCount",
    "cached_min_offset": "cachedMsgMinOffset",
    "cached_max_offset": "cachedMsgMaxOffset",
}


def meta(**fields: object) -> str:
    """The first line of a recording."""
    return _text({"kind": "meta"} | fields) + "\n"


def line(table: Table, row: Values) -> str:
    """The line of one row of a source table, `capture_calls` or `client_stacks`; its time is in milliseconds."""
    kind, answer = _ANSWERS[table](row)
    keys = {field: row[column] for field, column in KINDS[kind].key_fields.items()}
    return _text({"kind": kind, "at": _milliseconds(row["captured_at"])} | keys | answer) + "\n"


def _connection(row: Values) -> tuple[str, Fields]:
    fields: Fields = {}
    if row["request_modes"] is not None:
        modes = {
            mode["topic"]: {row["consumer_group"]: _named(mode, "mode", "pop_share_queue_num")}
            for mode in row["request_modes"]
        }
        fields["request_modes"] = _text({"messageRequestModeMap": modes})
    if row["listed"] is False:
        return "connection", fields | {"error": NOT_LISTED}
    columns = ("client_id", "client_addr", "language", "version")
    body = _named(row, "message_model", "consume_type", "consume_from_where") | {
        "connectionSet": [_named(each, *columns) for each in row["connections"]],
        "subscriptionTable": {each["topic"]: _subscription(each) for each in row["subscriptions"]},
    }
    return "connection", fields | {"body": _text(body)}


def _route(row: Values) -> tuple[str, Fields]:
    fields: Fields = {}
    if row["message_type"] is not None:
        fields["attributes"] = _text({"message.type": row["message_type"]})
    if row["listed"] is not None:
        fields["listed"] = _text(row["listed"])
    if row["name_servers"] is not None:
        of_server = by_key(row["name_servers"], lambda entry: entry["address"])
        routes = {address: {"queueDatas": _queue_data(entries)} for address, entries in of_server.items()}
        fields["name_servers"] = _text(routes)
    if not row["queues"] and row["is_static"] is None:
        return "route", fields | {"error": _NO_ROUTE}
    body: Fields = {"queueDatas": _queue_data(row["queues"])}
    if row["addresses"] is not None:
        of_broker = by_key(row["addresses"], lambda entry: entry["broker_name"])
        body["brokerDatas"] = [
            {"brokerName": name, "brokerAddrs": {str(entry["broker_id"]): entry["address"] for entry in entries}}
            for name, entries in of_broker.items()
        ]
    if row["is_static"]:
        body["topicQueueMappingByBroker"] = {"": {}}
    return "route", fields | {"body": _text(body)}


def _queue_data(entries: Iterable[Values]) -> list[Fields]:
    columns = ("broker_name", "perm", "read_queue_nums", "write_queue_nums")
    return [_named(entry, *columns) for entry in entries if entry["broker_name"] is not None]


def _offsets(row: Values) -> tuple[str, Fields]:
    """Only the line of committed offsets has queues whose end is unknown."""
    queues = row["offsets"]
    if all(queue["broker_offset"] is None for queue in queues):
        body = [[queue["broker_name"], queue["queue_id"], queue["consumer_offset"]] for queue in queues]
        return "committed", {"body": _text(body)}
    columns = ("broker_offset", "consumer_offset", "pull_offset", "last_timestamp")
    table = _by_queue(({**queue, "topic": row["topic"]}, _named(queue, *columns)) for queue in queues)
    return "stats", {"body": _object({"offsetTable": table})}


def _topic_stats(row: Values) -> tuple[str, Fields]:
    columns = ("broker_name", "queue_id", "min_offset", "max_offset")
    return "topicstats", {"body": _text([[queue[name] for name in columns] for queue in row["queues"]])}


def _running(row: Values) -> tuple[str, Fields]:
    if not row["answered"]:
        return "running", {"error": _TIMED_OUT}
    if row["in_group"] is False:
        return "running", {"error": _NOT_IN_GROUP}
    known = _renamed(row, {column: name for column, (name, _) in PROPERTIES.items()})
    parts = {"properties": _text({name: _property(value) for name, value in known.items()})}
    if row["subscriptions"] is not None:
        parts["subscriptionSet"] = _text([_subscription(each) for each in row["subscriptions"]])
    if row["owned_queues"] is not None:
        parts["mqTable"] = _by_queue((queue, _renamed(queue, _PROCESS_QUEUE)) for queue in row["owned_queues"])
    if row["lock_refused"] is not None:
        parts["lockRefused"] = _text([_queue(queue) for queue in row["lock_refused"]])
    if row["consume_status"] is not None:
        parts["statusTable"] = _text({each["topic"]: _renamed(each, CONSUME_STATUS) for each in row["consume_status"]})
    return "running", {"body": _object(parts)}


def _stacks(row: Values) -> tuple[str, Fields]:
    return "stacks", {"body": _text(_named(row, "threads", "stacks"))}


def _call(row: Values) -> tuple[str, Fields]:
    return "call", {"body": _text({"fate": row["outcome"]} | _named(row, "took_ms", "error"))}


_ANSWERS: Final[Mapping[Table, Callable[[Values], tuple[str, Fields]]]] = {
    MEMBERSHIP_SNAPSHOTS: _connection,
    ROUTE_SNAPSHOTS: _route,
    OFFSET_SNAPSHOTS: _offsets,
    TOPIC_SNAPSHOTS: _topic_stats,
    CLIENT_SNAPSHOTS: _running,
    CAPTURE_CALLS: _call,
    CLIENT_STACKS: _stacks,
}


def _subscription(subscription: Values) -> Fields:
    return _named(subscription, "topic", "expression_type", "sub_string", "sub_version")


def _queue(queue: Values) -> Fields:
    return _named(queue, "topic", "broker_name", "queue_id")


def _by_queue(queues: Iterable[tuple[Values, Fields]]) -> str:
    """The values by queue, in fastjson's form, whose keys may be objects."""
    return f"{{{','.join(f'{_text(_queue(queue))}:{_text(values)}' for queue, values in queues)}}}"


def _object(parts: Mapping[str, str]) -> str:
    """An object of values that are written already."""
    return f"{{{','.join(f'{_text(name)}:{text}' for name, text in parts.items())}}}"


def _named(row: Values, *columns: str) -> Fields:
    """These columns, in camel case."""
    return _renamed(row, _in_camel_case(columns))


@cache
def _in_camel_case(columns: Iterable[str]) -> Mapping[str, str]:
    return {name: name[0] + name.title().replace("_", "")[1:] for name in columns}


def _renamed(row: Values, names: Mapping[str, str]) -> Fields:
    """The columns that are known, by these names."""
    return {name: value for column, name in names.items() if (value := row.get(column)) is not None}


def _property(value: object) -> str:
    """Every property of a client is a text."""
    if isinstance(value, str):
        return value
    return _text(_milliseconds(value) if isinstance(value, datetime) else value)


def _milliseconds(moment: datetime) -> int:
    return to_micros(moment) // 1000


#: `json.dumps` with other separators makes an encoder for each text.
_text = json.JSONEncoder(separators=(",", ":")).encode
