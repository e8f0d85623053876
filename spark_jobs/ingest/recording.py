"""Lines of a recording → one outcome each; per kind of line its table, reader, and the errors that are answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple

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
from spark_jobs.domain.model.intervals import format_utc
from spark_jobs.domain.rocketmq.system_names import PREDEFINED_GROUPS
from spark_jobs.ingest import bodies, fastjson
from spark_jobs.ingest.fields import Record, boolean, instant, name, text
from spark_jobs.ingest.files import Line, RejectedError, RejectReason
from spark_jobs.ingest.running import NOT_IN_GROUP, UNANSWERED, running_info


class Row(NamedTuple):
    """An observation: a row of the table, by column."""

    line: Line
    table: Table
    values: dict[str, object]

    @property
    def key(self) -> tuple[object, ...]:
        """The values of the table's key."""
        return tuple(self.values[name] for name in self.table.key)


class Meta(NamedTuple):
    """Description of a recording: the lines below it are of this cluster."""

    line: Line
    cluster: str


class NoObservation(NamedTuple):
    """Nobody answered, or the answer says nothing about the cluster's state."""

    line: Line
    kind: str
    error: str


class Blank(NamedTuple):
    """A line of white space."""

    line: Line


class Quarantined(NamedTuple):
    """A line that cannot become a row: for which table and key, as far as it tells, and why."""

    line: Line
    table: Table | None
    key: dict[str, object]
    reason: RejectReason
    detail: str


def conflicting(row: Row) -> Quarantined:
    """The rejection of a row whose key is taken by another row."""
    key = dict(zip(row.table.key, row.key, strict=True))
    moment = row.values["captured_at"]
    key |= {"captured_at": format_utc(moment)} if isinstance(moment, datetime) else {}
    detail = "another observation has the same key and another content; the first one stays"
    return Quarantined(row.line, row.table, key, RejectReason.CONFLICTING_KEY, detail)


Outcome = Row | Meta | NoObservation | Blank | Quarantined


def outcomes(lines: Iterable[Line], cluster: str | None = None) -> Iterator[Outcome]:
    """One outcome per line, in order; `cluster` holds where no readable `meta` line stands above."""
    named = cluster
    for line in lines:
        draft = _Draft()
        try:
            outcome = _outcome(line, named, draft)
        except RejectedError as error:
            outcome = Quarantined(line, draft.table, draft.key, error.reason, error.detail)
        if isinstance(outcome, Meta):
            named = outcome.cluster
        elif draft.is_meta:
            # A recording of some other cluster begins here, and it is unknown which.
            named = cluster
        yield outcome


@dataclass
class _Draft:
    """Known parts of a line, for the case that it is rejected."""

    is_meta: bool = False
    table: Table | None = None
    key: dict[str, object] = field(default_factory=dict)


def _outcome(line: Line, cluster: str | None, draft: _Draft) -> Outcome:
    if line.rejected:
        raise line.rejected
    if not line.content.strip():
        return Blank(line)
    fields = Record(_parsed(_decoded(line.content), RejectReason.NOT_JSON), "line")
    kind_name = fields.required("kind", text)
    if kind_name == "meta":
        draft.is_meta = True
        return Meta(line, fields.required("cluster", name))
    if kind_name not in KINDS:
        raise RejectedError(RejectReason.UNKNOWN_KIND, f"kind {kind_name!a} is not one of meta, {', '.join(KINDS)}")
    kind = KINDS[kind_name]
    draft.table = kind.table
    captured_at = _read_key(fields, kind, cluster, draft.key)
    if draft.key.get("consumer_group") in PREDEFINED_GROUPS:
        return NoObservation(line, kind_name, "RocketMQ's own tools share the group")
    columns = _columns(fields, kind, draft.key)
    if columns is None:
        return NoObservation(line, kind_name, fields.required("error", text))
    return Row(line, kind.table, draft.key | {"captured_at": captured_at} | columns)


def _read_key(fields: Record, kind: LineKind, cluster: str | None, key: dict[str, object]) -> datetime:
    """Fills the key, readable parts first, so that a rejected line is found by what it does tell."""
    if cluster is not None:
        key["cluster"] = cluster
    for field_name, column in kind.key_fields.items():
        key[column] = fields.required(field_name, text)
        fields.required(field_name, kind.read_key)
    captured_at = fields.required("at", instant)
    key["captured_at"] = format_utc(captured_at)
    if cluster is None:
        raise RejectedError(
            RejectReason.NO_CLUSTER, "no meta line above names the cluster: give its name when ingesting"
        )
    return captured_at


def _columns(fields: Record, kind: LineKind, key: Mapping[str, object]) -> bodies.Columns | None:
    """The columns alongside the key; None where the answer is no observation."""
    error = fields.optional("error", text)
    columns: bodies.Columns | None
    if error is None:
        columns = kind.columns_of_body(fields.required("body", _body), key)
    elif fields.get("body") is not None:
        raise RejectedError(RejectReason.CONTRADICTION, "the line has both a body and an error")
    else:
        columns = next((known for words, known in kind.telling.items() if words.search(error)), None)
    if columns is None:
        return None
    for field_name, (column, read) in kind.extra.items():
        body = fields.optional(field_name, _body)
        columns = columns | {column: None if body is None else read(body, key)}
    return columns


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RejectedError(RejectReason.NOT_UTF8, f"{error.reason} at byte {error.start}") from None


def _body(value: object, path: str) -> object:
    """The value that fastjson wrote into a text."""
    return _parsed(text(value, path), RejectReason.BODY_UNREADABLE)


def _parsed(content: str, reason: RejectReason) -> object:
    try:
        return fastjson.parse(content)
    except fastjson.FastjsonError as error:
        raise RejectedError(reason, str(error)) from None


#: ResponseCode.CONSUMER_NOT_ONLINE: the broker answered, and no client of the group is connected to it.
_GROUP_NOT_ONLINE = re.compile(r"\bcode:? 206\b", re.IGNORECASE)
#: ResponseCode.TOPIC_NOT_EXIST, as the name server answers for a topic that no broker hosts.
_NO_ROUTE = re.compile(r"\bcode:? 17\b|No topic route info|TOPIC_NOT_EXIST", re.IGNORECASE)
#: The client did not answer in time: the asking side gave up, or the broker did (CONSUME_MSG_TIMEOUT).
_CLIENT_SILENT = re.compile(r"^[\w.]*(?:TimeoutException|RemotingSendRequestException)\b|\bcode:? 207\b", re.IGNORECASE)
#: What clients answer about a group without consumer there. Source: ClientRemotingProcessor.getConsumerRunningInfo.
HAS_NO_CONSUMER = re.compile(r"\bnot exist in this consumer\b")

_NO_MEMBERS: Final[bodies.Columns] = {
    "message_model": None,
    "consume_type": None,
    "consume_from_where": None,
    "connections": [],
    "subscriptions": [],
    "listed": None,
}
#: What capture writes in the place of an error where no broker's list of groups names the group any more.
NOT_LISTED: Final = "NOT LISTED: every broker answered with its groups, and this one is not among them"
_NO_BROKERS: Final[bodies.Columns] = {"queues": [], "addresses": [], "is_static": None}


@dataclass(frozen=True)
class LineKind:
    """One kind of line. `key_fields` maps its fields to key columns, without cluster and captured_at, each read
    by `read_key`. `telling`: errors that are observations, with their columns. `extra`: fields with a further body, as
    text, their column (null: not recorded), and its reader.
    """

    table: Table
    key_fields: Mapping[str, str]
    columns_of_body: Callable[[object, Mapping[str, object]], bodies.Columns]
    telling: Mapping[re.Pattern[str], bodies.Columns] = field(default_factory=dict)
    extra: Mapping[str, tuple[str, Callable[[object, Mapping[str, object]], object]]] = field(default_factory=dict)
    read_key: Callable[[object, str], str] = name


KINDS: Final[Mapping[str, LineKind]] = {
    "connection": LineKind(
        MEMBERSHIP_SNAPSHOTS,
        {"group": "consumer_group", "broker": "broker_name"},
        lambda body, _key: bodies.connections(body),
        {_GROUP_NOT_ONLINE: _NO_MEMBERS, re.compile(r"^NOT LISTED\b"): {**_NO_MEMBERS, "listed": False}},
        {"request_modes": ("request_modes", lambda body, key: bodies.request_modes(body, str(key["consumer_group"])))},
    ),
    "route": LineKind(
        ROUTE_SNAPSHOTS,
        {"topic": "topic"},
        lambda body, _key: bodies.route(body),
        {_NO_ROUTE: _NO_BROKERS},
        {
            "attributes": ("message_type", lambda body, _key: bodies.message_type(body)),
            # Whether any broker has the topic, as the recorder found out.
            "listed": ("listed", lambda body, _key: boolean(body, "listed")),
            "name_servers": ("name_servers", lambda body, _key: bodies.name_servers(body)),
        },
    ),
    "stats": LineKind(
        OFFSET_SNAPSHOTS,
        {"group": "consumer_group", "topic": "topic"},
        lambda body, key: bodies.consume_stats(body, str(key["topic"])),
    ),
    "committed": LineKind(
        OFFSET_SNAPSHOTS,
        {"group": "consumer_group", "topic": "topic"},
        lambda body, _key: bodies.committed_offsets(body),
    ),
    "topicstats": LineKind(TOPIC_SNAPSHOTS, {"topic": "topic"}, lambda body, _key: bodies.topic_stats(body)),
    "running": LineKind(
        CLIENT_SNAPSHOTS,
        {"group": "consumer_group", "client": "client_id"},
        lambda body, _key: running_info(body),
        {_CLIENT_SILENT: UNANSWERED, HAS_NO_CONSUMER: NOT_IN_GROUP},
    ),
    "stacks": LineKind(
        CLIENT_STACKS,
        {"group": "consumer_group", "client": "client_id"},
        lambda body, _key: bodies.stacks(body),
    ),
    "call": LineKind(
        CAPTURE_CALLS,
        {"called": "called", "request": "request", "subject": "subject"},
        lambda body, _key: bodies.call(body),
        read_key=text,
    ),
}
