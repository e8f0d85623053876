"""Cases of `expectations/route_snapshots.py`."""

from typing import Any

from expectations.route_snapshots import SUITE
from schemas import ROUTE_SNAPSHOTS
from tests.support.snapshots import route
from tests.support.times import at
from tests.unit.expectations.cases import OWN, Cases, Row, Rows, alone, at_the_edge, of_every_source


def row(**changes: Any) -> Row:
    return route(0, 4) | {"cluster": OWN} | changes


good = alone(ROUTE_SNAPSHOTS, row)


def entry(**changes: Any) -> Row:
    one: Row = route(0, 4)["queues"][0] | changes
    return one


def with_entry(**changes: Any) -> Rows:
    return good(queues=[entry(**changes)])


def at_address(*addresses: Any) -> Rows:
    names = ("broker_name", "broker_id", "address")
    return good(addresses=[one and dict(zip(names, one, strict=True)) for one in addresses])


CASES = Cases(
    SUITE,
    breaks={
        **of_every_source(good, "cluster", "topic"),
        "queues_are_there": [good(queues=None)],
        "queues_have_no_null": [good(queues=[None]), good(queues=[entry(), None])],
        "brokers_are_names": [with_entry(broker_name=name) for name in (None, "", "b" * 256)],
        "brokers_are_there_once": [good(queues=[entry(), entry()]), good(queues=[entry(), entry(perm=4)])],
        "perm_is_0_to_7": [with_entry(perm=perm) for perm in (None, -1, 8, 2**31 - 1)],
        "queue_counts_are_0_to_65535": [
            with_entry(**{name: count})
            for name in ("read_queue_nums", "write_queue_nums")
            for count in (None, -1, 65536)
        ],
        "addresses_are_known": [
            at_address(None),
            at_address(("b", 0, "h:1"), ("b", 0, "h:2")),
            *(at_address((name, 0, "h:1")) for name in (None, "", "b" * 256)),
            *(at_address(("b", number, "h:1")) for number in (None, -1)),
            *(at_address(("b", 0, address)) for address in (None, "", "h" * 256)),
        ],
        "keys_are_unique": [{ROUTE_SNAPSHOTS: [row(), row()]}, {ROUTE_SNAPSHOTS: [row(), row(queues=[])]}],
    },
    keeps=[
        good(),
        good(topic="%RETRY%" + "t" * 248),
        *at_the_edge(good, "cluster", "topic"),
        good(queues=[]),
        good(queues=[entry(), entry(broker_name="b" * 255)]),
        good(addresses=None),
        at_address(),
        at_address(("b", 0, "h:1"), ("b", 2**40, "h:1"), ("b2", 0, "h" * 255)),
        with_entry(perm=0),
        with_entry(perm=7),
        with_entry(read_queue_nums=0, write_queue_nums=0),
        with_entry(read_queue_nums=65535, write_queue_nums=65535),
        {ROUTE_SNAPSHOTS: [row(), row(topic="t2"), row(captured_at=at(1))]},
    ],
)
