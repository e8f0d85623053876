"""ALLOCATION_DRIFT on the hour of `client_groups`, and on hand-written intervals."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from spark_jobs.domain.kernel.audited_step import RebalanceInterval
from spark_jobs.domain.kernel.ownership import Replays
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.history import Membership
from spark_jobs.domain.model.message_queue import PERM_READ, RouteEntry
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.statuses import Reason
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from spark_jobs.domain.rules.allocation_drift import RULE
from spark_jobs.domain.rules.drifts import drift
from tests.support.builders import span
from tests.support.client_groups import held
from tests.support.client_steps import recorded_step, replayed
from tests.support.findings import rule_hit
from tests.support.kernel import SETTINGS, series_of
from tests.support.snapshots import client
from tests.support.tables import cells
from tests.support.times import micros, second_of

#: Queues of one broker that it owned, of its share | more, less.
_DRIFTS = """
0 1   | 0 1   |      |
1 0   | 0 1   |      |
0 1 2 | 0 1   | 2    |
0     | 0 1   |      | 1
2     | 0 1   | 2    | 0 1
      | 0     |      | 0
0     |       | 0    |
      |       |      |
"""


@pytest.mark.parametrize("line", cells(_DRIFTS))
def test_a_client_that_holds_other_queues_than_its_share_drifts(line: tuple[str, ...]) -> None:
    owned, share, more, less = (frozenset(("b", int(queue_id)) for queue_id in cell.split()) for cell in line)
    found = {str(cause): queues for cause, queues in drift((owned, owned), share).items() if queues}
    assert found == {cause: queues for cause, queues in (("HOLDS_MORE", more), ("HOLDS_LESS", less)) if queues}


SUBSCRIPTION = {"topic": "t", "expression_type": "TAG", "sub_string": "*", "sub_version": 1}


def _holding(second: int, queue_ids: Sequence[int], **reported: Any) -> dict[str, Any]:
    """`c1`, if no other client is named, holds these queues of `t`."""
    return client(second, owned_queues=[held("t", queue_id, second, {}) for queue_id in queue_ids], **reported)


def _hits(
    holds: dict[int, list[int]],
    *intervals: RebalanceInterval,
    every: int = 20,
    listed_at: Iterable[int] = range(0, 660, 20),
    other: Sequence[int] = (),
) -> list[RuleHit]:
    """`c1` holds these queues of `t` from each of the seconds on, to the next; `other`: those of `c9` all the time."""
    rows = [
        row
        for second in range(min(holds), 620, every)
        for row in (
            _holding(second, holds[max(since for since in holds if since <= second)]),
            _holding(second, other, client_id="c9"),
        )
    ]
    return list(RULE.hits(recorded_step(rows, *intervals, listed_at=listed_at)))


def _lines(hits: list[RuleHit]) -> set[tuple[int, int, str | None, int]]:
    return {(second_of(h.start), second_of(h.end), h.queue.role, h.queue.queue_id) for h in hits if h.queue}


def test_a_hit_says_which_queue() -> None:
    (hit,) = _hits({0: [0, 2]}, replayed("t", 0, 400, {"c1": [0], "c2": [2]}, 3), other=[2])
    assert hit == rule_hit(50, 400, "HOLDS_MORE", "t b:2 HOLDS_MORE", implicated="c1", minimum_seconds=0.0)


def test_nothing_drifts_from_a_strategy_that_is_only_assumed() -> None:
    shared = replayed("t", 0, 400, {"c1": [0], "c2": [2]}, 3)
    assert _hits({0: [0, 2]}, replace(shared, strategy_source="OBSERVED"), other=[2])
    assert _hits({0: [0, 2]}, replace(shared, strategy_source="DEFAULT"), other=[2]) == []


def test_what_no_other_client_lists_is_not_held_twice_and_what_one_lists_is_not_missing() -> None:
    """c1 and c9 hold each other's queue 0 and 1, and c1 a queue 2 that belongs to no client."""
    shares = replayed("t", 0, 400, {"c1": [0], "c9": [1]}, 2)
    assert _hits({0: [1, 2]}, shares, other=[0]) == []
    assert _lines(_hits({0: [1, 2]}, shares, other=[0, 2])) == {(50, 400, "HOLDS_MORE", 2)}
    assert _lines(_hits({0: [1, 2]}, shares)) == {(50, 400, "HOLDS_LESS", 0)}


def test_all_that_drifts_at_one_time_is_one_event_and_a_missing_queue_its_cause() -> None:
    hits = _hits({0: [0, 1], 300: [1]}, replayed("t", 0, 660, {"c1": [0]}, 2), other=[1])
    assert {(hit.cause, hit.topic, hit.client_id) for hit in hits} == {("HOLDS_LESS", None, None)}
    assert {hit.queue.role for hit in hits if hit.queue} == {"HOLDS_LESS", "HOLDS_MORE"}


def test_every_change_gives_time_and_one_of_the_route_more() -> None:
    """The first route is a change, too; the time after the route's change is not cut short by a later change."""
    alone, both = {"c1": [0]}, {"c1": [0], "c2": []}
    changes = ((0, 200, alone, 4), (200, 210, alone, 5), (210, 300, both, 5), (300, 400, alone, 5), (400, 420, both, 5))
    hits = _hits({0: [1]}, *(replayed("t", *change) for change in changes), other=[1])
    expected = {(50, 200), (250, 300), (320, 400)}
    assert _lines(hits) == {
        (*span, cause, queue) for span in expected for cause, queue in (("HOLDS_MORE", 1), ("HOLDS_LESS", 0))
    }


def test_a_change_of_what_it_has_is_seen_at_once_and_ends_with_the_last_snapshot() -> None:
    """The time between the last snapshot with a state and the first with another is unknown."""
    hits = _hits({0: [0], 200: [0, 1], 300: [1], 340: [0], 600: [1]}, replayed("t", 0, 660, {"c1": [0]}, 2), other=[1])
    assert _lines(hits) == {(200, 280, "HOLDS_MORE", 1), (300, 320, "HOLDS_MORE", 1), (300, 320, "HOLDS_LESS", 0)}


def test_a_list_that_alternates_from_snapshot_to_snapshot_drifts_in_what_it_always_or_never_has() -> None:
    """c1 should have 0 and 1, and c9 lists 2 and 3: c1 lists 2 all the time, 3 now and then, and 1 never."""
    alternating = {second: [0, 2, 3] if second % 40 else [0, 2] for second in range(0, 620, 20)}
    shares = replayed("t", 0, 660, {"c1": [0, 1], "c9": [2, 3]}, 4)
    assert _lines(_hits(alternating, shares, other=[2, 3])) == {(50, 600, "HOLDS_MORE", 2), (50, 600, "HOLDS_LESS", 1)}
    # What it has in every second snapshot only is no drift.
    assert _hits({second: [0, 1, *[3] * bool(second % 40)] for second in alternating}, shares, other=[2, 3]) == []


def test_only_intervals_in_which_all_hosts_agree_and_only_of_members() -> None:
    """Between them nothing is known, nor of a topic that was not replayed, nor of a client that is no member."""
    alone = {"c1": [0]}
    unreplayed = replace(replayed("t", 100, 200, alone, 2), allocation=None, reason=Reason.UNKNOWN_STRATEGY)
    split = replayed("t", 200, 300, alone, 2, view="b1")
    others = replayed("t", 300, 400, {"c2": [0, 1]}, 2)
    again = replayed("t", 400, 460, alone, 2)
    listed = replayed("t", 0, 100, alone, 2), unreplayed, split, others, again
    assert _lines(_hits({0: [0, 1]}, *listed, other=[1])) == {(50, 100, "HOLDS_MORE", 1), (420, 460, "HOLDS_MORE", 1)}


def test_a_share_counts_to_the_last_snapshot_that_showed_the_members() -> None:
    """c2 has come at 200 s, and the recorder was late to see it: c1 has given up queue 1 by then."""
    first = replayed("t", 0, 300, {"c1": [0, 1]}, 2, seen_at=190)
    assert _lines(_hits({0: [0, 1], 200: [0]}, first, replayed("t", 300, 620, {"c1": [0], "c2": [1]}, 2))) == set()


@pytest.mark.parametrize(
    ("listed_at", "expected"),
    [
        ([10, 70, 250, 310], set()),  # both rounds were missed in which c1 was listed twice
        ([10, 70, 221, 310], set()),  # c1 may be about to follow this one
        ([10, 70, 119, 310], set()),
        ([10, 70, 220, 310], {(120, 240, "HOLDS_LESS", 1)}),
        ([10, 70, 120, 310], {(120, 240, "HOLDS_LESS", 1)}),
        ([10, 70, 130, 190, 250, 310], {(120, 240, "HOLDS_LESS", 1)}),
    ],
)
def test_the_members_are_listed_while_a_client_drifts(listed_at: list[int], expected: set[Any]) -> None:
    """c1, alone, holds half of the queues at 120, 180 and 240 s; as far as lists show, it is always listed once."""
    alone = replayed("t", 0, 660, {"c1": [0, 1]}, 2)
    holds = {0: [0, 1], 120: [0], 300: [0, 1]}
    assert _lines(_hits(holds, alone, every=60, listed_at=listed_at)) == expected


@pytest.mark.parametrize(
    ("queues", "listed_at", "expected"),
    [
        (2, [10, 70, 119, 310], {("NAME_SERVERS_DIFFER", 1)}),
        (2, range(0, 660, 20), {("NAME_SERVERS_DIFFER", 1)}),
        (4, range(0, 660, 20), {("HOLDS_LESS", 1)}),
        (4, [10, 70, 119, 310], set()),
        (3, [10, 70, 119, 310], set()),
    ],
)
def test_another_route_of_a_name_server_is_the_cause(queues: int, listed_at: Iterable[int], expected: set[Any]) -> None:
    """By AVG of two of the four queues, c1 has half of its share. No other members are needed to explain it."""
    routes = (("n1:9876", (RouteEntry("b", PERM_READ, 4, 4),)), ("n2:9876", (RouteEntry("b", PERM_READ, queues, 4),)))
    shares = replayed("t", 0, 660, {"c1": [0, 1], "c9": [2, 3]}, 4)
    rows = [_holding(second, [0] if 120 <= second < 300 else [0, 1]) for second in range(0, 620, 60)]
    step = recorded_step(rows, shares, listed_at=listed_at)
    history = replace(step.history, server_routes={"t": series_of([(micros(200), routes)])})
    hits = RULE.hits(replace(step, history=history, replays=Replays(StrategySettings())))
    assert {(hit.cause, hit.queue.queue_id) for hit in hits if hit.queue} == expected


def test_what_no_look_showed_is_no_drift() -> None:
    """c2 is there from 140 to 200 s, and c1 was looked at before and after."""
    both, alone = {"c1": [0], "c2": [1]}, {"c1": [0, 1]}
    shares = [replayed("t", 0, 140, alone, 2), replayed("t", 140, 200, both, 2), replayed("t", 200, 660, alone, 2)]
    looks = [_holding(second, (0, 1)) for second in (130, 210)]
    step = recorded_step(looks, *shares, settings=replace(SETTINGS, max_gap=180 * SECOND))
    assert list(RULE.hits(step)) == []


@pytest.mark.parametrize(
    ("consume_type", "owned", "expected"),
    [
        ("CONSUME_PASSIVELY", [], {(50, 620, "HOLDS_LESS", 0)}),
        ("CONSUME_ACTIVELY", [], set()),
        ("CONSUME_ACTIVELY", [1], {(50, 620, "HOLDS_LESS", 0), (50, 620, "HOLDS_MORE", 1)}),
    ],
)
def test_who_pulls_by_hand_need_not_list_what_it_pulls(consume_type: str, owned: list[int], expected: set[Any]) -> None:
    """`DefaultMQPullConsumer` lists nothing, `DefaultLitePullConsumer` what it was given."""
    rows = [_holding(second, owned, subscriptions=[SUBSCRIPTION]) for second in range(0, 640, 20)]
    rows += [_holding(second, [1], client_id="c9") for second in range(0, 640, 20)]
    said = Membership((), frozenset(), frozenset(), "CLUSTERING", consume_type)
    listed = {"b": [Span(micros(0), micros(640), micros(620), said)]}
    step = replace(recorded_step(rows, replayed("t", 0, 640, {"c1": [0]}, 2)), memberships=listed)
    assert _lines(list(RULE.hits(step))) == expected


def test_a_topic_that_it_subscribes_and_has_nothing_of_counts() -> None:
    rows = [
        row
        for second in (100, 200, 220)
        for row in (
            client(second, "c1", owned_queues=[], subscriptions=[SUBSCRIPTION]),
            client(second, "c2", owned_queues=[], subscriptions=None),
            client(second, "c3", owned_queues=None, subscriptions=[SUBSCRIPTION]),
        )
    ]
    shares = replayed("t", 0, 660, {"c1": [0], "c2": [1], "c3": [2]}, 3)
    assert [(hit.implicated, span(hit)) for hit in RULE.hits(recorded_step(rows, shares))] == [("c1", "200-220")]
