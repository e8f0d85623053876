"""Cases of `expectations/membership_snapshots.py`."""

from typing import Any

from expectations.membership_snapshots import SUITE
from schemas import MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS
from tests.support.snapshots import membership, route
from tests.support.times import at
from tests.unit.expectations.cases import OWN, Cases, Row, Rows, at_the_edge, of_every_source

ID = "i" * 255


def answer(*client_ids: str, broker: str = "b", **changes: Any) -> Row:
    return membership(0, *client_ids, broker=broker) | {"cluster": OWN} | changes


def good(**changes: Any) -> Rows:
    """Broker b lists c1, and hosts its topic t."""
    return with_routes(["b"], answer("c1", **changes))


def with_routes(hosts: list[str], *answers: Row) -> Rows:
    queues = [route(0, 4, broker=host)["queues"][0] for host in hosts]
    return {MEMBERSHIP_SNAPSHOTS: answers, ROUTE_SNAPSHOTS: [route(0, 4) | {"cluster": OWN, "queues": queues}]}


def connection(**changes: Any) -> list[Row]:
    return [answer("c1")["connections"][0] | changes]


def subscription(**changes: Any) -> list[Row]:
    return [answer("c1")["subscriptions"][0] | changes]


CASES = Cases(
    SUITE,
    breaks={
        **of_every_source(good, "cluster", "consumer_group"),
        # Answers of a broker without a name are no broker's: the host has not answered.
        "broker_name_is_a_name": [with_routes(["b"], answer("c1"), answer("c1", broker_name=name)) for name in (None,)]
        + [with_routes([name], answer("c1", broker_name=name)) for name in ("", "b" * 256)],
        "message_model_is_known": [good(message_model=model) for model in ("", "clustering", "BROADCAST")],
        "connections_are_there": [good(connections=None)],
        "connections_have_no_null": [good(connections=[None]), good(connections=[*connection(), None])],
        "client_ids_are_names": [good(connections=connection(client_id=name)) for name in (None, "", ID + "i")],
        "client_addresses_are_host_and_port": [
            good(connections=connection(client_addr=address))
            for address in ("", "10.0.0.1", "10.0.0.1:", ":5000", "10.0.0.1:123456", "10.0.0.1:50x", "10.0.0.1:5000\n")
        ],
        "subscriptions_have_no_null": [good(subscriptions=[None]), good(subscriptions=[*subscription(), None])],
        "subscribed_topics_are_names": [good(subscriptions=subscription(topic=name)) for name in (None, "", "t" * 256)],
        "request_modes_are_known": [
            good(request_modes=[mode])
            for mode in (None, ("t", "PUSH", 1), ("t", None, 1), ("", "PULL", 0), (None, "PULL", 0), ("t", "POP", None))
        ],
        "brokers_are_the_hosts": [
            # b2 hosts the topic and never answers; b2 lists a member and does not host the topic.
            with_routes(["b", "b2"], answer("c1")),
            with_routes(["b"], answer("c1"), answer("c1", broker="b2")),
        ],
        "keys_are_unique": [with_routes(["b"], answer("c1"), answer("c1")), with_routes(["b"], answer("c1"), answer())],
    },
    keeps=[
        good(),
        with_routes(["b" * 255], answer("c1", broker="b" * 255)),
        *at_the_edge(good, "cluster", "consumer_group"),
        good(message_model="BROADCASTING"),
        good(message_model="LITE_SELECTIVE"),
        good(message_model=None),
        good(connections=connection(client_id=ID)),
        good(connections=connection(client_addr=None)),
        good(connections=connection(client_addr="[fe80::1]:1")),
        good(connections=connection(client_addr="host.example:65535")),
        good(connections=connection(client_id="<b>\u202e'; DROP TABLE x; --")),
        good(connections=[], subscriptions=[]),
        good(subscriptions=subscription(topic="t" * 255, sub_string=None)),
        *(good(request_modes=modes) for modes in (None, [], [("t", "PULL", None), ("t" * 255, "POP", -1)])),
        # Both hosts answer; another broker says that nobody is online there.
        with_routes(["b", "b2"], answer("c1"), answer("c1", broker="b2"), answer(broker="b3")),
        # Of hosts without members one answers: the group's topics are known from the other.
        with_routes(["b", "b2"], answer("c1"), answer(broker="b2")),
        # Where no topic is known, or the topic's hosts are not, nothing is.
        with_routes(["b2"], answer()),
        {MEMBERSHIP_SNAPSHOTS: [answer("c1"), answer("c1", broker="b2")]},
        with_routes([], answer("c1")),
        # The same at another time is another key.
        with_routes(["b"], answer("c1"), answer("c1", captured_at=at(0.001))),
    ],
)
