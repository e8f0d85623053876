"""Why a rebalance happened and what it moved, worked out by hand; the oracle says the same.

Members: `q!` does not subscribe the topic, `q/X` runs X, `q?` has expired if it is gone. Owners are listed per broker
and queue: `-` nobody, `p+q` both. The broker `old` has been seen before.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import permutations
from typing import NamedTuple

import pytest

from spark_jobs.domain.kernel.allocations import Member
from spark_jobs.domain.kernel.audited_step import RebalanceInterval
from spark_jobs.domain.kernel.triggers import Unanswered, has_expired, minimum_moves, with_moves
from spark_jobs.domain.model.history import Place
from spark_jobs.domain.model.statuses import Reason
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.rocketmq.strategies import Variant
from tests.support.builders import replayed
from tests.support.oracle import moves as oracle
from tests.support.oracle.timeline import IntervalMember
from tests.support.times import START, micros

#: members before | their queues | members after | their queues | triggers | moved, preserved, least
_TABLE = """
    p q        | a p p q q        | p q       | a p p q q           |                                         | 0 4 0
    p          | a p p p p        | p q       | a p p q q           | MEMBER_JOINED q                         | 2 2 2
    p q r      | a p p p p q q q q r r r r | o p q r | a o o o p p p q q q r r r | MEMBER_JOINED o          | 6 6 3
    p q        | a p p q q        | p         | a p p p p           | MEMBER_LEFT q                           | 2 2 2
    p q?       | a p p q q        | p         | a p p p p           | MEMBER_EXPIRED q                        | 2 2 2
    p q? r     | a p q r          | p         | a p p p             | MEMBER_EXPIRED q; MEMBER_LEFT r         | 2 1 2
    p q?       | a p q            | p q       | a p q               |                                         | 0 2 0
    p h@1      | a p p h@1 h@1    | p h@2     | a p p h@2 h@2       | MEMBER_RESTARTED h@1, h@2               | 2 2 2
    h@1?       | a h@1            | h@2       | a h@2               | MEMBER_RESTARTED h@1, h@2               | 1 0 1
    h@1 h@2    | a h@1 h@2        | h@2       | a h@2 h@2           | MEMBER_LEFT h@1                         | 1 1 1
    h@1        | a h@1            | g@1       | a g@1               | MEMBER_LEFT h@1; MEMBER_JOINED g@1      | 1 0 1
    x          | a x              | y         | a y                 | MEMBER_LEFT x; MEMBER_JOINED y          | 1 0 1
    p          | a p p p p        | p p       | a p p - -           | MEMBER_JOINED p                         | 2 2 2
    p p        | a p p - -        | p         | a p p p p           | MEMBER_LEFT p                           | 2 2 2
    p q        | a p q            |           | a - -               | MEMBER_LEFT p, q                        | 2 0 2
               | a - -            | q p       | a p q               | MEMBER_JOINED p, q                      | 2 0 2
    p q        | a p p q q        | p q/X     | a p p+q - q         | STRATEGY_CHANGED q                      | 2 2 2
    p q/X~GO   | a p p q q        | p q/X     | a p p+q - q         | STRATEGY_CHANGED q                      | 2 2 2
    p q        | a p p q q        | p q!      | a p p - -           | SUBSCRIPTION_CHANGED q                  | 2 2 2
    p q        | a p+q            | p q r     | a q+p               | MEMBER_JOINED r                         | 0 1 0
    p q        | a p q            | p q       | a p p q q           | QUEUES_ADDED a:2-3                      | 1 1 0
    p          | a p p            | p         | a p p p             | QUEUES_ADDED a:2                        | 0 2 0
    p q        | a p p q q        | p q       | a p q               | QUEUES_REMOVED a:2-3                    | 1 1 1
    p q        | a p p b q q      | p q       | a p q               | BROKER_GONE b                           | 1 1 1
    p q        | a p q            | p q       | a p p old q q       | BROKER_BACK old                         | 1 1 0
    p q        | a p q            | p q       | a p p n q q         | QUEUES_ADDED n:0-1                      | 1 1 0
    p          | a p              | p         | b p                 | BROKER_GONE a; QUEUES_ADDED b:0         | 0 0 0
    p q h@1    | a p q h@1 b p    | p r h@2   | a p r old h@2 h@2   | BROKER_GONE b; BROKER_BACK old; QUEUES_REMOVED a:2; MEMBER_RESTARTED h@1, h@2; MEMBER_LEFT q; MEMBER_JOINED r | 1 1 1
"""  # noqa: E501 - a table
Owners = dict[Place, tuple[str, ...]]


class Held(NamedTuple):
    """Members as in the table, and who owns each queue."""

    members: str
    owners: Owners

    @property
    def ids(self) -> list[str]:
        return [member.client_id for member in self.connections()]

    def connections(self) -> list[IntervalMember]:
        return list(_members(self.members))

    def situation(self) -> oracle.Situation:
        owners = {place: frozenset(ids) for place, ids in self.owners.items()}
        return oracle.Situation(tuple(self.connections()), Counter(broker for broker, _ in owners), owners)


class Case(NamedTuple):
    before: Held
    after: Held
    expired: list[str]
    triggers: list[tuple[str, str]]
    moves: tuple[int, int, int]


def _case(line: str) -> Case:
    was, held_before, now, held_after, why, counts = (cell.strip() for cell in line.split("|"))
    named = [tuple(trigger.split(" ", 1)) for trigger in why.split("; ") if trigger]
    gone = [member.rstrip("?") for member in was.split() if member.endswith("?")]
    held = Held(was, _owners(held_before)), Held(now, _owners(held_after))
    return Case(*held, gone, named, tuple(map(int, counts.split())))  # type: ignore[arg-type]


def _owners(queues: str) -> Owners:
    owners: Owners = {}
    broker = ""
    for word in queues.split():
        if word in ("a", "b", "n", "old"):
            broker = word
        else:
            number = sum(of_queue[0] == broker for of_queue in owners)
            owners[broker, number] = tuple(sorted({*word.replace("-", "").split("+")} - {""}))
    return owners


def _members(text: str) -> Iterator[IntervalMember]:
    for word in text.split():
        client_id, _, strategy = word.rstrip("!?").partition("/")
        strategy, _, variant = strategy.partition("~")
        yield IntervalMember(client_id, strategy or "AVG", not word.endswith("!"), Variant(variant or "JAVA"))


CASES = [_case(line) for line in _TABLE.strip().splitlines()]
_NAMES = [line.strip() for line in _TABLE.strip().splitlines()]


def interval(held: Held, start: int, view: str = "*", is_replayed: bool = True, seen_at: int = 0) -> RebalanceInterval:
    """From that second on; one queue that nobody may read besides, which no move counts."""
    owners = {place: [held.ids.index(client_id) for client_id in of_queue] for place, of_queue in held.owners.items()}
    agreed = replayed(start, start + 10, owners, " ".join(held.ids), topic="T", view=view)
    assert agreed.allocation
    owner_ids = (*agreed.allocation.owner_ids, ())
    return replace(
        agreed,
        members=tuple(
            Member(client_id, None, None, None, strategy, subscribes, True, variant)
            for client_id, strategy, subscribes, variant in held.connections()
        ),
        seen_at=micros(seen_at),
        reason=None if is_replayed else Reason.UNKNOWN_STRATEGY,
        allocation=replace(agreed.allocation, queues=(*owners, ("w", 0)), owner_ids=owner_ids) if is_replayed else None,
        moves=None,
    )


def nobody_expired(moment: int, client_ids: Collection[str]) -> frozenset[str]:
    return frozenset()


def no_switch(moment: int) -> set[str]:
    return set()


#: It had a broker that came and went.
_OLD = Held("p", {("a", 0): ("p",), ("old", 0): ("p",)})


@pytest.mark.parametrize("case", CASES, ids=_NAMES)
def test_triggers_and_moves(case: Case) -> None:
    def expired(moment: int, client_ids: Collection[str]) -> frozenset[str]:
        return frozenset(case.expired) & set(client_ids) if moment == micros(30) else frozenset()

    timeline = [interval(_OLD, 10), interval(case.before, 20, seen_at=29), interval(case.after, 30)]
    moves = with_moves(timeline, START, expired, no_switch)[-1].moves
    assert moves is not None
    assert [(trigger.value, subject) for trigger, subject in moves.triggers] == case.triggers
    assert (moves.moved, moves.preserved, moves.least) == case.moves
    was, now = case.before.owners, case.after.owners
    assert moves.handed_over == {queue for queue in was if was[queue] and now.get(queue, was[queue]) != was[queue]}
    before, after = (Counter(allocation.ids) for allocation in (case.before, case.after))
    assert (sorted(moves.left), sorted(moves.joined)) == (sorted(before - after), sorted(after - before))
    assert moves.before_seen_at == micros(29)


@pytest.mark.parametrize("case", CASES, ids=_NAMES)
def test_the_oracle_names_the_same_triggers_and_moves(case: Case) -> None:
    before, after = case.before.situation(), case.after.situation()
    assert oracle.triggers(before, after, ["a", "old"], case.expired) == case.triggers
    assert oracle.moves(before, after) == case.moves


def test_no_allocation_with_the_same_shares_moves_less() -> None:
    """Every way to deal out the shares is tried: owners, queues that come and go, shares that nobody takes."""
    rng = random.Random(4)
    for _ in range(300):
        first, common, last = (rng.randint(0, limit) for limit in (2, 4, 2))
        before: Owners = {("a", n): tuple(rng.choice(["", "p", "q", "r"])) for n in range(first + common)}
        queues = [("a", n) for n in range(first, first + common + last)]
        dealt = [tuple(rng.choice(["", "p", "q", "s"])) for _ in queues]
        least = min(_moved(before, dict(zip(queues, order, strict=True))) for order in permutations(dealt))
        assert minimum_moves(before, dict(zip(queues, dealt, strict=True))) == least


def _moved(before: Owners, after: Owners) -> int:
    return sum(before[queue] != owner for queue, owner in after.items() if queue in before)


def test_what_an_interval_is_compared_with() -> None:
    """The last replayed one of its own list or of all hosts; after a split, what all hosts last agreed on. One that is
    not replayed with the last whose members are known.
    """
    history = [
        # start, view, status, the broker with queues, the start of what it is compared with
        (0, "*", "REPLAYED", "x", None),
        (10, "*", "REPLAYED", "a", 0),
        (20, "a", "REPLAYED", "b", 10),
        (20, "b", "REPLAYED", "b", 10),
        (30, "b", "REPLAYED", "a", 20),
        (40, "*", "REPLAYED", "a", 10),
        (50, "b", "REPLAYED", "a", 40),
        (60, "*", "UNOBSERVED", "u", None),
        (70, "*", "NOT_REPLAYABLE", "n", 40),
        (75, "*", "NOT_REPLAYABLE", "n", 70),
        (80, "*", "REPLAYED", "a", 40),
    ]
    timeline = [
        interval(Held("m", {(broker, 0): ("m",)}), start, view, status == "REPLAYED", seen_at=start)
        for start, view, status, broker, _ in history
    ]
    timeline[7] = replace(timeline[7], members=None)
    found = with_moves(timeline, START, nobody_expired, no_switch)
    moves = [interval.moves for interval in found]
    compared = [None if each is None else ((each.before_seen_at or 0) - START) // SECOND for each in moves]
    assert compared == [before for *_, before in history]


def test_what_is_not_replayed_moves_nothing_whatever_its_members_run() -> None:
    before, after = Held("p q", {("a", 0): ("p",)}), Held("p/X r!", {("a", 0): ("r",)})
    timeline = [interval(before, 10), interval(after, 20, is_replayed=False), interval(after, 30, is_replayed=False)]
    _, changed, unchanged = (interval.moves for interval in with_moves(timeline, START, nobody_expired, no_switch))
    assert changed is not None
    expected = [("MEMBER_LEFT", "q"), ("MEMBER_JOINED", "r")]
    assert [(trigger.value, subject) for trigger, subject in changed.triggers] == expected
    assert (changed.joined, changed.left) == (("r",), ("q",))
    assert (changed.moved, changed.least, changed.handed_over) == (None, None, frozenset())
    assert unchanged is not None
    assert unchanged.triggers == ()


def test_the_lists_of_one_moment_do_not_see_each_other_s_brokers() -> None:
    """b's list begins with the broker n that a's list has, too: it is new to both."""
    before, after = Held("m", {("a", 0): ("m",)}), Held("m", {("a", 0): ("m",), ("n", 0): ("m",)})
    timeline = [interval(before, 0), interval(after, 10, "a"), interval(after, 10, "b")]
    _, *found = with_moves(timeline, START, nobody_expired, no_switch)
    assert [interval.moves and interval.moves.triggers[0][0].value for interval in found] == ["QUEUES_ADDED"] * 2


def test_the_first_observation_is_one_only_after_the_window_begins() -> None:
    held = Held("m", {("a", 0): ("m",)})
    (later,), (standing,) = (
        with_moves([interval(held, 10)], micros(start), nobody_expired, no_switch) for start in (9, 10)
    )
    assert later.moves is not None
    assert [trigger.value for trigger, _ in later.moves.triggers] == ["FIRST_OBSERVATION"]
    assert (later.moves.moved, later.moves.before_seen_at) == (None, None)
    assert standing.moves is None


def test_a_switch_is_named_beside_what_changed_around_it_and_alone_is_no_rebalance() -> None:
    """The broker `a` at second 30, when q joins, and at second 40, when nothing changes."""
    alone, both = Held("p", {("a", 0): ("p",)}), Held("p q", {("a", 0): ("p",)})
    timeline = [interval(alone, 20), interval(both, 30), interval(both, 40)]
    _, joined, same = with_moves(
        timeline, START, nobody_expired, lambda moment: {"a"} if moment >= micros(30) else set()
    )
    assert joined.moves
    assert same.moves
    expected = [("BROKER_SWITCHED", "a"), ("MEMBER_JOINED", "q")]
    assert [(name.value, subject) for name, subject in joined.moves.triggers] == expected
    assert same.moves.triggers == ()


#: Left, last answer, first unanswered poll, next answer (seconds), cadence 10 s: 90–160 s after the last answer.
UNANSWERED: list[tuple[tuple[int, int, int, int | None], bool]] = [
    ((200, 110, 120, None), True),
    ((200, 111, 121, None), False),  # too soon: it was asked to go
    ((200, 40, 50, None), True),
    ((200, 39, 49, None), False),  # a broker would have dropped it long before
    ((200, 100, 110, 200), True),
    ((200, 100, 110, 199), False),  # it answered in between
    ((200, 100, 200, None), False),  # nobody asked while it was there
]


@pytest.mark.parametrize(("seconds", "expired"), UNANSWERED)
def test_who_expired(seconds: tuple[int, int, int, int | None], expired: bool) -> None:
    left, last, first, following = (None if second is None else second * SECOND for second in seconds)
    assert left is not None
    assert last is not None
    assert first is not None
    assert has_expired(left, Unanswered(last, first, following), 10 * SECOND) == expired
    assert oracle.has_expired(left, last, first, following, 10 * SECOND) == expired
