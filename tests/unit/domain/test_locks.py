"""Orderly consumers that wait for locks: whose share it is, who owns it, and when."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from spark_jobs.domain.kernel.audited_step import Moves, RebalanceInterval
from spark_jobs.domain.kernel.locks import with_locks
from spark_jobs.domain.model.history import ClientHistory, ClientReadings, ClientState, OwnedQueue
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.statuses import Trigger
from tests.support.builders import allocation, interval, members
from tests.support.kernel import SETTINGS, series_of
from tests.support.times import micros, second_of

_BOTH = members("c1 c2")
#: c1 has queues 0 and 1, c2 has 2 and 3.
SHARED = interval(0, 120, _BOTH, allocation(_BOTH, "0 0 1 1"), seen_at=110)
_NONE = np.empty(0, np.int64)
NO_NUMBERS = ClientReadings(_NONE, _NONE, _NONE, _NONE, _NONE, _NONE, _NONE, _NONE, ())


def _client(reports: dict[int, str], *, orderly: bool = True) -> ClientHistory:
    """What it lists at these seconds: `2 3!` are queue 2, locked, and queue 3, not locked."""
    states = []
    for second, text in reports.items():
        owned = tuple(OwnedQueue("t", "b", int(word[0]), not word.endswith("!"), False) for word in text.split())
        state = ClientState(True, None, "CLUSTERING", orderly, topics=frozenset({"t"}), owned=owned)
        states.append((micros(second), state))
    return ClientHistory(series_of(states), NO_NUMBERS)


def _owners(client: ClientHistory, shared: RebalanceInterval = SHARED, **others: ClientHistory) -> list[str]:
    """The pieces as `0-60 c1 c1 - -`."""
    pieces = []
    for piece in with_locks([shared], {"c2": client, **others}, SETTINGS):
        assert piece.allocation is not None
        owners = " ".join("+".join(ids) or "-" for ids in piece.allocation.owner_ids)
        pieces.append(f"{second_of(piece.start)}-{second_of(piece.end)} {owners}")
    return pieces


OWNED = "c1 c1 c2 c2"


@pytest.mark.parametrize(
    ("reports", "pieces"),
    [
        ({10: "2 3", 30: "2 3"}, [f"0-120 {OWNED}"]),
        ({20: "", 40: "", 60: "2 3"}, ["0-60 c1 c1 - -", f"60-120 {OWNED}"]),
        ({20: "2", 40: "2", 60: "2 3"}, ["0-60 c1 c1 c2 -", f"60-120 {OWNED}"]),
        ({20: "2 3!", 40: "2 3!", 60: "2 3"}, ["0-60 c1 c1 c2 -", f"60-120 {OWNED}"]),
        ({10: "", 30: "2 3"}, [f"0-120 {OWNED}"]),
        ({10: "2 3", 50: "2", 80: "2", 100: "2 3"}, [f"0-50 {OWNED}", "50-100 c1 c1 c2 -", f"100-120 {OWNED}"]),
        ({10: "2 3", 50: "2", 60: "2 3"}, [f"0-120 {OWNED}"]),
        ({10: "2 3", 60: "", 100: ""}, [f"0-60 {OWNED}", "60-120 c1 c1 - -"]),
        ({10: "0 1 2 3"}, [f"0-120 {OWNED}"]),
        ({20: "", 40: "2", 60: "2 3"}, ["0-40 c1 c1 - -", "40-60 c1 c1 c2 -", f"60-120 {OWNED}"]),
    ],
)
def test_what_a_client_does_not_hold_or_has_not_locked_is_not_its(reports: dict[int, str], pieces: list[str]) -> None:
    assert _owners(_client(reports)) == pieces


@pytest.mark.parametrize(("seen", "pieces"), [(100, ["0-120 c1 c1 c2 -"]), (101, [f"0-120 {OWNED}"])])
def test_a_lock_lasts_60_s_and_two_rebalances_of_20_s(seen: int, pieces: list[str]) -> None:
    assert _owners(_client({50: "2", seen: "2"})) == pieces


def test_a_queue_that_is_held_without_its_lock_waits_as_long_as_it_is() -> None:
    assert _owners(_client({5: "2 3!", 109: "2 3!"})) == ["0-120 c1 c1 c2 -"]


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


def test_what_another_client_still_holds_does_not_wait() -> None:
    """c1 gives queue 3 up at second 40, and c2 takes it at 70."""
    waiting = _client({10: "2", 40: "2", 60: "2", 70: "2 3"})
    expected = [f"0-40 {OWNED}", "40-70 c1 c1 c2 -", f"70-120 {OWNED}"]
    assert _owners(waiting, c1=_client({10: "0 1 3", 40: "0 1"})) == expected
    assert _owners(waiting, c1=_client({10: "0 1 3", 60: "0 1"})) == [f"0-120 {OWNED}"]


def test_once_the_members_are_not_listed_any_more_they_may_have_changed() -> None:
    waiting = _client({50: "2", 80: "2 3"})
    assert _owners(waiting, replace(SHARED, seen_at=micros(50))) == ["0-80 c1 c1 c2 -", f"80-120 {OWNED}"]
    assert _owners(waiting, replace(SHARED, seen_at=micros(49))) == [f"0-120 {OWNED}"]


def test_only_consumers_in_order_wait_for_locks() -> None:
    assert _owners(_client({20: "", 60: ""}, orderly=False)) == [f"0-120 {OWNED}"]


def test_of_new_queues_a_client_hears_later() -> None:
    """`route_poll_seconds` are 30."""
    added = replace(SHARED, moves=Moves(((Trigger.QUEUES_ADDED, "b:3"),)))
    assert _owners(_client({20: "2", 40: "2", 60: "2 3"}), added) == [f"0-120 {OWNED}"]
    assert _owners(_client({20: "2", 50: "2", 60: "2 3"}), added) == ["0-60 c1 c1 c2 -", f"60-120 {OWNED}"]


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
