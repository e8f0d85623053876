"""Why a rebalance happened and what it moved, worked out by hand; the oracle says the same.

Members: `q!` does not subscribe the topic, `q/X` runs X, `q?` has expired if it is gone. Owners are listed per broker
and queue: `-` none, `p+q` both. The broker `old` has been seen before.
"""

import random
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from itertools import permutations
from typing import NamedTuple

import numpy as np
import pytest

from spark_jobs.domain.kernel.allocations import Member
from spark_jobs.domain.kernel.audited_step import Moves, RebalanceInterval
from spark_jobs.domain.kernel.triggers import had_expired, minimum_moves, with_moves
from spark_jobs.domain.model.history import ClientHistory, ClientState, Place
from spark_jobs.domain.model.series import Series
from spark_jobs.domain.model.statuses import Reason
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.rocketmq.strategies import Variant
from tests.support.builders import replayed
from tests.support.kernel import WINDOW
from tests.support.oracle import moves as oracle
from tests.support.oracle.timeline import IntervalMember
from tests.support.tables import cells
from tests.support.times import START, micros
from tests.unit.domain.test_locks import NO_NUMBERS

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
    """Members, and who owns each queue."""

    members: list[IntervalMember]
    owners: Owners

    @property
    def ids(self) -> list[str]:
        return [member.client_id for member in self.members]

    def situation(self) -> oracle.Situation:
        owners = {place: frozenset(ids) for place, ids in self.owners.items()}
        return oracle.Situation(tuple(self.members), Counter(broker for broker, _ in owners), owners)


def held(members: str, queues: str) -> Held:
    """Both as in the table."""
    listed, owners, broker = [], Owners(), ""
    for word in members.split():
        client_id, _, strategy = word.rstrip("!?").partition("/")
        strategy, _, variant = strategy.partition("~")
        listed.append(IntervalMember(client_id, strategy or "AVG", not word.endswith("!"), Variant(variant or "JAVA")))
    for word in queues.split():
        if word in ("a", "b", "n", "old"):
            broker = word
        else:
            number = sum(of_queue[0] == broker for of_queue in owners)
            owners[broker, number] = tuple(sorted({*word.replace("-", "").split("+")} - {""}))
    return Held(listed, owners)


def interval(of: Held, start: int, view: str = "*", is_replayed: bool = True, seen_at: int = 0) -> RebalanceInterval:
    """From that second on; an additional queue is not readable, and no move counts it."""
    owners = {place: [of.ids.index(client_id) for client_id in of_queue] for place, of_queue in of.owners.items()}
    agreed = replayed(start, start + 10, owners, " ".join(of.ids), topic="T", view=view)
    assert agreed.allocation
    owner_ids = (*agreed.allocation.owner_ids, ())
    return replace(
        agreed,
        members=tuple(
            Member(client_id, None, None, None, strategy, subscribes, True, variant)
            for client_id, strategy, subscribes, variant, _ in of.members
        ),
        seen_at=micros(seen_at),
        reason=None if is_replayed else Reason.UNKNOWN_STRATEGY,
        allocation=replace(agreed.allocation, queues=(*owners, ("w", 0)), owner_ids=owner_ids) if is_replayed else None,
        moves=None,
    )


def moves_of(
    timeline: Sequence[RebalanceInterval],
    start: int = START,
    expired: Callable[[int, Collection[str]], frozenset[str]] = lambda moment, ids: frozenset(),
    switched: Callable[[int], set[str]] = lambda moment: set(),
) -> list[Moves | None]:
    return [interval.moves for interval in with_moves(timeline, start, expired, switched)]


def named(moves: Moves | None) -> str:
    """Its triggers as in the table."""
    assert moves is not None
    return "; ".join(f"{trigger} {subject}" for trigger, subject in moves.triggers)


@pytest.mark.parametrize(("was", "owned", "now", "owned_now", "why", "counts"), cells(_TABLE))
def test_triggers_and_moves(was: str, owned: str, now: str, owned_now: str, why: str, counts: str) -> None:
    """Before that, the group had a broker that came and went."""
    earlier, before, after = held("p", "a p old p"), held(was, owned), held(now, owned_now)
    gone = [member.rstrip("?") for member in was.split() if member.endswith("?")]

    def expired(moment: int, client_ids: Collection[str]) -> frozenset[str]:
        return frozenset(gone) & set(client_ids) if moment == micros(30) else frozenset()

    timeline = [interval(earlier, 10), interval(before, 20, seen_at=29), interval(after, 30)]
    moves = moves_of(timeline, expired=expired)[-1]
    assert moves is not None
    assert named(moves) == why
    moved = (moves.moved, moves.preserved, moves.least)
    assert moved == tuple(map(int, counts.split()))
    old, new = before.owners, after.owners
    assert moves.handed_over == {queue for queue in old if old[queue] and new.get(queue, old[queue]) != old[queue]}
    left, joined = Counter(before.ids) - Counter(after.ids), Counter(after.ids) - Counter(before.ids)
    assert (sorted(moves.left), sorted(moves.joined)) == (sorted(left), sorted(joined))
    assert moves.before_seen_at == micros(29)
    situations = before.situation(), after.situation()
    by_oracle = [f"{trigger} {subject}" for trigger, subject in oracle.triggers(*situations, ["a", "old"], gone)]
    assert ("; ".join(by_oracle), oracle.moves(*situations)) == (why, moved)


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
        (0, "*", "REPLAYED", "old", None),
        (10, "*", "REPLAYED", "a", 0),
        (20, "a", "REPLAYED", "b", 10),
        (20, "b", "REPLAYED", "b", 10),
        (30, "b", "REPLAYED", "a", 20),
        (40, "*", "REPLAYED", "a", 10),
        (50, "b", "REPLAYED", "a", 40),
        (60, "*", "UNOBSERVED", "n", None),
        (70, "*", "NOT_REPLAYABLE", "n", 40),
        (75, "*", "NOT_REPLAYABLE", "n", 70),
        (80, "*", "REPLAYED", "a", 40),
    ]
    timeline = [
        interval(held("m", f"{broker} m"), start, view, status == "REPLAYED", seen_at=start)
        for start, view, status, broker, _ in history
    ]
    timeline[7] = replace(timeline[7], members=None)
    moves = moves_of(timeline)
    compared = [None if each is None else ((each.before_seen_at or 0) - START) // SECOND for each in moves]
    assert compared == [before for *_, before in history]


def test_what_is_not_replayed_moves_nothing_whatever_its_members_run() -> None:
    before, after = held("p q", "a p"), held("p/X r!", "a r")
    timeline = [interval(before, 10), interval(after, 20, is_replayed=False), interval(after, 30, is_replayed=False)]
    _, changed, unchanged = moves_of(timeline)
    assert changed is not None
    assert (named(changed), named(unchanged)) == ("MEMBER_LEFT q; MEMBER_JOINED r", "")
    assert (changed.joined, changed.left) == (("r",), ("q",))
    assert (changed.moved, changed.least, changed.handed_over) == (None, None, frozenset())


def test_the_lists_of_one_moment_do_not_see_each_other_s_brokers() -> None:
    """b's list begins with the broker n that a's list has, too: it is new to both."""
    after = held("m", "a m n m")
    timeline = [interval(held("m", "a m"), 0), interval(after, 10, "a"), interval(after, 10, "b")]
    assert [named(moves) for moves in moves_of(timeline)[1:]] == ["QUEUES_ADDED n:0"] * 2


def test_the_first_observation_is_one_only_after_the_window_begins() -> None:
    first = interval(held("m", "a m"), 10)
    (later,), (standing,) = moves_of([first], start=micros(9)), moves_of([first], start=micros(10))
    assert later is not None
    assert (named(later), later.moved, later.before_seen_at) == ("FIRST_OBSERVATION None", None, None)
    assert standing is None


def test_a_switch_is_named_alongside_what_changed_around_it_and_alone_is_no_rebalance() -> None:
    """The broker `a` at second 30, when q joins, and at second 40, when nothing changes."""
    both = held("p q", "a p")
    timeline = [interval(held("p", "a p"), 20), interval(both, 30), interval(both, 40)]
    _, joined, same = moves_of(timeline, switched=lambda moment: {"a"} if moment >= micros(30) else set())
    assert (named(joined), named(same)) == ("BROKER_SWITCHED a; MEMBER_JOINED q", "")


#: Left, last answer, first unanswered poll, next answer (seconds), every 10 s: 90–160 s after the last answer.
UNANSWERED = [
    ((200, 110, 120, None), True),
    ((200, 111, 121, None), False),  # too soon: it was asked to go
    ((200, 40, 50, None), True),
    ((200, 39, 49, None), False),  # a broker would have dropped it long before
    ((200, 100, 110, 200), True),
    ((200, 100, 110, 199), False),  # it answered in between
    ((200, 100, 200, None), False),  # it was not asked while it was there
]


@pytest.mark.parametrize(("seconds", "expired"), UNANSWERED)
def test_who_expired(seconds: tuple[int, int, int, int | None], expired: bool) -> None:
    left, last, first = (micros(second) for second in seconds[:3])
    following = None if seconds[3] is None else micros(seconds[3])
    times = [at for at in (last, first, following) if at is not None]
    series = Series(np.array(times), np.array([0, 1, 0][: len(times)]), [ClientState(True), ClientState(False)])
    assert had_expired(ClientHistory(series, NO_NUMBERS), WINDOW, 10 * SECOND, left) == expired
    assert oracle.has_expired(left, last, first, following, 10 * SECOND) == expired
