"""Cases of `expectations/allocations.py`."""

from typing import Any

from expectations.allocations import SUITE
from schemas import ALLOCATIONS, REBALANCE_INTERVALS
from tests.support.times import at
from tests.unit.expectations.cases import OWN, Cases, Row, Rows

KEY = {"step_start": at(0), "cluster": OWN, "consumer_group": "g", "topic": "t", "membership_view": "*"}
KEY |= {"interval_start": at(0)}
INTERVAL = KEY | {"interval_end": at(3600), "status": "REPLAYED"}
A, B = ({"client_id": client_id, "client_addr": "10.0.0.1:1"} for client_id in "ab")


def row(**changes: Any) -> Row:
    """Queue 0 is a's."""
    queue = {"interval_end": at(3600), "broker_name": "b", "queue_id": 0, "readable": True, "owners": [A]}
    return KEY | queue | changes


def good(**changes: Any) -> Rows:
    return {ALLOCATIONS: [row(**changes)], REBALANCE_INTERVALS: [INTERVAL]}


def of(interval: Row) -> Rows:
    return {ALLOCATIONS: [row()], REBALANCE_INTERVALS: [interval]}


CASES = Cases(
    SUITE,
    breaks={
        "interval_was_replayed": [
            {ALLOCATIONS: [row()]},
            of(INTERVAL | {"status": "NOT_REPLAYABLE"}),
            of(INTERVAL | {"interval_end": at(3599)}),
            of(INTERVAL | {"interval_start": at(1)}),
            of(INTERVAL | {"membership_view": "b"}),
            of(INTERVAL | {"topic": "t2"}),
        ],
        "unassigned_has_a_cause": [good(owners=[]), good(unassigned_cause="GROUP_OFFLINE")],
        "double_owned_has_a_cause": [good(owners=[A, B]), good(double_owned_cause="DUPLICATE_CLIENT_ID")],
        "causes_are_known": [
            good(owners=[], unassigned_cause="ODD"),
            good(owners=[A, B], double_owned_cause="ODD"),
            good(owners=[], unassigned_cause="CONFIG_OVERLAP"),
        ],
        "unreadable_queues_have_no_owner": [good(readable=False)],
        "owners_are_connections": [
            good(owners=[A | {"client_id": None}]),
            good(owners=[None]),
            good(owners=[A, A], double_owned_cause="DUPLICATE_CLIENT_ID"),
        ],
        "queue_ids_are_0_to_65535": [good(queue_id=-1), good(queue_id=65536)],
        "keys_are_unique": [
            {ALLOCATIONS: [row(), row()], REBALANCE_INTERVALS: [INTERVAL]},
            {ALLOCATIONS: [row(), row(owners=[B])], REBALANCE_INTERVALS: [INTERVAL]},
        ],
    },
    keeps=[
        good(),
        good(owners=[], unassigned_cause="GROUP_OFFLINE"),
        good(readable=False, owners=[], unassigned_cause="BROKER_NOT_READABLE"),
        good(owners=[A, A | {"client_addr": "10.0.0.1:2"}], double_owned_cause="DUPLICATE_CLIENT_ID"),
        good(owners=[A | {"client_addr": None}]),
        good(queue_id=65535),
        {ALLOCATIONS: [row(), row(queue_id=1), row(broker_name="b2")], REBALANCE_INTERVALS: [INTERVAL]},
    ],
)
