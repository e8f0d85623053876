"""The rows that Spark gathered of a group, as the history that the kernel evaluates: its few states from dicts to
values in their normal form, its readings as matrices.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from spark_jobs.domain.model.history import (
    RETRY,
    ClientHistory,
    ClientState,
    Connection,
    GroupHistory,
    Membership,
    OwnedQueue,
    Place,
    RequestMode,
    ServerRoutes,
    Serving,
    Subscriptions,
    normal_expression,
)
from spark_jobs.domain.model.message_queue import STATIC, MessageQueue, RouteEntry, java_order
from spark_jobs.domain.model.series import NEVER, Series, Sightings, State, coded
from spark_jobs.pipeline.exchange import (
    CAPTURED,
    CLIENT,
    DELETED,
    MEMBERSHIP,
    OFFSETS,
    PROXY,
    READABLE,
    ROUTE,
    STATE_OF,
    TOPIC,
    UNANSWERED,
    Kind,
)
from spark_jobs.pipeline.gather.arrow_values import one_array
from spark_jobs.pipeline.gather.readings import Layout, Numbers, Readings

Value = TypeVar("Value", Connection, RequestMode)


class Folded(NamedTuple):
    """One state of one key, and when it was seen: `times`, or the samples of that `fingerprint`."""

    fingerprint: int | None
    state: Any
    times: Numbers


#: By kind, then by the name of the broker, topic or client.
_Group = Mapping[str, Mapping[str, Sequence[Folded]]]


def histories(states: pa.Table, samples: pa.Table) -> list[GroupHistory]:
    """One per (cluster, consumer group) that `exchange.STATES` names. A sample belongs to the states of its
    fingerprint.
    """
    measured = Readings(samples)
    return [_history(*key, by_kind, measured) for key, by_kind in sorted(_by_group(states).items())]


def _by_group(states: pa.Table) -> dict[tuple[str, str], _Group]:
    times = one_array(states["times"])
    every_time, offsets = times.values.to_numpy(), times.offsets.to_numpy()
    groups: dict[tuple[str, str], dict[str, dict[str, list[Folded]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for place, row in enumerate(states.drop_columns(["times"]).to_pylist()):
        column = STATE_OF.get(row["kind"])
        state = None if column is None else row[column]
        folded = Folded(row["fingerprint"], state, every_time[offsets[place] : offsets[place + 1]])
        groups[row["cluster"], row["consumer_group"]][row["kind"]][row["name"]].append(folded)
    return dict(groups)


def _history(cluster: str, group: str, by_kind: _Group, measured: Readings) -> GroupHistory:
    def by_name(kind: str, value: Callable[[Sequence[Folded]], Any]) -> dict[str, Any]:
        return {name: value(folded) for name, folded in sorted(by_kind.get(kind, {}).items())}

    def layouts(kind: Kind) -> dict[str, list[Layout]]:
        return by_name(kind.name, partial(_layouts, kind, measured))

    return GroupHistory(
        cluster,
        group,
        memberships=by_name(MEMBERSHIP.name, lambda folded: _series(folded, membership)),
        routes=by_name(ROUTE.name, lambda folded: _series(folded, route)),
        serving=by_name(ROUTE.name, lambda folded: _series(folded, lambda state: serving(state["addresses"]))),
        masterless=by_name(ROUTE.name, lambda folded: _series(folded, lambda state: masterless(state["addresses"]))),
        server_routes={
            topic: _series(folded, server_routes)
            for topic, folded in by_kind.get(ROUTE.name, {}).items()
            if any(state["name_servers"] for _, state, _ in folded)
        },
        topics_listed={
            topic: _series(folded, is_listed)
            for topic, folded in by_kind.get(ROUTE.name, {}).items()
            if any(is_listed(state) is False for _, state, _ in folded)
        },
        clients=by_name(CLIENT.name, lambda folded: _client(folded, measured)),
        offsets={topic: measured.offsets(listed) for topic, listed in layouts(OFFSETS).items()},
        topics={topic: measured.topics(listed) for topic, listed in layouts(TOPIC).items()},
        proxies=by_name(PROXY, lambda folded: _series(folded, membership)),
        unanswered=by_name(UNANSWERED, lambda folded: _series(folded, str)),
        captured=by_name(CAPTURED, lambda folded: Sightings.of(folded[0].times)).get(group, NEVER),
        deleted=by_name(DELETED, lambda folded: Sightings.of(folded[0].times)).get(group, NEVER),
        readable=by_name(READABLE, lambda folded: {readable(row): Sightings.of(times) for _, row, times in folded}),
    )


def _layouts(kind: Kind, measured: Readings, folded: Iterable[Folded]) -> list[Layout]:
    return [
        ([*zip(*(state[kind.array][name] for name in kind.listed), strict=True)], measured.of(fingerprint))
        for fingerprint, state, _ in folded
    ]


def _series(folded: Sequence[Folded], value: Callable[[Any], State]) -> Series[State]:
    """States that are the same in their normal form have one code; of each time the gate let one snapshot through."""
    codes, states = coded(value(state) for _, state, _ in folded)
    times, first = np.unique(np.concatenate([times for _, _, times in folded]), return_index=True)
    return Series(times, np.repeat(codes, [len(times) for _, _, times in folded])[first], states)


def _client(folded: Sequence[Folded], measured: Readings) -> ClientHistory:
    codes, states = coded(client_state(state) for _, state, _ in folded)
    readings = [measured.of(fingerprint) for fingerprint, _, _ in folded]
    places = np.concatenate(readings)
    order = measured.in_order(places)
    of_readings = np.repeat(codes, [len(of_state) for of_state in readings])
    series: Series[ClientState] = Series(measured.times[places[order]], of_readings[order], states)
    return ClientHistory(series, measured.clients(places[order]))


Struct = Mapping[str, Any]


def membership(row: Struct) -> Membership:
    """One broker's answer: message model, consume type, connections, subscriptions, request modes."""
    connections = _values(Connection, row["connections"])
    return Membership(
        tuple(sorted(connections, key=_unknown_first)),
        _topics(row["subscriptions"]),
        _normal(row["subscriptions"]),
        row["message_model"],
        row["consume_type"],
        _request_modes(row["request_modes"]),
        row["listed"],
        row["consume_from_where"],
    )


def route(row: Struct) -> tuple[RouteEntry, ...]:
    """A topic's route with all brokers that any name server names, sorted as clients sort them."""
    topic_type = STATIC if row["is_static"] else row["message_type"]
    of_servers = {entry.broker_name: entry for _, entries in server_routes(row) for entry in entries}
    answered = {entry["broker_name"]: RouteEntry(**entry) for entry in row["queues"]}
    entries = (entry._replace(topic_type=topic_type) for entry in (of_servers | answered).values())
    return tuple(sorted(entries, key=lambda entry: java_order(entry.broker_name)))


def readable(row: Struct) -> Place | None:
    """A broker of a topic and how many of its queues were readable; None: the topic had no route."""
    return None if row["broker_name"] is None else (row["broker_name"], row["read_queue_nums"])


def server_routes(row: Struct) -> ServerRoutes:
    """By name server its own route of a topic."""
    entries: dict[str, list[RouteEntry]] = defaultdict(list)
    for struct in row["name_servers"] or ():
        names = {name: struct[name] for name in ("broker_name", "perm", "read_queue_nums", "write_queue_nums")}
        entries[struct["address"]] += [RouteEntry(**names)] if struct["broker_name"] is not None else []
    in_order = {
        address: sorted(each, key=lambda entry: java_order(entry.broker_name)) for address, each in entries.items()
    }
    return tuple((address, tuple(in_order[address])) for address in sorted(in_order))


def is_listed(row: Struct) -> bool | None:
    """Return whether brokers have the topic; False: it is deleted; None: its route is empty, for whatever reason."""
    return True if row["queues"] else row["listed"]


def serving(addresses: Sequence[Struct] | None) -> Serving | None:
    """Return the address at which each broker of a route is asked: at the address of its lowest id, as clients and
    `capture` do where there is no master (`MQClientInstance.findBrokerAddressInSubscribe`). None: not recorded.
    """
    if addresses is None:
        return None
    by_id = sorted(addresses, key=lambda row: row["broker_id"], reverse=True)
    return frozenset({row["broker_name"]: row["address"] for row in by_id}.items())


def masterless(addresses: Sequence[Struct] | None) -> frozenset[str]:
    """The brokers that only slaves serve, as far as addresses were recorded: that of a master has the id 0
    (`MixAll.MASTER_ID`).
    """
    rows = addresses or ()
    return frozenset(row["broker_name"] for row in rows) - {row["broker_name"] for row in rows if not row["broker_id"]}


def client_state(row: Struct) -> ClientState:
    """Return what one client said; its queues stay in their order, which is that of its readings."""
    shown = {name: row[name] for name in CLIENT.shared}
    subscribed, owned = shown.pop("subscriptions"), [row["owned_queues"][name] for name in OwnedQueue._fields]
    refused = shown.pop("lock_refused")
    return ClientState(
        **shown,
        lock_refused=tuple(MessageQueue(**queue) for queue in refused or ()),
        topics=None if subscribed is None else _topics(subscribed),
        subscriptions=None if subscribed is None else _normal(subscribed),
        owned=None if None in owned else tuple(map(OwnedQueue, *owned)),
    )


def _request_modes(given: Sequence[Struct] | None) -> tuple[RequestMode, ...] | None:
    return None if given is None else tuple(sorted(_values(RequestMode, given), key=_unknown_first))


def _values(kind: type[Value], structs: Iterable[Struct]) -> tuple[Value, ...]:
    """A value of this kind, a named tuple, of the fields of each struct by the same names."""
    return tuple(kind(*(struct[name] for name in kind._fields)) for struct in structs)


def _topics(subscribed: Sequence[Struct]) -> frozenset[str]:
    return frozenset(row["topic"] for row in subscribed)


def _normal(subscribed: Sequence[Struct]) -> Subscriptions:
    return frozenset(
        (row["topic"], normal_expression(row["expression_type"], row["sub_string"]))
        for row in subscribed
        if not row["topic"].startswith(RETRY)
    )


def _unknown_first(value: tuple[Any, ...]) -> list[tuple[bool, Any]]:
    return [(field is not None, field) for field in value]
