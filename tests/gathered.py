"""Source rows gathered without Spark, row by row, in the shape that Spark hands to the Arrow function."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from schemas import (
    CAPTURE_CALLS,
    CLIENT_SNAPSHOTS,
    MEMBERSHIP_SNAPSHOTS,
    OFFSET_SNAPSHOTS,
    ROUTE_SNAPSHOTS,
    TOPIC_SNAPSHOTS,
    Table,
)
from spark_jobs.domain.kernel.unseen import PROXIES_GROUP
from spark_jobs.domain.model.history import DEAD_LETTERS
from spark_jobs.domain.model.window import to_micros
from spark_jobs.pipeline.gather.arrow_values import plain
from spark_jobs.pipeline.gather.kinds import (
    CAPTURED,
    DELETED,
    KIND_OF,
    MEASURED,
    MEMBERSHIP,
    NAME_OF,
    PROXY,
    READABLE,
    SETTINGS,
    UNANSWERED,
    VALUES,
)
from spark_jobs.store.arrow_types import arrow_schema

Row = Mapping[str, Any]
Rows = Mapping[Table, Sequence[Row]]
_Consumers = Mapping[tuple[str, str | None], list[str]]
_LONGS = pa.list_(pa.int64())
_OF_GROUPS = (MEMBERSHIP_SNAPSHOTS, CLIENT_SNAPSHOTS, OFFSET_SNAPSHOTS)


def _columns(table: Table, *names: str) -> list[pa.Field]:
    return [arrow_schema(table).field(name) for name in names]


def _list_of(table: Table, array: str, *names: str) -> pa.Field:
    """An array of structs, with these of their fields only."""
    structs = arrow_schema(table).field(array).type.value_type
    return pa.field(array, pa.list_(pa.struct([structs.field(name) for name in names])))


_QUEUES = pa.struct(
    {"broker_name": pa.list_(pa.string()), "queue_id": pa.list_(pa.int32()), "missing": pa.list_(pa.bool_())}
)
_MEMBERSHIP = (
    *("message_model", "consume_type", "consume_from_where", "connections", "subscriptions", "request_modes"),
    "listed",
)
#: What of a snapshot is its state.
_STATES = {
    MEMBERSHIP_SNAPSHOTS: pa.struct(_columns(MEMBERSHIP_SNAPSHOTS, *_MEMBERSHIP)),
    ROUTE_SNAPSHOTS: pa.struct(
        _columns(ROUTE_SNAPSHOTS, "queues", "addresses", "name_servers", "message_type", "is_static", "listed")
    ),
    CLIENT_SNAPSHOTS: pa.struct(
        [
            *_columns(CLIENT_SNAPSHOTS, "answered", "in_group", *SETTINGS),
            _list_of(CLIENT_SNAPSHOTS, "subscriptions", "topic", "expression_type", "sub_string"),
            _list_of(CLIENT_SNAPSHOTS, "owned_queues", "topic", "broker_name", "queue_id", "locked", "dropped"),
            pa.field("started_at", pa.bool_()),
            pa.field("consume_status", pa.bool_()),
        ]
    ),
    OFFSET_SNAPSHOTS: _QUEUES,
    TOPIC_SNAPSHOTS: _QUEUES,
}
_STATES_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("cluster", "consumer_group", "kind", "name", READABLE)),
        ("fingerprint", pa.int64()),
        ("times", _LONGS),
        *((KIND_OF[table], state) for table, state in _STATES.items()),
    ]
)
_READINGS_SCHEMA = pa.schema(
    [
        ("fingerprint", pa.int64()),
        ("at", pa.int64()),
        *((name, _LONGS) for name in VALUES),
        ("statuses", arrow_schema(CLIENT_SNAPSHOTS).field("consume_status").type),
    ]
)


class _Snapshot(NamedTuple):
    """What one row shows: a state, which each of the groups is handed, and what was measured beside it."""

    cluster: str
    groups: Sequence[str | None]
    kind: str
    name: str | None
    column: str
    state: Any
    at: int
    reading: Mapping[str, Any] | None = None


def gathered(rows: Rows, sighted: Rows | None = None, *, topics: bool = False) -> tuple[pa.Table, pa.Table]:
    """States and readings of all groups, and of `topics` by themselves, as if they had one key. `sighted`: memberships
    and routes that sightings were made of; without them, those of the rows.
    """
    consumers = _consumers(rows)
    states: dict[tuple[str | None, int], dict[str, Any]] = {}
    fingerprints: dict[tuple[str, ...], int] = {}
    readings = []
    snapshots = _snapshots(rows, consumers, [None] if topics else [])
    seen_before = _sightings(rows if sighted is None else sighted, consumers)
    for seen in [*snapshots, *_unanswered(rows), *seen_before]:
        text = repr((seen.groups, seen.name, seen.state))
        fingerprint = fingerprints.setdefault((seen.cluster, seen.kind, text), len(fingerprints))
        key = {"cluster": seen.cluster, "kind": seen.kind, "name": seen.name, "fingerprint": fingerprint}
        for group in seen.groups:
            if (group, fingerprint) not in states:
                state = plain(seen.state, _STATES_SCHEMA.field(seen.column).type)
                states[group, fingerprint] = {**key, "consumer_group": group, "times": [], seen.column: state}
            if seen.reading is None:
                states[group, fingerprint]["times"].append(seen.at)
        if seen.reading is not None:
            readings.append({"fingerprint": fingerprint, "at": seen.at, **seen.reading})
    return pa.Table.from_pylist([*states.values()], _STATES_SCHEMA), pa.Table.from_pylist(readings, _READINGS_SCHEMA)


def _consumers(rows: Rows) -> _Consumers:
    """By (cluster, topic) the groups that subscribe to it or have offsets of it; by (cluster, None) all groups."""
    groups: dict[tuple[str, str | None], set[str]] = defaultdict(set)
    for table in _OF_GROUPS:
        for row in rows.get(table, ()):
            subscriptions = _structs(table, row, "subscriptions") or ()
            for topic in {*(entry["topic"] for entry in subscriptions if entry), row.get("topic"), None}:
                groups[row["cluster"], topic].add(row["consumer_group"])
    return {key: sorted(names) for key, names in groups.items()}


def _structs(table: Table, row: Row, array: str) -> Sequence[Row | None] | None:
    """The entries of an array as dicts: by hand they may be tuples, as Spark takes them too."""
    structs: Sequence[Row | None] | None = row.get(array)
    if any(isinstance(struct, tuple) for struct in structs or ()):
        structs = plain(structs, arrow_schema(table).field(array).type)
    return structs


def _snapshots(rows: Rows, consumers: _Consumers, of_topics: Sequence[None]) -> Iterator[_Snapshot]:
    for table in _STATES:
        kind = KIND_OF[table]
        for row in rows.get(table, ()):
            cluster, name, at = row["cluster"], row[NAME_OF[table]], to_micros(row["captured_at"])
            state, reading = _state_and_reading(table, row)
            if table in _OF_GROUPS:
                yield _Snapshot(cluster, [row["consumer_group"]], kind, name, kind, state, at, reading)
            else:
                groups: list[str | None] = [*_groups_with(table, row, consumers), *of_topics]
                yield _Snapshot(cluster, groups, kind, name, kind, state, at, reading)
            if table is MEMBERSHIP_SNAPSHOTS and row["consumer_group"] == PROXIES_GROUP:
                yield _Snapshot(cluster, consumers[cluster, None], PROXY, name, MEMBERSHIP, state, at)


def _groups_with(table: Table, row: Row, consumers: _Consumers) -> Iterator[str]:
    """Those that are handed a topic's snapshot: its consumers, and the group whose dead letters it holds."""
    cluster, topic = row["cluster"], row["topic"]
    yield from consumers.get((cluster, topic), ())
    if table is TOPIC_SNAPSHOTS:
        yield from (group for group in consumers.get((cluster, None), ()) if topic == DEAD_LETTERS + group)


def _state_and_reading(table: Table, row: Row) -> tuple[Row, dict[str, Any] | None]:
    if table not in MEASURED:
        return {field.name: row.get(field.name) for field in _STATES[table]}, None
    array, _ = MEASURED[table]
    queues = _structs(table, row, array)
    if table is not CLIENT_SNAPSHOTS:
        return _queue_lists(queues), _numbers(table, queues)
    queues = queues and sorted(queues, key=_nulls_first)
    state = {**row, array: queues, "subscriptions": _structs(table, row, "subscriptions")}
    for name in ("started_at", "consume_status"):
        state[name] = None if row.get(name) is None else True
    return state, {**_numbers(table, queues), "statuses": row.get("consume_status")}


def _numbers(table: Table, queues: Sequence[Row | None] | None) -> dict[str, Any]:
    """A list per field of what is measured of queues."""
    if queues is None:
        return {}
    _, fields = MEASURED[table]
    return {
        value: [queue and queue.get(field) for queue in queues] for value, field in zip(VALUES, fields, strict=False)
    }


def _nulls_first(queue: Row | None) -> list[tuple[bool, Any]]:
    names = ("topic", "broker_name", "queue_id")
    return [] if queue is None else [(queue[name] is not None, queue[name]) for name in names]


def _queue_lists(listed: Sequence[Row | None] | None) -> dict[str, Any]:
    if listed is None:
        return {}
    missing = [queue is None for queue in listed]
    lists = {name: [queue and queue[name] for queue in listed] for name in ("broker_name", "queue_id")}
    return {**lists, "missing": missing if any(missing) else None}


def _unanswered(rows: Rows) -> Iterator[_Snapshot]:
    """Every call for a group's members that a broker did not answer, with its error, or else its fate."""
    for row in rows.get(CAPTURE_CALLS, ()):
        is_silent = row["fate"] not in ("ANSWERED", "NOT_ONLINE")
        if is_silent and row["request"] == "connection" and not row["called"].startswith("proxy "):
            group, error, at = row["subject"], row.get("error") or row["fate"], to_micros(row["captured_at"])
            yield _Snapshot(row["cluster"], [group], UNANSWERED, row["called"], READABLE, error, at)


def _sightings(rows: Rows, consumers: _Consumers) -> Iterator[_Snapshot]:
    """Every time of every group, there or deleted, and of every broker that a route names as readable."""
    for row in rows.get(MEMBERSHIP_SNAPSHOTS, ()):
        group, at = row["consumer_group"], to_micros(row["captured_at"])
        kind = DELETED if row.get("listed") is False else CAPTURED
        yield _Snapshot(row["cluster"], [group], kind, group, READABLE, None, at)
    for row in rows.get(ROUTE_SNAPSHOTS, ()):
        groups, at = consumers.get((row["cluster"], row["topic"]), ()), to_micros(row["captured_at"])
        for queue in _structs(ROUTE_SNAPSHOTS, row, "queues") or ():
            if queue and (queue["perm"] or 0) & 4:
                yield _Snapshot(row["cluster"], groups, READABLE, row["topic"], READABLE, queue["broker_name"], at)
