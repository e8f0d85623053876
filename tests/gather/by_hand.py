"""Source rows gathered without Spark, row by row, in the shape that Spark hands to the Arrow function."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from schemas import CLIENT_SNAPSHOTS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, TOPIC_SNAPSHOTS, Table
from spark_jobs.domain.model.window import to_micros
from spark_jobs.store.spark_types import spark_schema

Row = Mapping[str, Any]


def _type(table: Table, column: str) -> pa.DataType:
    return to_arrow_schema(spark_schema(table)).field(column).type


def _state(table: Table, *columns: str, **others: pa.DataType) -> pa.StructType:
    """Columns of a source, and other fields."""
    return pa.struct({column: _type(table, column) for column in columns} | others)


_LONGS = pa.list_(pa.int64())
_MEMBERSHIP = _state(
    MEMBERSHIP_SNAPSHOTS,
    *("message_model", "consume_type", "consume_from_where", "connections", "subscriptions", "request_modes"),
)
_ROUTE = _state(ROUTE_SNAPSHOTS, "queues", "addresses", "message_type", "is_static")
_CLIENT = _state(
    CLIENT_SNAPSHOTS,
    *("answered", "in_group", "strategy_class", "message_model", "consume_orderly", "client_rebalance"),
    *("consume_threads", "consume_batch_size", "pull_batch_size", "pull_interval_ms", "pull_threshold_for_queue"),
    *("pull_threshold_size_for_queue", "consume_max_span", "subscriptions", "owned_queues"),
    started_at=pa.bool_(),
    consume_status=pa.bool_(),
)
_QUEUES = pa.struct(
    {"broker_name": pa.list_(pa.string()), "queue_id": pa.list_(pa.int32()), "missing": pa.list_(pa.bool_())}
)
STATES = pa.schema(
    {
        **dict.fromkeys(("cluster", "consumer_group", "kind", "name"), pa.string()),
        "fingerprint": pa.int64(),
        "times": _LONGS,
        "membership": _MEMBERSHIP,
        "route": _ROUTE,
        "client": _CLIENT,
        "offset_queues": _QUEUES,
        "topic_queues": _QUEUES,
        "readable": pa.string(),
    }
)
_VALUES = ("first", "second", "third", "fourth", "fifth", "sixth")
READINGS = pa.schema(
    {
        **dict.fromkeys(("fingerprint", "at"), pa.int64()),
        **dict.fromkeys(_VALUES, _LONGS),
        "statuses": _type(CLIENT_SNAPSHOTS, "consume_status"),
    }
)
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
        yield _state_row(row, "membership", "broker_name", row, True), None
        if row["consumer_group"] == "CID_DefaultHeartBeatSyncerTopic":
            for name in _groups_of(row["cluster"], rows):
                state = _state_row({**row, "consumer_group": name}, "membership", "broker_name", row, True)
                yield state | {"kind": "proxy"}, None
    for row in rows.get(OFFSET_SNAPSHOTS, ()):
        yield (
            _state_row(row, "offset_queues", "topic", _queues(row["offsets"])),
            _reading(row, row["offsets"], _OFFSETS),
        )
    for row in rows.get(CLIENT_SNAPSHOTS, ()):
        owned = row.get("owned_queues")
        in_order = owned and sorted(owned, key=_of_client)
        reading = _reading(row, in_order, _CACHED) | {"statuses": row.get("consume_status")}
        known = {name: True if row.get(name) is not None else None for name in ("started_at", "consume_status")}
        yield _state_row(row, "client", "client_id", {**row, **known, "owned_queues": in_order}), reading
    for row in rows.get(ROUTE_SNAPSHOTS, ()):
        for group in [*_groups_with(row, rows), *alone]:
            yield _state_row({**row, **group}, "route", "topic", row, True), None
    for row in rows.get(TOPIC_SNAPSHOTS, ()):
        reading = _reading(row, row["queues"], ("min_offset", "max_offset"))
        # The copies of all groups, and the topic by itself, have one reading.
        for place, group in enumerate([*_groups_with(row, rows), *alone]):
            state = _state_row({**row, **group}, "topic_queues", "topic", _queues(row["queues"]))
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


def _state_row(row: Row, kind: str, name: str, state: Any, has_times: bool = False) -> dict[str, Any]:
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
