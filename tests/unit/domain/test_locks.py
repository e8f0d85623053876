"""Orderly consumers that wait for locks: whose share it is, who owns it, and when."""

from dataclasses import replace

import numpy as np
import pytest

from spark_jobs.domain.kernel.as_shown import with_locks
from spark_jobs.domain.kernel.audited_step import Moves, RebalanceInterval
from spark_jobs.domain.model.history import ClientHistory, ClientSamples, ClientState, OwnedQueue
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.statuses import Trigger
from tests.support.builders import allocation, interval, members
from tests.support.kernel import SETTINGS, series_of
from tests.support.reporting import piece
from tests.support.tables import described
from tests.support.times import micros

_BOTH = members("c1 c2")
#: c1 has queues 0 and 1, c2 has 2 and 3.
SHARED = interval(0, 120, _BOTH, allocation(_BOTH, "0 0 1 1"), seen_at=110)
_NONE = np.empty(0, np.int64)
NO_NUMBERS = ClientSamples(_NONE, _NONE, _NONE, _NONE, _NONE, _NONE, _NONE, _NONE, ())


def _client(reports: dict[int, str], *, orderly: bool = True) -> ClientHistory:
    """What it lists at these seconds: `2 3!` are queue 2, locked, and queue 3, not locked."""
    states = []
    for second, text in reports.items():
        owned = tuple(OwnedQueue("t", "b", int(word[0]), not word.endswith("!"), False) for word in text.split())
        state = ClientState(True, None, "CLUSTERING", orderly, topics=frozenset({"t"}), owned=owned)
        states.append((micros(second), state))
    return ClientHistory(series_of(states), NO_NUMBERS)


OWNED = "c1 c1 c2 c2"
#: A client hears of a new queue 30 s later (`route_poll_seconds`); members that are not listed any more may have
#: changed.
SHARED_OTHERWISE = {
    "": SHARED,
    "queue 3 is new": replace(SHARED, moves=Moves(((Trigger.QUEUES_ADDED, "b:3"),))),
    "listed until 50": replace(SHARED, seen_at=micros(50)),
    "listed until 49": replace(SHARED, seen_at=micros(49)),
}
#: what | what c2 lists at a second | what c1 lists | its interval | who owns the queues meanwhile
_TABLE = """
it holds its share                               | 10 2 3, 30 2 3              |                     | | 0-120 c1 c1 c2 c2
it does not hold its share yet                   | 20, 40, 60 2 3              |                     | | 0-60 c1 c1 - -, 60-120 c1 c1 c2 c2
… nor one of its queues                          | 20 2, 40 2, 60 2 3          |                     | | 0-60 c1 c1 c2 -, 60-120 c1 c1 c2 c2
… or holds it without its lock                   | 20 2 3!, 40 2 3!, 60 2 3    |                     | | 0-60 c1 c1 c2 -, 60-120 c1 c1 c2 c2
seen once, it is no wait                         | 10, 30 2 3                  |                     | | 0-120 c1 c1 c2 c2
it loses the lock for a while                    | 10 2 3, 50 2, 80 2, 100 2 3 |                     | | 0-50 c1 c1 c2 c2, 50-100 c1 c1 c2 -, 100-120 c1 c1 c2 c2
… seen once, it is no wait                       | 10 2 3, 50 2, 60 2 3        |                     | | 0-120 c1 c1 c2 c2
it loses all locks                               | 10 2 3, 60, 100             |                     | | 0-60 c1 c1 c2 c2, 60-120 c1 c1 - -
it holds more than its share                     | 10 0 1 2 3                  |                     | | 0-120 c1 c1 c2 c2
it gets one lock after the other                 | 20, 40 2, 60 2 3            |                     | | 0-40 c1 c1 - -, 40-60 c1 c1 c2 -, 60-120 c1 c1 c2 c2
a lock lasts 60 s, and two rebalances of 20 s    | 50 2, 100 2                 |                     | | 0-120 c1 c1 c2 -
… and no longer                                  | 50 2, 101 2                 |                     | | 0-120 c1 c1 c2 c2
held without its lock, it waits as long          | 5 2 3!, 109 2 3!            |                     | | 0-120 c1 c1 c2 -
what c1 gives up at 40 s waits from then on      | 10 2, 40 2, 60 2, 70 2 3    | 10 0 1 3, 40 0 1    | | 0-40 c1 c1 c2 c2, 40-70 c1 c1 c2 -, 70-120 c1 c1 c2 c2
… what it still holds does not                   | 10 2, 40 2, 60 2, 70 2 3    | 10 0 1 3, 60 0 1    | | 0-120 c1 c1 c2 c2
it waits while it is listed                      | 50 2, 80 2 3                |          | listed until 50 | 0-80 c1 c1 c2 -, 80-120 c1 c1 c2 c2
… not listed any more, it may have left          | 50 2, 80 2 3                |          | listed until 49 | 0-120 c1 c1 c2 c2
of a new queue a client hears later              | 20 2, 40 2, 60 2 3          |           | queue 3 is new | 0-120 c1 c1 c2 c2
… and waits for its lock then                    | 20 2, 50 2, 60 2 3          |           | queue 3 is new | 0-60 c1 c1 c2 -, 60-120 c1 c1 c2 c2
"""  # noqa: E501 - a table


def _listing(text: str) -> ClientHistory:
    return _client({int(second): " ".join(queues) for second, *queues in map(str.split, text.split(","))})


def _owners(client: ClientHistory, shared: RebalanceInterval = SHARED, **others: ClientHistory) -> list[str]:
    return [piece(cut) for cut in with_locks([shared], {"c2": client, **others}, SETTINGS)]


@pytest.mark.parametrize(("c2", "c1", "shared", "expected"), described(_TABLE))
def test_what_a_client_does_not_hold_or_has_not_locked_is_not_its(c2: str, c1: str, shared: str, expected: str) -> None:
    others = {"c1": _listing(c1)} if c1 else {}
    assert ", ".join(_owners(_listing(c2), SHARED_OTHERWISE[shared], **others)) == expected


def test_only_consumers_in_order_wait_for_locks() -> None:
    assert _owners(_client({20: "", 60: ""}, orderly=False)) == [f"0-120 {OWNED}"]


def test_a_queue_of_which_the_broker_refuses_the_lock_waits_as_long_as_it_does() -> None:
    """By the broker's log: what the client itself holds is unknown. Queue 0 is not of its share."""
    assert _owners(_refused({10: "0 3", 100: "0 3", 110: ""})) == ["0-110 c1 c1 c2 -", f"110-120 {OWNED}"]
    assert _owners(_refused({5: "", 50: "3", 60: ""})) == [f"0-120 {OWNED}"]


def _refused(reports: dict[int, str]) -> ClientHistory:
    """The queues of which the broker refuses it the lock from these seconds on."""
    states = []
    for second, text in reports.items():
        refused = tuple(MessageQueue("t", "b", int(number)) for number in text.split())
        states.append((micros(second), ClientState(True, consume_orderly=True, lock_refused=refused)))
    return ClientHistory(series_of(states), NO_NUMBERS)


def test_a_cut_says_who_waits_and_is_no_rebalance() -> None:
    moves = Moves(((Trigger.MEMBER_JOINED, "c2"),), joined=("c2",), moved=2, preserved=2, least=2)
    joined = replace(SHARED, moves=moves)
    first, second = with_locks([joined], {"c2": _client({20: "2", 40: "2", 60: "2 3"})}, SETTINGS)
    assert first.allocation is not None
    assert first.allocation.unassigned_causes == [None, None, None, "WAITS_FOR_LOCK"]
    assert first.allocation.unassigned_client_ids == [None, None, None, "c2"]
    assert (first.allocation.counts, first.allocation.queues_per_member) == ((1, 0), [2, 2])
    assert (first.moves, second.allocation) == (joined.moves, joined.allocation)
    assert second.moves == Moves((), moved=0, preserved=4, least=0, before_seen_at=micros(110))
    assert (first.seen_at, second.seen_at) == (micros(60), micros(110))
