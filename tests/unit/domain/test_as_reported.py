"""Clients that hold queues by a rule that nobody knows: the owners are those that the clients report, no more."""

from collections.abc import Collection, Sequence

import pytest

from spark_jobs.domain.model.history import Place
from spark_jobs.domain.model.statuses import Reason
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from spark_jobs.pipeline.publish.rows import tables
from tests.support.reporting import Course, Rule, by_rule, history, owned, step_of

_JAVA = "org.apache.rocketmq.client.consumer.rebalance."
#: c3 joins after 300 s.
COURSE: Course = ((0, "c1 c2", {"room1@a": 4, "room2@b": 4}), (300, "c1 c2 c3", {"room1@a": 4, "room2@b": 4}))


def backwards(client_id: str, ids: Sequence[str], queues: Sequence[Place]) -> Collection[Place]:
    """Dealt in turn from the last member to the first."""
    return [queue for n, queue in enumerate(queues) if n % len(ids) == len(ids) - 1 - ids.index(client_id)]


def near(client_id: str, ids: Sequence[str], queues: Sequence[Place]) -> Collection[Place]:
    """c1 is in room1, the others are in room2 and share its queues in turn."""
    others = [each for each in ids if each != "c1"]
    if client_id == "c1":
        return [queue for queue in queues if queue[0] == "room1@a"]
    return [q for n, q in enumerate(q for q in queues if q[0] == "room2@b") if others[n % len(others)] == client_id]


def in_room_1(client_id: str, ids: Sequence[str], queues: Sequence[Place]) -> Collection[Place]:
    """MACHINE_ROOM with room1: of 4 queues, 2 each; of three members the first has one more."""
    of_two: dict[str, tuple[int, ...]] = {"c1": (0, 1), "c2": (2, 3)}
    shares = of_two if len(ids) == 2 else {"c1": (0, 3), "c2": (1,), "c3": (2,)}
    return [("room1@a", number) for number in shares[client_id]]


@pytest.mark.parametrize(
    ("rule", "strategy_class", "strategy", "causes"),
    [
        (backwards, None, None, {"AS_REPORTED"}),
        (backwards, "my.own.Strategy", None, {"AS_REPORTED"}),
        (near, f"{_JAVA}AllocateMachineRoomNearby", None, {"AS_REPORTED"}),
        (in_room_1, f"{_JAVA}AllocateMessageQueueByMachineRoom", "MACHINE_ROOM", set()),
    ],
    ids=["Go", "own class", "NEARBY", "ROOM"],
)
def test_a_holder_is_the_owner(rule: Rule, strategy_class: str | None, strategy: str | None, causes: set[str]) -> None:
    language = "GO" if strategy_class is None else "JAVA"
    step = step_of(history(COURSE, by_rule(COURSE, rule), language=language, strategy_class=strategy_class))
    for interval, (_, ids, queues) in zip(step.step.replayed, COURSE, strict=True):
        held = by_rule(((0, ids, queues),), rule)
        assert owned(interval) == {client_id: {*held(client_id, 0)} for client_id in ids.split()}
        assert interval.strategy_source == "OBSERVED"
    assert {
        row["strategy"] for row in tables([step])["rebalance_intervals"].to_pylist() if row["status"] == "REPLAYED"
    } == {strategy}
    assert {finding.cause for finding in step.findings if finding.rule == "STRATEGY_UNKNOWN"} == causes
    assert not [finding.rule for finding in step.findings if finding.severity == "ERROR"]


def test_the_rooms_that_clients_show_are_published() -> None:
    step = step_of(
        history(
            COURSE,
            by_rule(COURSE, in_room_1),
            language="JAVA",
            strategy_class=f"{_JAVA}AllocateMessageQueueByMachineRoom",
        )
    )
    rows = tables([step])["rebalance_intervals"].to_pylist()
    assert [row["observed_rooms"] for row in rows if row["status"] == "REPLAYED"] == [["room1"], ["room1"]]


def test_a_queue_that_nobody_ever_lists_has_no_owner() -> None:
    """The last one is left out, whoever is a member."""

    def all_but_the_last(client_id: str, ids: Sequence[str], queues: Sequence[Place]) -> Collection[Place]:
        return backwards(client_id, ids, queues[:-1])

    step = step_of(history(COURSE, by_rule(COURSE, all_but_the_last)))
    allocations = [interval.allocation for interval in step.step.replayed if interval.allocation]
    causes = [cause for allocation in allocations for cause in allocation.unassigned_causes]
    assert causes == [*[None] * 7, "NOT_LISTED"] * 2


@pytest.mark.parametrize("wrong", ["two hold it", "now and then", "one is silent"])
def test_owners_are_unknown_where_reports_do_not_fit_together(wrong: str) -> None:
    """The lists overlap; of three members one changes its list; c2 does not answer."""
    plain = by_rule(COURSE, backwards)

    def holds(client_id: str, second: int) -> Collection[Place] | None:
        held = plain(client_id, second)
        if wrong == "one is silent":
            return None if client_id == "c2" else held
        if client_id == "c1" and (wrong == "two hold it" or second >= 450):
            return [*held, *plain("c2", second)][1 if wrong == "now and then" else 0 :][:5]
        return held

    step = step_of(history(COURSE, holds))
    assert {interval.reason for interval in step.step.intervals} >= {Reason.UNKNOWN_STRATEGY}
    assert not step.step.replayed
    assert {(each.rule, each.cause) for each in step.findings if each.rule != "UNOBSERVED"} == {
        ("STRATEGY_UNKNOWN", "CUSTOM_STRATEGY")
    }


def test_a_configured_strategy_is_not_observed() -> None:
    step = step_of(history(COURSE, by_rule(COURSE, backwards)), StrategySettings("AVG_BY_CIRCLE"))
    assert {interval.strategy_source for interval in step.step.replayed} == {"CONFIGURATION"}
