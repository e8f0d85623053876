"""The few states of a group, from Arrow rows as dicts to the values of the kernel, each in its normal form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spark_jobs.domain.history import ClientState, Connection, Membership, OwnedQueue, RequestMode, Serving
from spark_jobs.domain.message_queue import STATIC, RouteEntry, java_order
from spark_jobs.domain.subscriptions import RETRY, Subscriptions, normal_expression
from spark_jobs.gather.kinds import SETTINGS

Struct = Mapping[str, Any]


def membership(said: Struct) -> Membership:
    """One broker's answer: message model, consume type, connections, subscriptions, request modes."""
    connections = [Connection(*(one[name] for name in Connection._fields)) for one in said["connections"]]
    return Membership(
        tuple(sorted(connections, key=_unknown_first)),
        _topics(said["subscriptions"]),
        _normal(said["subscriptions"]),
        said["message_model"],
        said["consume_type"],
        _request_modes(said["request_modes"]),
    )


def route(said: Struct) -> tuple[RouteEntry, ...]:
    """A topic's route, sorted as clients sort its brokers."""
    topic_type = STATIC if said["is_static"] else said["message_type"]
    found = [RouteEntry(**one, topic_type=topic_type) for one in said["queues"]]
    return tuple(sorted(found, key=lambda one: java_order(one.broker_name)))


def serving(addresses: Sequence[Struct] | None) -> Serving | None:
    """Where each broker of a route is asked: at the address of its lowest id, as clients and `capture` do where there
    is no master (`MQClientInstance.findBrokerAddressInSubscribe`). None: not recorded.
    """
    if addresses is None:
        return None
    by_id = sorted(addresses, key=lambda one: one["broker_id"], reverse=True)
    return frozenset({one["broker_name"]: one["address"] for one in by_id}.items())


def client_state(said: Struct) -> ClientState:
    """What one client said; its queues stay in their order, which is that of its readings."""
    subscribed, owned = said["subscriptions"], said["owned_queues"]
    return ClientState(
        said["answered"],
        in_group=said["in_group"],
        **{name: said[name] for name in SETTINGS},
        topics=None if subscribed is None else _topics(subscribed),
        subscriptions=None if subscribed is None else _normal(subscribed),
        owned=None if owned is None else tuple(OwnedQueue(*(one[n] for n in OwnedQueue._fields)) for one in owned),
    )


def _request_modes(given: Sequence[Struct] | None) -> tuple[RequestMode, ...] | None:
    if given is None:
        return None
    return tuple(sorted((RequestMode(*(one[n] for n in RequestMode._fields)) for one in given), key=_unknown_first))


def _topics(subscribed: Sequence[Struct]) -> frozenset[str]:
    return frozenset(one["topic"] for one in subscribed)


def _normal(subscribed: Sequence[Struct]) -> Subscriptions:
    return frozenset(
        (one["topic"], normal_expression(one["expression_type"], one["sub_string"]))
        for one in subscribed
        if not one["topic"].startswith(RETRY)
    )


def _unknown_first(value: tuple[Any, ...]) -> list[tuple[bool, Any]]:
    return [(field is not None, field) for field in value]
