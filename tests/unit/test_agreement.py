"""The comparison of owners by second, by hand."""

from collections import Counter
from datetime import datetime
from typing import Any

from tests.support.agreement import SPLIT, Holder, agreement, held, owned

A, B = frozenset({"a"}), frozenset({"b"})
QUEUE = ("orders", "broker-a:0")


def row(start: int, end: int, *owners: str, **values: Any) -> dict[str, Any]:
    """Of the first minute of 1970."""
    times = {"interval_start": datetime(1970, 1, 1, 0, 0, start), "interval_end": datetime(1970, 1, 1, 0, 0, end)}
    of_queue = {"topic": "orders", "broker_name": "broker-a", "queue_id": 0, "readable": True, "membership_view": "*"}
    return of_queue | times | {"owners": [{"client_id": owner} for owner in owners]} | values


def test_owners_of_each_second_are_those_of_queues_that_can_be_read() -> None:
    rows = [row(0, 2, "a"), row(2, 3), row(3, 4, "a", membership_view="broker-a"), row(0, 9, "a", readable=False)]
    assert owned([*rows, row(0, 9, topic="%RETRY%g")]) == {QUEUE: {0: A, 1: A, 2: frozenset(), 3: SPLIT}}


def test_holders_of_each_second_are_those_that_reported_last() -> None:
    first = Holder("a", [(0.5, "orders", frozenset({"broker-a:0"})), (2.5, "*", frozenset())], [])
    second = Holder("b", [(1.0, "*", frozenset({"broker-a:0"}))], [])
    assert held([first, second], [QUEUE], range(4)) == {QUEUE: {0: frozenset(), 1: A | B, 2: A | B, 3: B}}


def test_seconds_around_a_change_do_not_count() -> None:
    owners = {QUEUE: dict.fromkeys(range(10), A) | dict.fromkeys(range(10, 20), B)}
    truth = {QUEUE: dict.fromkeys(range(12), A) | dict.fromkeys(range(12, 19), B)}
    # A change in the seconds 10, 12 and, as the truth ends, 19: 9 to 13 and 18 to 19 do not count.
    assert agreement(owners, truth, range(20), 1) == Counter({True: 13})
    assert agreement(owners, {QUEUE: dict.fromkeys(range(20), B)}, range(20), 0) == Counter({False: 10, True: 9})


def test_what_a_suspended_process_holds_is_not_compared() -> None:
    owners, truth = {QUEUE: dict.fromkeys(range(4), A)}, {QUEUE: dict.fromkeys(range(4), frozenset[str]())}
    assert agreement(owners, truth, range(4), 0, [Holder("a", [], [(0, 1)])]) == Counter({True: 2, False: 2})


def test_a_queue_that_only_one_side_knows_is_unknown() -> None:
    assert agreement({QUEUE: dict.fromkeys(range(3), A)}, {}, range(3), 0) == Counter({None: 3})
