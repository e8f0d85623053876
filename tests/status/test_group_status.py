"""Backlog and rates of a group: the same, in whatever order its queues are added up."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.status.group_status import backlogs
from tests.snapshots import at

_SCHEMA = (
    "step_start timestamp, cluster string, consumer_group string, topic string, broker_name string, queue_id int, "
    "interval_start timestamp, interval_end timestamp, produced bigint, consumed bigint, lag_first bigint, "
    "lag_last bigint, age_ms bigint"
)


def row(group: str, queue_id: int, begin: int, end: int, *measured: int | None) -> tuple[Any, ...]:
    """An interval of so many seconds; measured: produced, consumed, first and last lag, age."""
    return (at(0), "c", group, "t", "b", queue_id, at(begin), at(end), *measured)


def test_rates_do_not_depend_on_the_order_of_the_queues(spark: SparkSession) -> None:
    """0.1 + 0.2 + 0.3 messages a second: as doubles 0.6 or 0.6000000000000001, by the order."""
    rows = [
        row(f"group-{number}", queue_id, 0, 10, produced, produced, 0, 0, None)
        for number, order in enumerate(permutations((1, 2, 3)))
        for queue_id, produced in enumerate(order)
    ]
    found = backlogs(spark.createDataFrame(rows, _SCHEMA)).collect()
    assert [(one["in_rate"], one["out_rate"]) for one in found] == [(0.6, 0.6)] * 6


def test_a_queue_begins_with_its_first_known_lag_and_ends_with_its_last(spark: SparkSession) -> None:
    rows = [
        row("g", 0, 0, 100, 50, 20, 5, 35, 4000),
        row("g", 0, 100, 200, 50, 80, 35, 5, 1000),
        row("g", 1, 0, 100, None, None, None, None, None),
        row("g", 1, 100, 200, 30, 0, 7, 37, 9000),
        row("g", 2, 0, 200, 10, None, None, None, None),
    ]
    (found,) = backlogs(spark.createDataFrame(rows, _SCHEMA)).collect()
    # Queue 1 was read in its second interval only; of queue 2 nothing was ever committed.
    assert (found["backlog_start"], found["backlog_end"], found["unknown_queues"]) == (5 + 7, 5 + 37, 1)
    assert found["oldest_message_ms"] == 9000
    # 100 in 200 s, 30 in 100 s and 10 in 200 s; 100 in 200 s and none in 100 s.
    assert (found["in_rate"], found["out_rate"]) == (0.85, 0.5)
