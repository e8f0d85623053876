"""Members and queues of a case, and the rooms of additional members."""

import pytest

from spark_jobs.domain.kernel.allocations import Member
from spark_jobs.domain.kernel.audited_step import AuditedStep, RebalanceInterval
from spark_jobs.domain.kernel.ownership import Inputs, replayed
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from spark_jobs.domain.status.capacity import GroupInStep, HeldBack, Limit
from spark_jobs.errors import CaseError
from spark_jobs.what_if.answer import advice_in_numbers
from spark_jobs.what_if.case_words import cases_of
from spark_jobs.what_if.cases import UNCHANGED_CASE, Case, Change, recorded_id, with_new_room
from spark_jobs.what_if.outcome import compare
from tests.support.what_if import Messages, nothing, rate, steps

QUEUES = (("a", 0), ("a", 1), ("b", 0))

#: The broker b is in room b, a client in that of its first letter.
NEARBY = StrategySettings("MACHINE_ROOM_NEARBY-AVG", broker_room="(b)", client_room="^(.)")


def interval(*client_ids: str, subscribes: bool = True) -> RebalanceInterval:
    members = tuple(Member(one, None, None, None, "AVG_BY_CIRCLE", subscribes, True) for one in client_ids)
    allocation = replayed(Inputs("t", members, QUEUES, ()), StrategySettings())
    return RebalanceInterval("t", "*", 0, 1, None, None, members, QUEUES, None, allocation)


def ids(case: Case, *client_ids: str) -> list[str]:
    return [one.client_id for one in case.inputs(interval(*client_ids)).members]


def test_a_case_without_changes_keeps_members_and_queues() -> None:
    given = interval("c1", "c1", "c2")
    assert UNCHANGED_CASE.inputs(given) == Inputs("t", given.members or (), QUEUES, ())


def test_members_come_last_and_the_last_leave() -> None:
    assert ids(Case(members=Change("+", 2)), "c1", "c2") == ["c1", "c2", "~new-0002", "~new-0003"]
    assert ids(Case(members=Change("-", 1)), "c1", "c2") == ["c1"]
    assert ids(Case(members=Change("-", 5)), "c1", "c2") == []
    assert ids(Case(members=Change("=", 1)), "c1", "c2") == ["c1"]
    assert ids(Case(members=Change("=", 2))) == ["~new-0000", "~new-0001"]
    assert ids(Case(without=frozenset({"c1"})), "c1", "c1", "c2") == ["c2"]


def test_twins_get_ids_of_their_own_and_stay_known() -> None:
    own = ids(Case(unique_ids=True), "c1", "c1", "c2")
    assert (len(set(own)), [recorded_id(one) for one in own]) == (3, ["c1", "c1", "c2"])


def test_new_members_run_what_the_others_run_and_subscribe() -> None:
    found = Case(members=Change("+", 1)).inputs(interval("c1", subscribes=False)).members
    assert [(one.strategy, one.subscribes) for one in found] == [("AVG_BY_CIRCLE", False), ("AVG_BY_CIRCLE", True)]
    same = Case(same_subscriptions=True, strategy="AVG").inputs(interval("c1", subscribes=False)).members
    assert [(one.strategy, one.subscribes) for one in same] == [("AVG", True)]


@pytest.mark.parametrize(
    ("change", "queues"),
    [
        (Change("x", 2), [("a", 0), ("a", 1), ("a", 2), ("a", 3), ("b", 0), ("b", 1)]),
        (Change("=", 5), [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1)]),
        (Change("=", 1), [("a", 0)]),
    ],
)
def test_queues_of_each_broker(change: Change, queues: list[tuple[str, int]]) -> None:
    assert Case(queues=change).queues_of(QUEUES) == queues


def test_queues_that_are_no_longer_read_still_hold_messages() -> None:
    found = Case(queues=Change("=", 1)).inputs(interval("c1")).unreadable
    assert [one[:2] for one in found] == [("a", 1), ("b", 0)]
    assert {one[2] for one in found} == {"BEYOND_READ_QUEUES"}


def test_virtual_nodes_of_a_strategy() -> None:
    (case,) = cases_of([], ["--strategy CONSISTENT_HASH:20"])
    assert (case.strategy, case.settings(StrategySettings()).virtual_node_cnt) == ("CONSISTENT_HASH", 20)


def history(early: list[str], late: list[str], consumed: Messages = nothing) -> list[AuditedStep]:
    """4 queues with 10 messages a second each; other members from 300 s on."""
    return steps(lambda second: late if second >= 300 else early, [rate(10)] * 4, [consumed] * 4, configured=NEARBY)


@pytest.mark.parametrize(
    ("early", "late", "room"),
    [
        # a1 owns nothing, as b1 is nearer to the queues. Where nobody is near, all share them: the first has most.
        (["a1"], ["a1", "b1"], "b"),
        (["b1"], ["a1", "c1"], "a"),
        (["b1"], [], "b"),
        ([], [], ""),
    ],
)
def test_the_room_of_the_largest_share_when_any_was_last_owned(early: list[str], late: list[str], room: str) -> None:
    assert with_new_room(NEARBY, history(early, late)).new_room == room


def test_new_members_share_what_is_in_their_room() -> None:
    given = history(["a1", "b1"], ["a1", "b1"])
    one_more = Change("+", 1)
    found = compare(given, [Case(members=one_more), Case(members=one_more, room="a")], with_new_room(NEARBY, given))
    assert found is not None
    # Beside b1 it gets two of the four queues; beside a1 it idles.
    assert [(one.busiest, one.idle) for one in found.cases] == [(2, 1), (4, 2)]


def test_who_comes_where_nobody_ever_was_gets_everything() -> None:
    given = history([], [])
    found = compare(given, [Case(members=Change("+", 1))], with_new_room(NEARBY, given))
    assert found is not None
    assert (found.cases[0].busiest, found.cases[0].unassigned_queues) == (4, 0)


def test_without_rooms_there_is_none() -> None:
    assert with_new_room(StrategySettings(), history(["b1"], ["b1"])) == StrategySettings()
    with pytest.raises(CaseError, match=r"no client_room is configured for the group: leave out --room"):
        Case("x", room="b").settings(StrategySettings())


def test_the_answer_has_a_number_for_groups_with_rooms() -> None:
    # b1 takes 20 of 40 messages a second, and so would another one beside it.
    held = HeldBack(Limit.LISTENER, 4, 12_000, 1000, 4, 1)
    answer = advice_in_numbers(history(["b1"], ["b1"], rate(5))[0], NEARBY, GroupInStep(1, 4, True, held_back=[held]))
    assert answer == "With 1 more member the highest backlog would have been about 0 instead of 12,000."


def test_without_a_room_for_a_twin_there_is_no_number() -> None:
    ends = StrategySettings("MACHINE_ROOM_NEARBY-AVG", broker_room="(b)", client_room="^(.)1$")
    given = steps(lambda _: ["b1", "b1"], [rate(10)] * 4, [rate(10)] * 2 + [nothing] * 2, configured=ends)
    held = HeldBack(Limit.DUPLICATE_IDS, 2, 12_000, 1000, 4, 2)
    assert advice_in_numbers(given[0], ends, GroupInStep(2, 4, True, held_back=[held])) == (
        "How large the backlog would have been otherwise is unknown: the pattern for rooms does not find that of a "
        "member with another id."
    )
