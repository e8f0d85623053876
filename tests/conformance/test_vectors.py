"""Every result of RocketMQ's Java classes, also for ids that are not in the list, null and exceptions."""

import os

import pytest

from spark_jobs.domain.model.message_queue import sort_client_ids, sort_queues
from spark_jobs.domain.rocketmq.allocation import KeepsAllocation
from spark_jobs.errors import StrategyError
from tests.conformance.vectors import Result, Vector, read_vectors
from tests.support.oracle.client import allocate, pop_assignment

VECTORS = read_vectors()


def answer(vector: Vector, client_id: str) -> Result:
    arguments = (client_id, vector.queues, vector.client_ids)
    try:
        if vector.pop_share is not None:
            return frozenset(pop_assignment(vector.strategy, vector.pop_share, *arguments))
        queues = allocate(vector.strategy, *arguments)
    except KeepsAllocation as kept:
        return str(kept)
    except StrategyError as error:
        return str(error).partition(";")[0]  # the advice after it is ours
    return None if queues is None else frozenset(queues)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: f"{vector.number}-{vector.strategy_name}")
def test_a_client_gets_what_java_gives_it(vector: Vector) -> None:
    assert {client_id: answer(vector, client_id) for client_id in vector.results} == vector.results


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: str(vector.number))
def test_lists_sort_as_java_sorted_them(vector: Vector) -> None:
    assert sort_client_ids(reversed(vector.client_ids)) == list(vector.client_ids)
    assert sort_queues(reversed(vector.queues)) == list(vector.queues)


@pytest.mark.skipif("ALLOCATION_VECTORS" in os.environ, reason="counts the shipped file")
def test_all_shipped_vectors_are_read() -> None:
    assert len(VECTORS) == 575
