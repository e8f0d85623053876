"""Allocations of other strategies: on paper, and against RocketMQ's own classes."""

from dataclasses import replace

import pytest

from schemas import MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS
from spark_jobs.domain.kernel.allocations import Member
from spark_jobs.domain.kernel.audited_step import RebalanceInterval
from spark_jobs.domain.kernel.ownership import Inputs, replayed
from spark_jobs.domain.rocketmq.allocation import first_positions
from spark_jobs.domain.rocketmq.strategies import MACHINE_ROOM_NEARBY, StrategySettings
from spark_jobs.domain.status.strategy_comparison import OtherStrategies, StrategyComparison, strategy_comparison
from tests.conformance.vectors import Vector, read_vectors
from tests.support.kernel import SETTINGS, audited_steps, group_histories
from tests.support.snapshots import membership, route
from tests.support.times import HOUR
from tests.support.what_if import nothing, steps

SECONDS = range(0, 3600, 20)


def compared(configured: StrategySettings = StrategySettings()) -> list[StrategyComparison]:  # noqa: B008
    """8 queues; twins and one more for half an hour, then one more."""

    def members(second: int) -> list[str]:
        return ["c1", "c1", "c2"] if second < 1800 else ["c1", "c1", "c2", "c3"]

    (step,) = steps(members, [nothing] * 8, [nothing] * 8, SECONDS, configured)
    return strategy_comparison(step, OtherStrategies(configured))


def test_each_strategy_with_the_same_members_and_queues() -> None:
    """AVG of 8: c1 has 0-2 (3-5 nobody, c2 6-7), then 0-1 (2-3 nobody, c2 4-5, c3 6-7). By circle: c1 has 0 3 6, c2
    2 5, then c1 0 4, c2 2 6, c3 3 7: the others are nobody's.
    """
    avg, circle, ring = compared()
    # 2 goes from c1 to nobody, 4 and 5 from nobody to c2, 6 and 7 from c2 to c3. With shares of c1 2, c2 2, c3 2 and
    # nobody 2, at most 2 + 2 + 2 of had 3, 2, 3 are kept: 2 must move.
    assert avg == StrategyComparison("t", "AVG", 2, 8, 3, 3, 9 / 8, 5, 2)
    # 3 4 5 6 7 move, and again 2 had to.
    assert circle == StrategyComparison("t", "AVG_BY_CIRCLE", 2, 8, 3, 3, 9 / 8, 5, 2)
    assert (ring.strategy, ring.unassigned_queues, ring.states, ring.queue_count) == ("CONSISTENT_HASH", 0, 2, 8)
    assert ring.queues_moved == ring.minimum_moves


def test_strategies_that_need_settings_are_compared_where_they_are_configured() -> None:
    rooms = StrategySettings(rooms=frozenset({"r"}))
    assert [(each.strategy, each.unassigned_queues) for each in compared(rooms)][3:] == [("MACHINE_ROOM", 8)]
    nearby = StrategySettings("MACHINE_ROOM_NEARBY-AVG", broker_room="(b)", client_room="^(c)")
    assert [each.strategy for each in compared(nearby)][3:] == ["MACHINE_ROOM_NEARBY-AVG"]
    without_a_room = replace(nearby, client_room="^(other)")
    assert "MACHINE_ROOM_NEARBY-AVG" not in [each.strategy for each in compared(without_a_room)]


def test_a_rebalance_before_the_step_moves_nothing_in_it() -> None:
    none = [nothing] * 8
    (step,) = steps(lambda second: ["c1", *["c2"] * (second >= -100)], none, none, range(-400, 3600, 20))
    found = strategy_comparison(step, OtherStrategies(StrategySettings()))
    assert [(each.states, each.queues_moved, each.minimum_moves) for each in found] == [(1, 0, 0)] * 3


def test_where_brokers_disagree_nothing_is_compared() -> None:
    both = [
        {**route(second, 2), "queues": [*route(second, 2)["queues"], *route(second, 2, broker="b2")["queues"]]}
        for second in SECONDS
    ]
    lists = [membership(second, f"c-{broker}", broker=broker) for second in SECONDS for broker in ("b", "b2")]
    (history,) = group_histories({MEMBERSHIP_SNAPSHOTS: lists, ROUTE_SNAPSHOTS: both})
    (step,) = audited_steps(history, SETTINGS, HOUR)
    assert {interval.view for interval in step.replayed} == {"b", "b2"}
    assert strategy_comparison(step, OtherStrategies(StrategySettings())) == []


VECTORS = [
    vector
    for vector in read_vectors()
    if vector.pop_share is None and vector.queues and vector.client_ids and vector.strategy_name != "CONFIG"
]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: f"{vector.number}-{vector.strategy_name}")
def test_each_strategys_ownership_is_that_of_the_vector(vector: Vector) -> None:
    """Members that run AVG, under the vector's strategy."""
    if any(isinstance(result, str) for result in vector.results.values()):
        return
    settings = StrategySettings(
        vector.strategy_name,
        vector.params.get("virtualNodeCnt", 10),
        frozenset(vector.params["consumeridcs"]) if "consumeridcs" in vector.params else None,
        *("^([^-]+)", "^([^-]+)") if vector.strategy_name.startswith(MACHINE_ROOM_NEARBY) else (None, None),
    )
    found = OtherStrategies(settings).allocation(interval_of(vector), vector.strategy_name)
    assert found is not None
    firsts = first_positions(vector.client_ids)
    queues = list(zip(found.queues, found.owners, strict=True))
    for client_id, result in vector.results.items():
        if client_id in firsts and result is not None and not isinstance(result, str):
            own = {queue for queue, owners in queues if firsts[client_id] in owners}
            assert own == {(queue.broker_name, queue.queue_id) for queue in result}


def interval_of(vector: Vector) -> RebalanceInterval:
    """The vector's lists as those of an interval in which everybody ran AVG."""
    topic = vector.queues[0].topic
    members = tuple(Member(client_id, None, None, None, "AVG", True, True) for client_id in vector.client_ids)
    queues = tuple((queue.broker_name, queue.queue_id) for queue in vector.queues)
    allocation = replayed(Inputs(topic, members, queues, ()), StrategySettings())
    return RebalanceInterval(topic, "*", 0, 1, None, None, members, queues, None, allocation)
