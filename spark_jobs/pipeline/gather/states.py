"""The states of a group and its topics, from plain structs to values in their normal form."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from spark_jobs.domain.model.history import (
    RETRY,
    ClientState,
    Connection,
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
from spark_jobs.pipeline.exchange import CLIENT

Value = TypeVar("Value", Connection, RequestMode)
#: A state, by the names of its columns.
Struct = Mapping[str, Any]


def membership(row: Struct) -> Membership:
    """One broker's answer: message model, consume type, connections, subscriptions, request modes."""
    return Membership(
        _sorted(Connection, row["connections"]),
        _topics(row["subscriptions"]),
        _normal(row["subscriptions"]),
        row["message_model"],
        row["consume_type"],
        None if row["request_modes"] is None else _sorted(RequestMode, row["request_modes"]),
        row["listed"],
        row["consume_from_where"],
    )


def route(row: Struct) -> tuple[RouteEntry, ...]:
    """A topic's route with all brokers that any name server names, sorted as clients sort them."""
    topic_type = STATIC if row["is_static"] else row["message_type"]
    of_servers = {entry.broker_name: entry for _, entries in server_routes(row) for entry in entries}
    answered = {entry["broker_name"]: RouteEntry(**entry) for entry in row["queues"]}
    return _in_order(entry._replace(topic_type=topic_type) for entry in (of_servers | answered).values())


def readable(row: Struct) -> Place | None:
    """A broker of a topic and how many of its queues were readable; None: the topic had no route."""
    return None if row["broker_name"] is None else (row["broker_name"], row["read_queue_nums"])


def server_routes(row: Struct) -> ServerRoutes:
    """By name server its own route of a topic."""
    structs = row["name_servers"] or ()
    entries: dict[str, list[RouteEntry]] = {struct["address"]: [] for struct in structs}
    for struct in structs:
        if struct["broker_name"] is not None:
            of_entry = {name: value for name, value in struct.items() if name != "address"}
            entries[struct["address"]].append(RouteEntry(**of_entry))
    return tuple((address, _in_order(entries[address])) for address in sorted(entries))


def _in_order(entries: Iterable[RouteEntry]) -> tuple[RouteEntry, ...]:
    return tuple(sorted(entries, key=lambda entry: java_order(entry.broker_name)))


def is_listed(row: Struct) -> bool | None:
    """True if brokers have the topic; False: it is deleted; None: its route is empty, for whatever reason."""
    return True if row["queues"] else row["listed"]


def serving(row: Struct) -> Serving | None:
    """Return the address at which each broker of a route is asked: at the address of its lowest id, as clients and
    `capture` do where there is no master (`MQClientInstance.findBrokerAddressInSubscribe`). None: not recorded.
    """
    if row["addresses"] is None:
        return None
    by_id = sorted(row["addresses"], key=lambda host: host["broker_id"], reverse=True)
    return frozenset({host["broker_name"]: host["address"] for host in by_id}.items())


def masterless(row: Struct) -> frozenset[str]:
    """The brokers that only slaves serve, as far as addresses were recorded: that of a master has the id 0
    (`MixAll.MASTER_ID`).
    """
    hosts = row["addresses"] or ()
    return frozenset(host["broker_name"] for host in hosts) - {
        host["broker_name"] for host in hosts if not host["broker_id"]
    }


def client_state(row: Struct) -> ClientState:
    """The report of one client; its queues stay in their order, which is that of its samples."""
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


def _sorted(kind: type[Value], structs: Iterable[Struct]) -> tuple[Value, ...]:
    """A value of this kind of each struct, by all their fields, unknown first."""
    values = (kind(**struct) for struct in structs)
    return tuple(sorted(values, key=lambda value: [(field is not None, field) for field in value]))


def _topics(subscribed: Sequence[Struct]) -> frozenset[str]:
    return frozenset(row["topic"] for row in subscribed)


def _normal(subscribed: Sequence[Struct]) -> Subscriptions:
    return frozenset(
        (row["topic"], normal_expression(row["expression_type"], row["sub_string"]))
        for row in subscribed
        if not row["topic"].startswith(RETRY)
    )
