"""Members that were not there, in groups whose members have rooms."""

from __future__ import annotations

import pytest

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from spark_jobs.domain.status.capacity import GroupInStep, HeldBack, Limit
from spark_jobs.domain.what_if.answer import in_numbers
from spark_jobs.domain.what_if.cases import Case, Change, with_new_room
from spark_jobs.domain.what_if.outcome import compare
from spark_jobs.errors import CaseError
from tests.domain.what_if.histories import Messages, at, nothing, steps

#: The broker b is in room b, a client in that of its first letter.
NEARBY = StrategySettings("MACHINE_ROOM_NEARBY-AVG", broker_room="(b)", client_room="^(.)")


def history(early: list[str], late: list[str], consumed: Messages = nothing) -> list[AuditedStep]:
    """4 queues with 10 messages a second each; other members from 300 s on."""
    return steps(lambda second: late if second >= 300 else early, [at(10)] * 4, [consumed] * 4, configured=NEARBY)


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
    assert (found.cases[0].busiest, found.cases[0].unowned) == (4, 0)


def test_without_rooms_there_is_none() -> None:
    assert with_new_room(StrategySettings(), history(["b1"], ["b1"])) == StrategySettings()
    with pytest.raises(CaseError, match=r"no client_room is configured for the group: leave out --room"):
        Case("x", room="b").settings(StrategySettings())


def test_the_answer_has_a_number_for_groups_with_rooms() -> None:
    # b1 takes 20 of 40 messages a second, and so would another one beside it.
    held = HeldBack(Limit.MEMBERS, 4, 12_000, 1000, 4, 1)
    told = in_numbers(history(["b1"], ["b1"], at(5))[0], GroupInStep(1, 4, True, held_back=[held]), NEARBY)
    assert told == "With 1 more member the highest backlog would have been about 0 instead of 12,000."


def test_without_a_room_for_a_twin_there_is_no_number() -> None:
    ends = StrategySettings("MACHINE_ROOM_NEARBY-AVG", broker_room="(b)", client_room="^(.)1$")
    given = steps(lambda _: ["b1", "b1"], [at(10)] * 4, [at(10)] * 2 + [nothing] * 2, configured=ends)
    held = HeldBack(Limit.DUPLICATE_IDS, 2, 12_000, 1000, 4, 2)
    assert in_numbers(given[0], GroupInStep(2, 4, True, held_back=[held]), ends) == (
        "How large the backlog would have been otherwise is unknown: the pattern for rooms does not find that of a "
        "member with an id of its own."
    )
