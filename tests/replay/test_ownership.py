"""Who owns each queue: the hand-written cases, and plain Python's word on random ones."""

from __future__ import annotations

import os

import pytest
from pyspark.sql import SparkSession

from tests.cases import CASES
from tests.replay.allocations import Allocation, Outcome, Owned, by_domain, by_spark
from tests.replay.random_allocations import random_allocation

#: Spark works on so many at once.
_BATCH = 2500


def test_the_hand_written_cases(spark: SparkSession) -> None:
    allocations = [Allocation(case.topic, tuple(case.members), case.route, case.strategy) for case in CASES]
    outcomes = by_spark(spark, allocations)
    for case, outcome in zip(CASES, outcomes, strict=True):
        id_of = {member.client_addr: member.client_id for member in case.members}
        assert {
            queue: (tuple(id_of[address] for address in one.owners), _cause(one), one.unassigned[1])
            for queue, one in outcome.items()
        } == case.expected, case.name


def _cause(owned: Owned) -> str | None:
    return owned.unassigned[0] or owned.double_owned


def test_random_allocations(spark: SparkSession) -> None:
    check_equal(spark, range(400))


@pytest.mark.fuzz
def test_many_random_allocations(spark: SparkSession) -> None:
    cases = int(os.environ.get("FUZZ_CASES", "20000"))
    for first in range(0, cases, _BATCH):
        check_equal(spark, range(first, min(first + _BATCH, cases)))


def check_equal(spark: SparkSession, seeds: range) -> None:
    """Fails with the smallest of the allocations on which Spark and plain Python differ."""
    allocations = [random_allocation(seed) for seed in seeds]
    outcomes = by_spark(spark, allocations)
    compared = zip(seeds, allocations, map(by_domain, allocations), outcomes, strict=True)
    differing = [one for one in compared if one[2] != one[3]]
    if differing:
        pytest.fail(_report(len(differing), *min(differing, key=lambda one: one[1].size)))


def _report(count: int, seed: int, allocation: Allocation, expected: Outcome, outcome: Outcome) -> str:
    queues = sorted(set(expected) | set(outcome))
    lines = [
        f"{queue}\n  plain Python: {expected.get(queue)}\n  Spark:        {outcome.get(queue)}"
        for queue in queues
        if expected.get(queue) != outcome.get(queue)
    ]
    return "\n".join([f"{count} differ; the smallest, random_allocation({seed}):", str(allocation), *lines])
