"""Which changes of a group's topics are one rebalance."""

import pytest

from spark_jobs.domain.kernel.audited_step import Moves
from spark_jobs.domain.kernel.triggers import rebalances
from spark_jobs.domain.model.statuses import Trigger
from tests.support.builders import allocation, interval, members
from tests.support.kernel import settings
from tests.support.times import second_of

#: Two topics get other queues; members, which both would show, are the same.
_CHANGES = {"t": Moves(((Trigger.QUEUES_ADDED, "b:3"),)), "u": Moves(((Trigger.QUEUES_ADDED, "b:9"),))}


@pytest.mark.parametrize(("apart", "moments"), [(9.9, [100, 100]), (10, [100, 110]), (15, [100, 115])])
def test_changes_half_a_collection_interval_apart_are_two_rebalances(apart: float, moments: list[float]) -> None:
    listed = members("A B")
    begun = [
        interval(start, 200, listed, allocation(listed, [[0], [1]]), topic=topic, moves=_CHANGES[topic])
        for topic, start in (("t", 100), ("u", 100 + apart))
    ]
    assert [second_of(found.moment) for found in rebalances(begun, settings(20))] == moments
