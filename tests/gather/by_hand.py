"""Source rows gathered without Spark, row by row, in the shape that Spark hands to the Arrow function."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from schemas import CLIENT_SNAPSHOTS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, TOPIC_SNAPSHOTS, Table
from spark_jobs.domain.model.window import to_micros

Row = Mapping[str, Any]


def _struct(text: str, **others: pa.DataType) -> pa.StructType:
    """`name type, …`, then the fields of other types."""
    named = dict(field.split() for field in text.split(", "))
    return pa.struct({name: pa.type_for_alias(alias) for name, alias in named.items()} | others)


_LONGS = pa.list_(pa.int64())
_SUBSCRIPTIONS = pa.list_(_struct("topic string, expression_type string, sub_string string"))
_CONNECTIONS = pa.list_(_struct("client_id string, client_addr string, language string, version int32"))
_REQUEST_MODES = pa.list_(_struct("topic string, mode string, pop_share_queue_num int32"))
_OWNED = pa.list_(_struct("topic string, broker_name string, queue_id int32, locked bool, dropped bool"))
_HOSTS = pa.list_(_struct("broker_name string, perm int32, read_queue_nums int32, write_queue_nums int32"))
_ADDRESSES = pa.list_(_struct("broker_name string, broker_id int64, address string"))
_ROUTE = pa.struct({"queues": _HOSTS, "addresses": _ADDRESSES, "message_type": pa.string(), "is_static": pa.bool_()})
_CLIENT = _struct(
    "answered bool, in_group bool, strategy_class string, message_model string, consume_orderly bool, "
    "client_rebalance bool, consume_threads int32, consume_batch_size int32, pull_batch_size int32, "
    "pull_interval_ms int32, pull_threshold_for_queue int32, pull_threshold_size_for_queue int32, "
    "consume_max_span int32",
    subscriptions=_SUBSCRIPTIONS,
    owned_queues=_OWNED,
    started_at=pa.bool_(),
    consume_status=pa.bool_(),
)
_STATUSES = pa.list_(
    _struct(
        "topic string, consume_rt_ms double, consume_ok_tps double, consume_failed_tps double, pull_rt_ms double, "
        "pull_tps double"
    )
)
_QUEUES = pa.struct(
    {"broker_name": pa.list_(pa.string()), "queue_id": pa.list_(pa.int32()), "missing": pa.list_(pa.bool_())}
)
STATES = pa.schema(
    _struct(
        "cluster string, consumer_group string, kind string, name string, fingerprint int64",
        times=_LONGS,
        membership=_struct(
            "message_model string, consume_type string, consume_from_where string",
            connections=_CONNECTIONS,
            subscriptions=_SUBSCRIPTIONS,
            request_modes=_REQUEST_MODES,
        ),
        route=_ROUTE,
        client=_CLIENT,
        offset_queues=_QUEUES,
        topic_queues=_QUEUES,
        readable=pa.string(),
    )
)
_VALUES = ("first", "second", "third", "fourth", "fifth", "sixth")
READINGS = pa.schema(_struct("fingerprint int64, at int64", **dict.fromkeys(_VALUES, _LONGS), statuses=_STATUSES))
_CACHED = ("cached_count", "cached_mib", "cached_min_offset", "cached_max_offset", "last_pull", "last_consume")
_OFFSETS = ("broker_offset", "consumer_offset", "pull_offset", "last_timestamp")


def gathered(rows: Mapping[Table, Sequence[Row]], *, topics: bool = False) -> tuple[pa.Table, pa.Table]:
    """States and readings of all groups, and of `topics` by themselves, as if they had one key."""
    states: dict[str, dict[str, Any]] = {}
    fingerprints: dict[str, int] = {}
    readings = []
    alone = [{"consumer_group": None}] if topics else []
    for state, reading in [*_snapshots(rows, alone), *_sightings(rows)]:
        times = state.pop("times") or []
        of_topic = {"consumer_group": None} if state["kind"] == "topic_queues" else {}
        fingerprint = fingerprints.setdefault(repr(state | of_topic), len(fingerprints))
        folded = states.setdefault(repr(state), state | {"times": [], "fingerprint": fingerprint})
        folded["times"].extend(times)
        if reading:
            readings.append(reading | {"fingerprint": folded["fingerprint"]})
    return pa.Table.from_pylist([*states.values()], STATES), pa.Table.from_pylist(readings, READINGS)


def _snapshots(
    rows: Mapping[Table, Sequence[Row]], alone: Sequence[Mapping[str, None]]
) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None]]:
    for row in rows.get(MEMBERSHIP_SNAPSHOTS, ()):
        yield _state(row, "membership", "broker_name", row, True), None
        if row["consumer_group"] == "CID_DefaultHeartBeatSyncerTopic":
            for name in _groups_of(row["cluster"], rows):
                state = _state({**row, "consumer_group": name}, "membership", "broker_name", row, True)
                yield state | {"kind": "proxy"}, None
    for row in rows.get(OFFSET_SNAPSHOTS, ()):
        yield _state(row, "offset_queues", "topic", _queues(row["offsets"])), _reading(row, row["offsets"], _OFFSETS)
    for row in rows.get(CLIENT_SNAPSHOTS, ()):
        owned = row.get("owned_queues")
        in_order = owned and sorted(owned, key=_of_client)
        reading = _reading(row, in_order, _CACHED) | {"statuses": row.get("consume_status")}
        known = {name: True if row.get(name) is not None else None for name in ("started_at", "consume_status")}
        yield _state(row, "client", "client_id", {**row, **known, "owned_queues": in_order}), reading
    for row in rows.get(ROUTE_SNAPSHOTS, ()):
        for group in [*_groups_with(row, rows), *alone]:
            yield _state({**row, **group}, "route", "topic", row, True), None
    for row in rows.get(TOPIC_SNAPSHOTS, ()):
        reading = _reading(row, row["queues"], ("min_offset", "max_offset"))
        # The copies of all groups, and the topic by itself, have one reading.
        for place, group in enumerate([*_groups_with(row, rows), *alone]):
            state = _state({**row, **group}, "topic_queues", "topic", _queues(row["queues"]))
            yield state, reading if place == 0 else None


def _of_client(queue: Row | None) -> tuple[Any, ...]:
    """Null first."""
    names = ("topic", "broker_name", "queue_id")
    return () if queue is None else tuple((queue[name] is not None, queue[name]) for name in names)


def _sightings(rows: Mapping[Table, Sequence[Row]]) -> Iterator[tuple[dict[str, Any], None]]:
    """Of every group, and of every broker of a topic for each of its groups: every time."""
    times: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for row in rows.get(MEMBERSHIP_SNAPSHOTS, ()):
        key = row["cluster"], row["consumer_group"], "captured", row["consumer_group"], ""
        times[key].append(to_micros(row["captured_at"]))
    for row in rows.get(ROUTE_SNAPSHOTS, ()):
        for entry in row["queues"] or ():
            for group in _groups_with(row, rows):
                key = row["cluster"], group["consumer_group"], "readable", row["topic"], entry["broker_name"]
                times[key].append(to_micros(row["captured_at"]))
    for (cluster, group_name, kind, name, broker), found in times.items():
        state = {"cluster": cluster, "consumer_group": group_name, "kind": kind, "name": name, "times": found}
        yield state | {"readable": broker if kind == "readable" else None}, None


def _groups_with(topic: Row, rows: Mapping[Table, Sequence[Row]]) -> list[dict[str, str]]:
    """The groups of the row's cluster that subscribe its topic or have offsets of it."""
    found = set()
    for table in (MEMBERSHIP_SNAPSHOTS, CLIENT_SNAPSHOTS, OFFSET_SNAPSHOTS):
        for row in rows.get(table, ()):
            named = {one["topic"] for one in row.get("subscriptions") or () if one} | {row.get("topic")}
            if row["cluster"] == topic["cluster"] and topic["topic"] in named:
                found.add(row["consumer_group"])
    return [{"consumer_group": group} for group in sorted(found)]


def _groups_of(cluster: str, rows: Mapping[Table, Sequence[Row]]) -> list[str]:
    tables = (MEMBERSHIP_SNAPSHOTS, CLIENT_SNAPSHOTS, OFFSET_SNAPSHOTS)
    return sorted({row["consumer_group"] for one in tables for row in rows.get(one, ()) if row["cluster"] == cluster})


def _state(row: Row, kind: str, name: str, state: Any, has_times: bool = False) -> dict[str, Any]:
    key = {"cluster": row["cluster"], "consumer_group": row["consumer_group"], "kind": kind, "name": row[name]}
    return key | {kind: state, "times": [to_micros(row["captured_at"])] if has_times else None}


def _queues(listed: Sequence[Row | None] | None) -> dict[str, Any]:
    if listed is None:
        return {}
    missing = [one is None for one in listed]
    found = {name: [one and one[name] for one in listed] for name in ("broker_name", "queue_id")}
    return {**found, "missing": missing if any(missing) else None}


def _reading(row: Row, queues: Sequence[Row | None] | None, names: Sequence[str]) -> dict[str, Any]:
    known = () if queues is None else names
    numbers = {at: [one and one.get(name) for one in queues or ()] for at, name in zip(_VALUES, known, strict=False)}
    return {"at": to_micros(row["captured_at"]), **numbers}


def plain(value: Any) -> Any:
    """The value with arrays as lists and dataclasses as dicts, so that two can be compared."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items()}
    return value
