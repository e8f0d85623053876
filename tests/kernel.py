"""The kernel on source rows written by hand: histories, audited steps and output rows, without Spark or Arrow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schemas import (
    CLIENT_SNAPSHOTS,
    MEMBERSHIP_SNAPSHOTS,
    OFFSET_SNAPSHOTS,
    OUTPUTS,
    ROUTE_SNAPSHOTS,
    TOPIC_SNAPSHOTS,
    Table,
)
from schemas.types import Array, Struct, Type
from spark_jobs.domain.judge import JudgedStep, judge
from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.unseen import PROXIES_GROUP
from spark_jobs.domain.model.history import (
    RETRY,
    UNKNOWN,
    ClientHistory,
    ClientReadings,
    ClientState,
    Connection,
    ConsumeStatus,
    GroupHistory,
    Membership,
    OffsetReadings,
    OwnedQueue,
    Place,
    RequestMode,
    Serving,
    Subscriptions,
    TopicReadings,
    normal_expression,
)
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.message_queue import RouteEntry, java_order
from spark_jobs.domain.model.series import Series, Sightings, State
from spark_jobs.domain.model.thresholds import Thresholds
from spark_jobs.domain.model.window import SECOND, AuditSettings, to_micros
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from spark_jobs.pipeline.gather.rows import tables

Row = Mapping[str, Any]
Key = tuple[str, ...]
_Found = Mapping[Key, list[Row]]
Rows = Mapping[Table, Sequence[Row]]
_NOTHING = StrategySettings()
#: An hour's steps and a snapshot every 20 seconds, as a configuration says that says nothing.
SETTINGS = AuditSettings(3600 * SECOND, 20 * SECOND, 60 * SECOND, Thresholds())


def group_histories(rows: Rows, sighted: Rows | None = None) -> list[GroupHistory]:
    """One per (cluster, consumer group) that any row of members, offsets or clients names, or any member of those that
    were `sighted`, in order. Without these all rows were.
    """
    rows = {table: [_named(row, table.schema) for row in found] for table, found in rows.items()}
    seen = rows if sighted is None else sighted
    captured = _by(seen.get(MEMBERSHIP_SNAPSHOTS, ()), "cluster", "consumer_group")
    routed = _by(seen.get(ROUTE_SNAPSHOTS, ()), "cluster", "topic")
    members, clients, offsets = (
        _by(rows.get(table, ()), "cluster", "consumer_group")
        for table in (MEMBERSHIP_SNAPSHOTS, CLIENT_SNAPSHOTS, OFFSET_SNAPSHOTS)
    )
    routes, topics = (_by(rows.get(table, ()), "cluster", "topic") for table in (ROUTE_SNAPSHOTS, TOPIC_SNAPSHOTS))
    return [
        _history(
            key,
            members.get(key, []),
            clients.get(key, []),
            offsets.get(key, []),
            routes,
            topics,
            members.get((key[0], PROXIES_GROUP), []),
            captured=_sightings(row["captured_at"] for row in captured.get(key, ())),
            readable=routed,
        )
        for key in sorted({*members, *clients, *offsets, *captured})
    ]


def _sightings(times: Iterable[datetime]) -> Sightings:
    return Sightings.of(np.array([to_micros(one) for one in times], dtype=np.int64))


def _readable(rows: Sequence[Row]) -> dict[str, Sightings]:
    """By broker, when the route named it with bit 4 of its permission."""
    times: dict[str, list[datetime]] = defaultdict(list)
    for row in rows:
        for name, perm, *_ in (one if isinstance(one, tuple) else one.values() for one in row["queues"]):
            if perm & 4:
                times[name].append(row["captured_at"])
    return {name: _sightings(found) for name, found in times.items()}


def judged(
    rows: Rows,
    interval: Interval,
    settings: AuditSettings = SETTINGS,
    configured: StrategySettings = _NOTHING,
    sighted: Rows | None = None,
) -> list[JudgedStep]:
    """Every step of every group, all configured alike."""
    first, end = to_micros(interval.start), to_micros(interval.end)
    histories = group_histories(rows, sighted)
    return [one for history in histories for one in judge(history, configured, settings, first, end)]


def published(rows: Rows, interval: Interval, settings: AuditSettings = SETTINGS) -> dict[Table, list[dict[str, Any]]]:
    """The rows of every output table as dicts, times without their zone (UTC), as Spark would give them."""
    found = tables(judged(rows, interval, settings))
    return {table: [_without_zone(row) for row in found[table.name].to_pylist()] for table in OUTPUTS}


def _without_zone(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, dict):
        return {name: _without_zone(one) for name, one in value.items()}
    return [_without_zone(one) for one in value] if isinstance(value, list) else value


def audited_steps(
    history: GroupHistory, settings: AuditSettings, interval: Interval, configured: StrategySettings = _NOTHING
) -> list[AuditedStep]:
    """The steps of one group, as the rules look at them."""
    first, end = to_micros(interval.start), to_micros(interval.end)
    return [one.step for one in judge(history, configured, settings, first, end)]


def _named(value: Any, type: Type) -> Any:
    """The value with its structs as dicts: by hand they may be tuples, as Spark takes them too."""
    if value is None:
        return None
    if isinstance(type, Array):
        return [_named(one, type.element) for one in value]
    if not isinstance(type, Struct):
        return value
    said = value if isinstance(value, Mapping) else dict(zip(type.names, value, strict=True))
    return {field.name: _named(said.get(field.name), field.type) for field in type}


def series_of(seen: Sequence[tuple[int, State]]) -> Series[State]:
    """A series from (microseconds, state), in any order; states must be hashable. Of equal times the last stays."""
    in_order = dict(sorted(seen, key=lambda one: one[0]))
    codes: dict[State, int] = {}
    places = [codes.setdefault(state, len(codes)) for state in in_order.values()]
    return Series(np.array(list(in_order), dtype=np.int64), np.array(places, dtype=np.int64), list(codes))


def _history(
    key: Key,
    members: list[Row],
    clients: list[Row],
    offsets: list[Row],
    routes: _Found,
    topics: _Found,
    proxies: list[Row],
    captured: Sightings,
    readable: _Found,
) -> GroupHistory:
    cluster, group = key
    subscribed = (one["topic"] for row in (*members, *clients) for one in row.get("subscriptions") or ())
    names = sorted({*subscribed, *(row["topic"] for row in offsets)})

    def of_topics(found: _Found, value: Callable[[Sequence[Row]], Any], *more: str) -> dict[str, Any]:
        return {name: value(_in_order(found[cluster, name])) for name in (*names, *more) if (cluster, name) in found}

    def of_group(found: list[Row], name: str, value: Callable[[Sequence[Row]], Any]) -> dict[str, Any]:
        return {said: value(_in_order(one)) for (said,), one in sorted(_by(found, name).items())}

    return GroupHistory(
        cluster,
        group,
        memberships=of_group(members, "broker_name", lambda found: _series(found, _membership)),
        routes=of_topics(routes, lambda found: _series(found, _route)),
        serving=of_topics(routes, lambda found: _series(found, _serving)),
        clients=of_group(clients, "client_id", _client),
        offsets=of_group(offsets, "topic", _offsets),
        topics=of_topics(topics, _topics, "%DLQ%" + group),
        proxies=of_group(proxies, "broker_name", lambda found: _series(found, _membership)),
        captured=captured,
        readable=of_topics(readable, _readable),
    )


def _by(rows: Iterable[Row], *names: str) -> dict[tuple[str, ...], list[Row]]:
    """The rows by the values of these columns."""
    found: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        found[tuple(row[name] for name in names)].append(row)
    return found


def _in_order(rows: Sequence[Row]) -> list[Row]:
    """By time, one of each time."""
    found: dict[int, Row] = {}
    for row in rows:
        found.setdefault(to_micros(row["captured_at"]), row)
    return [found[at] for at in sorted(found)]


def _series(rows: Sequence[Row], state: Any) -> Series[Any]:
    return series_of([(to_micros(row["captured_at"]), state(row)) for row in rows])


def _membership(row: Row) -> Membership:
    connections = [
        Connection(one["client_id"], one["client_addr"], one["language"], one["version"]) for one in row["connections"]
    ]
    subscribed = row["subscriptions"]
    return Membership(
        tuple(sorted(connections, key=lambda one: [(field is not None, field) for field in one])),
        frozenset(one["topic"] for one in subscribed),
        _normal(subscribed),
        row["message_model"],
        row.get("consume_type"),
        _request_modes(row.get("request_modes")),
    )


def _request_modes(given: Sequence[Row] | None) -> tuple[RequestMode, ...] | None:
    if given is None:
        return None
    return tuple(sorted(RequestMode(one["topic"], one["mode"], one["pop_share_queue_num"]) for one in given))


def _normal(subscribed: Sequence[Row]) -> Subscriptions:
    return frozenset(
        (one["topic"], normal_expression(one["expression_type"], one["sub_string"]))
        for one in subscribed
        if not one["topic"].startswith(RETRY)
    )


def _route(row: Row) -> tuple[RouteEntry, ...]:
    names = ("broker_name", "perm", "read_queue_nums", "write_queue_nums")
    topic_type = "STATIC" if row.get("is_static") else row.get("message_type")
    entries = [RouteEntry(**{name: one[name] for name in names}, topic_type=topic_type) for one in row["queues"]]
    return tuple(sorted(entries, key=lambda one: java_order(one.broker_name)))


def _serving(row: Row) -> Serving | None:
    if (addresses := row.get("addresses")) is None:
        return None
    lowest = {
        name: min((one["broker_id"], one["address"]) for one in addresses if one["broker_name"] == name)
        for name in {one["broker_name"] for one in addresses}
    }
    return frozenset((name, address) for name, (_, address) in lowest.items())


def _client(rows: Sequence[Row]) -> ClientHistory:
    held = [[*(row.get("owned_queues") or ())] for row in rows]
    for queues in held:
        queues.sort(key=lambda one: (one["topic"], one["broker_name"], one["queue_id"]))

    def numbers(name: str) -> NDArray[np.int64]:
        return _known(one.get(name) for queues in held for one in queues)

    of_row = dict(zip(map(id, rows), held, strict=True))
    return ClientHistory(
        _series(rows, lambda row: _client_state(row, of_row[id(row)])),
        ClientReadings(
            np.cumsum([0, *map(len, held)]),
            numbers("cached_count"),
            numbers("cached_mib"),
            numbers("cached_min_offset"),
            numbers("cached_max_offset"),
            numbers("last_pull"),
            [_statuses(row) for row in rows],
        ),
    )


def _client_state(row: Row, held: Sequence[Row]) -> ClientState:
    subscribed, owned = row.get("subscriptions"), row.get("owned_queues")
    return ClientState(
        row["answered"],
        row.get("strategy_class"),
        row.get("message_model"),
        row.get("consume_orderly"),
        row.get("client_rebalance"),
        row.get("consume_threads"),
        row.get("consume_batch_size"),
        row.get("pull_batch_size"),
        row.get("pull_interval_ms"),
        row.get("pull_threshold_for_queue"),
        row.get("pull_threshold_size_for_queue"),
        row.get("consume_max_span"),
        None if subscribed is None else frozenset(one["topic"] for one in subscribed),
        None if subscribed is None else _normal(subscribed),
        None if owned is None else tuple(_owned(one) for one in held),
        row.get("in_group"),
    )


def _owned(queue: Row) -> OwnedQueue:
    return OwnedQueue(
        queue["topic"], queue["broker_name"], queue["queue_id"], queue.get("locked"), queue.get("dropped")
    )


def _statuses(row: Row) -> tuple[ConsumeStatus, ...] | None:
    said = row.get("consume_status")
    return (
        None if said is None else tuple(ConsumeStatus(*(one[name] for name in ConsumeStatus._fields)) for one in said)
    )


def _offsets(rows: Sequence[Row]) -> OffsetReadings:
    times, queues, found, present = _matrices(rows, "offsets")
    end, consumer, pull = found("broker_offset"), found("consumer_offset"), found("pull_offset")
    return OffsetReadings(times, queues, end, consumer, pull, found("last_timestamp"), present)


def _topics(rows: Sequence[Row]) -> TopicReadings:
    times, queues, found, present = _matrices(rows, "queues")
    return TopicReadings(times, queues, found("min_offset"), found("max_offset"), present)


def _matrices(rows: Sequence[Row], column: str) -> tuple[NDArray[np.int64], list[Place], Any, NDArray[np.bool_]]:
    """Times, queues, the matrix of a name, and which queues each snapshot has."""
    entries: list[dict[Place, Row]] = [
        {(one["broker_name"], one["queue_id"]): one for one in reversed(row[column])} for row in rows
    ]
    queues = sorted({place for of_row in entries for place in of_row})

    def matrix(name: str) -> NDArray[np.int64]:
        flat = _known(of_row[place][name] if place in of_row else None for of_row in entries for place in queues)
        return flat.reshape(len(rows), len(queues))

    present = np.array([place in of_row for of_row in entries for place in queues], dtype=bool)
    times = np.array([to_micros(row["captured_at"]) for row in rows], dtype=np.int64)
    return times, queues, matrix, present.reshape(len(rows), len(queues))


def _known(numbers: Iterable[int | None]) -> NDArray[np.int64]:
    return np.array([UNKNOWN if one is None else one for one in numbers], dtype=np.int64)
