"""Members whose pulls bring less than comes, by what they report; 2 queues, 62 messages a second of each."""

from typing import Any

import pytest

from spark_jobs.domain.diagnosis.pulls import pulls_are_limit
from spark_jobs.domain.model.message_queue import MessageQueue
from tests.support.client_groups import held, measured
from tests.support.client_steps import recorded_step, replayed
from tests.support.snapshots import client
from tests.support.times import micros


def limit(
    cached: int = 0,
    consume_rt_ms: float = 5.0,
    threads: int | None = 20,
    pulls: bool = True,
    pull_rt_ms: float = 129.0,
    pull_interval_ms: int = 0,
) -> Any:
    """Messages of a pull, if they are the limit from 0 s to 600 s."""
    statuses = [measured("t", consume_rt_ms, 124.0, 0.0, pull_rt_ms, 124.0 if pulls else 0.0)]
    rows = [
        client(
            second,
            owned_queues=[held("t", number, second, {"cached_count": cached}) for number in (0, 1)],
            consume_status=statuses,
            consume_threads=threads,
            pull_interval_ms=pull_interval_ms,
        )
        for second in range(0, 600, 20)
    ]
    step = recorded_step(rows, replayed("t", 0, 660, {"c1": [0, 1]}, 2))
    pulled = pulls_are_limit(step, "c1", MessageQueue("t", "b", 0), micros(0), micros(600))
    return pulled and round(pulled.per_pull, 1)


def test_a_pull_brings_a_message_at_least() -> None:
    # 0.99 and 0.5: the client takes a moment between two pulls.
    assert limit(pull_rt_ms=16.0) == limit(pull_rt_ms=8.1) == 1.0


def test_a_pull_brings_rate_times_its_time_by_queues() -> None:
    # 124 messages a second × 0.129 s ÷ 2 queues.
    assert limit() == 8.0
    assert limit(cached=8) == 8.0
    # The next pull comes 129 ms after the answer.
    assert limit(pull_rt_ms=4.0, pull_interval_ms=125) == 8.0


@pytest.mark.parametrize(
    "given",
    [{"cached": 9}, {"consume_rt_ms": 100.0}, {"threads": None}, {"pulls": False}, {"pull_rt_ms": 8.0}],
    ids=str,
)
def test_something_else_may_be_the_limit(given: dict[str, Any]) -> None:
    """Messages in hand, 12.4 of 20 threads that are busy, what is not reported, or pulls for less than half of it."""
    assert limit(**given) is None
