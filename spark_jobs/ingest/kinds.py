"""The kinds of line in a recording: which table each fills, how, and what its error answers mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from schemas import (
    CAPTURE_CALLS,
    CLIENT_SNAPSHOTS,
    MEMBERSHIP_SNAPSHOTS,
    OFFSET_SNAPSHOTS,
    ROUTE_SNAPSHOTS,
    TOPIC_SNAPSHOTS,
    Table,
)
from spark_jobs.ingest.bodies import (
    Columns,
    call,
    connections,
    consume_stats,
    message_type,
    request_modes,
    route,
    topic_stats,
)
from spark_jobs.ingest.running import NOT_IN_GROUP, UNANSWERED, running_info

#: ResponseCode.CONSUMER_NOT_ONLINE: the broker answered, and nobody of the group is connected to it.
_GROUP_NOT_ONLINE = re.compile(r"\bcode:? 206\b", re.IGNORECASE)
#: ResponseCode.TOPIC_NOT_EXIST, as the name server answers for a topic that no broker hosts.
_NO_ROUTE = re.compile(r"\bcode:? 17\b|No topic route info|TOPIC_NOT_EXIST", re.IGNORECASE)
#: The client did not answer in time: the asking side gave up, or the broker did (CONSUME_MSG_TIMEOUT).
_CLIENT_SILENT = re.compile(r"^[\w.]*(?:TimeoutException|RemotingSendRequestException)\b|\bcode:? 207\b", re.IGNORECASE)
#: What clients of all languages answer about a group of which they have no consumer; its code is SYSTEM_ERROR (1).
#: Source: ClientRemotingProcessor.getConsumerRunningInfo.
HAS_NO_CONSUMER = re.compile(r"\bnot exist in this consumer\b")

_NO_MEMBERS: Final[Columns] = {
    "message_model": None,
    "consume_type": None,
    "consume_from_where": None,
    "connections": [],
    "subscriptions": [],
}
_NO_BROKERS: Final[Columns] = {"queues": [], "addresses": [], "is_static": None}


@dataclass(frozen=True)
class Kind:
    """One kind of line.

    `key_fields` maps the line's fields to key columns (cluster and captured_at are in every key). An error
    answer that matches a key of `telling` is an observation with those columns; any other error is none. `beside`:
    fields of the line that may hold a further body, as text, with what reads it (None: it is not there).
    """

    table: Table
    key_fields: Mapping[str, str]
    columns_of_body: Callable[[object, Mapping[str, object]], Columns]
    telling: Mapping[re.Pattern[str], Columns] = field(default_factory=dict)
    beside: Mapping[str, Callable[[object, Mapping[str, object]], Columns]] = field(default_factory=dict)

    def columns_of_error(self, error: str) -> Columns | None:
        """The columns beside the key, or None where the error is no observation."""
        return next((columns for words, columns in self.telling.items() if words.search(error)), None)


KINDS: Final[Mapping[str, Kind]] = {
    "connection": Kind(
        MEMBERSHIP_SNAPSHOTS,
        {"group": "consumer_group", "broker": "broker_name"},
        lambda body, _key: connections(body),
        {_GROUP_NOT_ONLINE: _NO_MEMBERS},
        {"request_modes": lambda body, key: request_modes(body, str(key["consumer_group"]))},
    ),
    "route": Kind(
        ROUTE_SNAPSHOTS,
        {"topic": "topic"},
        lambda body, _key: route(body),
        {_NO_ROUTE: _NO_BROKERS},
        {"attributes": lambda body, _key: message_type(body)},
    ),
    "stats": Kind(
        OFFSET_SNAPSHOTS,
        {"group": "consumer_group", "topic": "topic"},
        lambda body, key: consume_stats(body, str(key["topic"])),
    ),
    "topicstats": Kind(TOPIC_SNAPSHOTS, {"topic": "topic"}, lambda body, _key: topic_stats(body)),
    "running": Kind(
        CLIENT_SNAPSHOTS,
        {"group": "consumer_group", "client": "client_id"},
        lambda body, _key: running_info(body),
        {_CLIENT_SILENT: UNANSWERED, HAS_NO_CONSUMER: NOT_IN_GROUP},
    ),
    "call": Kind(
        CAPTURE_CALLS,
        {"called": "called", "request": "request", "subject": "subject"},
        lambda body, _key: call(body),
    ),
}
