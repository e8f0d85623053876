"""What a case makes of members and queues."""

from __future__ import annotations

import pytest

from spark_jobs.domain.kernel.audited_step import Member, RebalanceInterval
from spark_jobs.domain.kernel.ownership import Inputs, replayed
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from spark_jobs.domain.what_if.case_words import cases_of
from spark_jobs.domain.what_if.cases import AS_IT_WAS, Case, Change, origin

QUEUES = (("a", 0), ("a", 1), ("b", 0))


def interval(*client_ids: str, subscribes: bool = True) -> RebalanceInterval:
    members = tuple(Member(one, None, None, None, "AVG_BY_CIRCLE", subscribes, True) for one in client_ids)
    allocation = replayed(Inputs("t", members, QUEUES, ()), StrategySettings())
    return RebalanceInterval("t", "*", 0, 1, None, None, members, QUEUES, None, allocation)


def ids(case: Case, *client_ids: str) -> list[str]:
    return [one.client_id for one in case.inputs(interval(*client_ids)).members]


def test_nothing_is_changed() -> None:
    given = interval("c1", "c1", "c2")
    assert AS_IT_WAS.inputs(given) == Inputs("t", given.members or (), QUEUES, ())


def test_members_come_last_and_the_last_leave() -> None:
    assert ids(Case(members=Change("+", 2)), "c1", "c2") == ["c1", "c2", "~new-0002", "~new-0003"]
    assert ids(Case(members=Change("-", 1)), "c1", "c2") == ["c1"]
    assert ids(Case(members=Change("-", 5)), "c1", "c2") == []
    assert ids(Case(members=Change("=", 1)), "c1", "c2") == ["c1"]
    assert ids(Case(members=Change("=", 2))) == ["~new-0000", "~new-0001"]
    assert ids(Case(without=frozenset({"c1"})), "c1", "c1", "c2") == ["c2"]


def test_twins_get_ids_of_their_own_and_stay_known() -> None:
    own = ids(Case(unique_ids=True), "c1", "c1", "c2")
    assert (len(set(own)), [origin(one) for one in own]) == (3, ["c1", "c1", "c2"])


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
