"""Queues that no consumer owns, for certain or by turns."""

from dataclasses import replace
from typing import Any

import pytest

from schemas import OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS
from spark_jobs.domain.kernel.audited_step import AuditedStep, Moves, Rebalance
from spark_jobs.domain.model.finding import Condition
from spark_jobs.domain.model.history import GroupHistory, Membership
from spark_jobs.domain.model.statuses import Trigger
from spark_jobs.domain.rules.findings import findings
from spark_jobs.domain.rules.unassigned_queue import RULE, may_be_unassigned
from tests.support.builders import allocation, audited_step, interval, members
from tests.support.findings import rule_hit
from tests.support.kernel import evaluated, series_of
from tests.support.snapshots import healthy_group, offsets
from tests.support.times import HOUR, micros, second_of


def test_each_queue_without_owner_with_its_cause_and_whose_share_it_is() -> None:
    """Another rule reports queues beyond the read queues; a retry topic counts."""
    listed = members("c1 c1 c2")
    unassigned = {1: ("DUPLICATE_CLIENT_ID", "c1"), 2: ("ROOM_FILTER", None)}
    unreadable = ["BEYOND_READ_QUEUES", "BROKER_NOT_READABLE"]
    owned = allocation(listed, "0+1 - -", unassigned=unassigned, unreadable=unreadable)
    about: dict[str, Any] = {"topic": "%RETRY%g", "view": "*", "seen_at": 40}
    assert list(RULE.hits(audited_step(interval(0, 60, listed, owned, topic="%RETRY%g", seen_at=40)))) == [
        rule_hit(0, 60, "DUPLICATE_CLIENT_ID", "%RETRY%g b:1 UNASSIGNED", implicated="c1", **about),
        rule_hit(0, 60, "ROOM_FILTER", "%RETRY%g b:2 UNASSIGNED", severity="INFO", **about),
        rule_hit(0, 60, "BROKER_NOT_READABLE", "%RETRY%g b:4 UNASSIGNED", **about),
    ]


@pytest.mark.parametrize(("source", "assumed"), [("CLIENT", []), ("DEFAULT", [1, 2])])
def test_of_an_assumed_strategy_it_is_assumed_which_queues_its_members_leave_out(
    source: str, assumed: list[int]
) -> None:
    listed = members("c1 c1 c2-")
    causes = {1: ("DUPLICATE_CLIENT_ID", "c1"), 2: ("MEMBER_NOT_SUBSCRIBED", "c2"), 3: ("WAITS_FOR_LOCK", None)}
    owned = replace(interval(0, 60, listed, allocation(listed, "0+1 - - -", unassigned=causes)), strategy_source=source)
    hits = RULE.hits(audited_step(owned))
    assert [hit.queue and hit.queue.queue_id for hit in hits if hit.is_assumed] == assumed
    assert {hit.hint for hit in hits if hit.is_assumed} <= {
        "These are the queues if the strategy is AVG: neither clients nor the configuration name it, and no client "
        "reports its queues."
    }
    assert {hit.hint for hit in hits if not hit.is_assumed} == {None}


@pytest.mark.parametrize(
    ("last_owner", "waits", "found"),
    [
        ("c2", "c1", ("LOCK_NOT_RELEASED", None, {"changes": 1.0})),
        ("c1", "c1", ("WAITS_FOR_LOCK", "The last owner was c1.", None)),
        ("c3", "c1", ("WAITS_FOR_LOCK", "The last owner was c3.", None)),
    ],
    ids=["a member loses it", "its own", "who left"],
)
def test_a_member_that_loses_a_queue_keeps_its_lock(last_owner: str, waits: str, found: Any) -> None:
    """c4 joins; queue 0 waits. Queue 1, of c3 that left, waits for the same reason."""
    before, after = members("c1 c2 c3"), members("c1 c2 c4")
    owners = f"{[each.client_id for each in before].index(last_owner)} 2"
    unassigned = {0: ("WAITS_FOR_LOCK", waits), 1: ("WAITS_FOR_LOCK", "c4")}
    waiting = interval(60, 120, after, allocation(after, "- -", unassigned=unassigned))
    moves = Moves(((Trigger.MEMBER_JOINED, "c4"),), joined=("c4",), left=("c3",))
    step = audited_step(
        interval(0, 60, before, allocation(before, owners)),
        replace(waiting, moves=moves),
    )
    step = replace(step, rebalances=[Rebalance(waiting.start, waiting, moves)])
    of_first, of_other = RULE.hits(step)
    assert (of_first.cause, of_first.hint, of_first.measures) == found
    assert of_other.cause == of_first.cause


def test_a_group_must_be_offline_for_longer_than_a_restart_takes() -> None:
    """A snapshot a minute: one shows it, and the next one does not."""
    owned = allocation((), "-", unassigned={0: ("GROUP_OFFLINE", None)})
    restarted, offline = (interval(0, 120, (), owned, seen_at=seen_at) for seen_at in (0, 60))
    assert findings(audited_step(restarted), [RULE]) == []
    (found,) = findings(audited_step(offline), [RULE])
    assert found.cause == "GROUP_OFFLINE"


@pytest.mark.parametrize(
    ("perm", "read_queues", "consumed", "is_unassigned"),
    [(2, 1, 0, True), (2, 1, 5, False), (6, 0, 0, False), (6, 1, 0, False)],
    ids=["never committed", "members may have it", "no queue to read", "readable"],
)
def test_nobody_has_the_queues_of_a_topic_that_was_never_readable(
    perm: int, read_queues: int, consumed: int, is_unassigned: bool
) -> None:
    rows = healthy_group(range(0, 620, 20), "c1")
    for row in rows[ROUTE_SNAPSHOTS]:
        row["queues"] = [row["queues"][0] | {"perm": perm, "read_queue_nums": read_queues, "write_queue_nums": 1}]
    rows[OFFSET_SNAPSHOTS] = [offsets(second, (10 + second, consumed, consumed)) for second in range(0, 620, 20)]
    (step,) = evaluated(rows, HOUR)
    found = [(each.cause, each.severity) for each in step.findings if each.rule == "UNASSIGNED_QUEUE"]
    assert found == ([("BROKER_NOT_READABLE", "ERROR")] if is_unassigned else [])


def _asked(step: AuditedStep, *seconds: int) -> AuditedStep:
    """Both brokers were, at these times."""
    nothing = Membership((), frozenset(), frozenset(), None)
    asked = series_of([(micros(at), nothing) for at in seconds])
    return replace(step, history=GroupHistory("c", "g", memberships={"b1": asked, "b2": asked}))


def test_by_turns_no_consumer_takes_what_no_member_has_by_all_lists() -> None:
    """By the list of b2, c2 has all three queues; by that of b1, c1 has the first and no client the last."""
    first, second = members("c1 c2"), members("c2")
    of_b1 = allocation(first, "0 1 -", unassigned={2: ("CONFIG_HOLE", None)})
    of_b2 = allocation(second, "0 0 0")
    step = audited_step(
        interval(100, 180, second, of_b2, view="b2", seen_at=160),
        interval(100, 140, first, of_b1, view="b1", seen_at=120),
        interval(200, 300, second, of_b2, view="b2"),
    )
    about: dict[str, Any] = {"topic": "t", "seen_at": 120, "minimum_seen_seconds": 50, "severity": "WARN"}
    assert [hit for hit in RULE.hits(_asked(step, 100, 120)) if hit.cause != "CONFIG_HOLE"] == [
        rule_hit(100, 180, "VIEWS_DISAGREE", f"t b:{place} DISPUTED", **about) for place in (0, 2)
    ]


@pytest.mark.parametrize(("topic", "disputed"), [("t", [(120, 180)]), ("%RETRY%g", [])])
def test_lists_that_begin_apart_dispute_from_when_both_stand(topic: str, disputed: list[tuple[int, int]]) -> None:
    first, second = members("c1"), members("c2")
    of_first, of_second = allocation(first, "0"), allocation(second, "0")
    step = audited_step(
        interval(100, 180, first, of_first, view="b1", topic=topic, seen_at=160),
        interval(120, 180, second, of_second, view="b2", topic=topic, seen_at=160),
    )
    found = list(RULE.hits(_asked(step, 100, 120, 140)))
    assert [(second_of(hit.start), second_of(hit.end)) for hit in found] == disputed


@pytest.mark.parametrize(
    ("owners", "may_be"),
    [
        (["c1", "c1"], False),
        (["c1", "c2"], True),
        (["c1", ""], True),
        (["", "c1"], True),
        (["c1 c2", "c2 c3"], False),
        (["c1 c2", "c2 c3", "c1 c3"], True),
        (["", ""], False),
        (["c1"], False),
    ],
)
def test_queues_without_an_owner_in_all_lists_may_be_unassigned(owners: list[str], may_be: bool) -> None:
    assert may_be_unassigned([tuple(ids.split()) for ids in owners]) is may_be


@pytest.mark.parametrize(
    ("cause", "produced", "backlog", "severity"),
    [
        ("DUPLICATE_CLIENT_ID", 1, None, "ERROR"),
        ("DUPLICATE_CLIENT_ID", None, None, "ERROR"),
        ("DUPLICATE_CLIENT_ID", 0, 0, "INFO"),
        ("DUPLICATE_CLIENT_ID", 0, 1, "ERROR"),
        ("ROOM_FILTER", 1, None, "WARN"),
        ("ROOM_FILTER", 0, None, "INFO"),
    ],
)
def test_messages_that_came_or_wait_decide_how_severe_it_is(
    cause: str, produced: int | None, backlog: int | None, severity: str
) -> None:
    assert RULE.severity(Condition(None, cause, (), True, produced, backlog)) == severity


def test_a_queue_that_only_an_assumed_strategy_leaves_out_is_a_warning() -> None:
    assert RULE.severity(Condition(None, "MEMBER_NOT_SUBSCRIBED", (), True, 1, None, is_assumed=True)) == "WARN"


@pytest.mark.parametrize(("cause", "severity"), [("DUPLICATE_CLIENT_ID", "INFO"), ("GROUP_OFFLINE", "ERROR")])
def test_what_a_stale_connection_does_ends_by_itself(cause: str, severity: str) -> None:
    assert RULE.severity(Condition(None, cause, (), False, 10, 10)) == severity
