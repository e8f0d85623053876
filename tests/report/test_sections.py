"""The sections of the report, each on a small history whose outcome is worked out by hand.

Times are seconds after 10:00; a step is an hour.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.domain.intervals import Interval
from spark_jobs.report.fleet import fleet
from spark_jobs.report.history import backlog, states
from spark_jobs.report.keys import ROWS_OF_GROUP, at_most
from spark_jobs.report.ownership import members, ownership
from tests.snapshots import at

_KEY = "step_start timestamp, cluster string, consumer_group string, topic string, membership_view string, "
_KEY += "interval_start timestamp, "
_ALLOCATIONS = _KEY + (
    "interval_end timestamp, broker_name string, queue_id int, readable boolean, "
    "owners array<struct<client_id: string, client_addr: string>>, unassigned_cause string, "
    "unassigned_client_id string, double_owned_cause string"
)
_PROGRESS = _KEY + (
    "interval_end timestamp, broker_name string, queue_id int, lag_first bigint, lag_last bigint, lag_max bigint, "
    "produced bigint, consumed bigint"
)
_INTERVALS = _KEY + (
    "interval_end timestamp, status string, reason string, strategy string, strategy_source string, "
    "members array<struct<client_id: string, client_addr: string, version: int, strategy: string>>, member_count int, "
    "distinct_members int, queue_count int, unassigned_queues int, double_owned_queues int, idle_members int, "
    "trigger string, trigger_subject string, queues_moved int, queues_preserved int, least_moves int"
)
HOUR, TWO_HOURS = Interval(at(0), at(3600)), Interval(at(0), at(7200))


def key(begin: int) -> tuple[Any, ...]:
    return (at(begin // 3600 * 3600), "c", "g", "t", "*", at(begin))


def found(frame: DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(map(_aware, row)) for row in frame.select(*columns).collect()), key=repr)


def _aware(value: Any) -> Any:
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) else value


def owned(begin: int, end: int, queue_id: int, *owners: str) -> tuple[Any, ...]:
    connections = [(owner, f"{owner}:1") for owner in owners]
    return (*key(begin), at(end), "b", queue_id, True, connections, None if owners else "CONFIG_HOLE", None, None)


def progress(begin: int, end: int, queue_id: int, *numbers: int | None) -> tuple[Any, ...]:
    """Numbers: first, last and highest lag, produced, consumed."""
    return (*key(begin), at(end), "b", queue_id, *numbers)


def interval(begin: int, end: int, trigger: str | None, *ids: str, status: str = "REPLAYED") -> tuple[Any, ...]:
    connections = [(one[0], one, 493, "AVG") for one in ids]
    replayed = status == "REPLAYED"
    counts = (len(ids), len({one[0] for one in ids}), 4, 0, 0, 0) if replayed else (None,) * 6
    moved = (2, 2, 1) if trigger else (None,) * 3
    facts = (status, None if replayed else "NO_SNAPSHOTS", "AVG", "CLIENT", connections if replayed else None)
    return (*key(begin), at(end), *facts, *counts, trigger, None, *moved)


def test_a_span_of_an_owner_goes_on_over_intervals_and_steps_and_ends_where_nobody_looked(spark: SparkSession) -> None:
    allocations = [
        owned(0, 100, 0, "A"),
        owned(100, 3600, 0, "A"),
        owned(3600, 4000, 0, "A"),
        owned(0, 100, 1, "A"),
        owned(100, 3600, 1),
        owned(3700, 4000, 1),
    ]
    lags = [
        progress(0, 100, 0, 5, 7, 9, 1, 1),
        progress(100, 3600, 0, None, None, None, None, None),
        progress(3600, 4000, 0, 1, 2, 2, 1, 1),
        progress(100, 3600, 1, 0, 30, 31, 30, 0),
    ]
    spans = ownership(
        spark.createDataFrame(allocations, _ALLOCATIONS), spark.createDataFrame(lags, _PROGRESS)
    ).selectExpr("queue_id", "start", "end", "owners.client_id AS owner", "lag_first", "lag_last", "lag_max")
    assert found(spans, "queue_id", "start", "end", "owner", "lag_first", "lag_last", "lag_max") == sorted(
        [
            (0, at(0), at(4000), ["A"], 5, 2, 9),
            (1, at(0), at(100), ["A"], None, None, None),
            (1, at(100), at(3600), [], 0, 30, 31),
            (1, at(3700), at(4000), [], None, None, None),
        ],
        key=repr,
    )


def test_a_member_is_one_span_over_all_topics_and_twins_are_marked_while_they_are_two(spark: SparkSession) -> None:
    rows = [
        interval(0, 100, None, "a1", "b1"),
        interval(100, 200, "MEMBER_JOINED", "a1", "a2", "b1"),
        interval(200, 300, "MEMBER_LEFT", "a2", "b1"),
        (*interval(0, 300, None, "b1")[:3], "other", *interval(0, 300, None, "b1")[4:]),
        interval(300, 400, None, status="UNOBSERVED"),
    ]
    spans = members(spark.createDataFrame(rows, _INTERVALS))
    assert found(spans, "client_id", "client_addr", "twins", "start", "end", "strategy", "version") == sorted(
        [
            ("a", "a1", False, at(0), at(100), "AVG", 493),
            ("a", "a1", True, at(100), at(200), "AVG", 493),
            ("a", "a2", True, at(100), at(200), "AVG", 493),
            ("a", "a2", False, at(200), at(300), "AVG", 493),
            ("b", "b1", False, at(0), at(300), "AVG", 493),
        ],
        key=repr,
    )


def test_a_state_ends_with_a_rebalance_or_a_gap_and_not_with_a_step(spark: SparkSession) -> None:
    rows = [
        interval(0, 1000, "FIRST_OBSERVATION", "a1"),
        interval(1000, 3600, "MEMBER_RESTARTED", "b1"),
        interval(3600, 5000, None, "b1"),
        interval(5000, 6000, None, status="UNOBSERVED"),
        interval(6000, 7200, None, "b1"),
    ]
    told = states(spark.createDataFrame(rows, _INTERVALS))
    assert found(told, "start", "end", "status", "trigger", "member_count", "queues_moved") == sorted(
        [
            (at(0), at(1000), "REPLAYED", "FIRST_OBSERVATION", 1, 2),
            (at(1000), at(5000), "REPLAYED", "MEMBER_RESTARTED", 1, 2),
            (at(5000), at(6000), "UNOBSERVED", None, None, None),
            (at(6000), at(7200), "REPLAYED", None, 1, None),
        ],
        key=repr,
    )


def test_a_part_of_the_backlog_keeps_its_first_last_and_highest_lag_and_the_time_that_was_counted(
    spark: SparkSession,
) -> None:
    """An hour has 240 parts of 15 s."""
    rows = [
        progress(0, 5, 0, None, None, None, None, None),
        progress(5, 8, 0, 3, 4, 8, 10, 9),
        progress(8, 12, 0, 4, 6, 6, 20, 18),
        progress(12, 15, 0, None, None, None, None, None),
        progress(15, 3600, 0, 6, 1, 7, 100, 105),
    ]
    parts = backlog(spark.createDataFrame(rows, _PROGRESS), HOUR)
    columns = ("start", "end", "lag_first", "lag_last", "lag_max", "produced", "consumed", "seconds")
    assert found(parts, *columns) == sorted(
        [(at(0), at(15), 3, 6, 8, 30, 27, 7.0), (at(15), at(3600), 6, 1, 7, 100, 105, 3585.0)], key=repr
    )


def test_the_first_rows_of_every_group_say_how_many_there_are(spark: SparkSession) -> None:
    rows = [("c", group, number) for group, size in (("big", 5), ("small", 2)) for number in range(size)]
    kept = spark.createDataFrame(rows, "cluster string, consumer_group string, number int").transform(
        at_most(3, ["number"])
    )
    assert found(kept, "consumer_group", "number", ROWS_OF_GROUP) == [
        *(("big", number, 5) for number in range(3)),
        *(("small", number, 2) for number in range(2)),
    ]


_STATUS = (
    "cluster string, consumer_group string, step_start timestamp, backlog_start bigint, backlog_end bigint, "
    "members int, queues int, owned_twice int, owned_never int, limit string, advice string"
)
_FINDINGS = (
    "cluster string, consumer_group string, rule string, severity string, topic string, subject string, cause string, "
    "evidence struct<backlog_max: bigint>"
)


def test_the_fleet_lists_what_needs_attention_first(spark: SparkSession) -> None:
    status = [
        ("c", "quiet", at(0), 1, 2, 3, 4, 0, 0, "NO_BACKLOG", "first"),
        ("c", "quiet", at(3600), 2, 9, 5, 6, 0, 1, "LISTENER", "second"),
        *(("c", group, at(0), None, None, None, None, None, None, "NO_BACKLOG", "") for group in ("z", "y", "x", "w")),
    ]
    findings = [
        ("c", "x", "UNOBSERVED", "INFO", None, "x", None, (None,)),
        ("c", "y", "CLIENT_HUNG", "ERROR", None, "a", None, (10,)),
        ("c", "y", "CLIENT_HUNG", "ERROR", None, "a", None, (1000,)),  # goes on in the next step
        ("c", "z", "UNASSIGNED_QUEUE", "ERROR", "t", "b:1", "MIXED_STRATEGIES", (7,)),
        ("c", "z", "UNASSIGNED_QUEUE", "ERROR", "t", "b:2", "MIXED_STRATEGIES", (7,)),
        ("c", "z", "UNASSIGNED_QUEUE", "INFO", "t", "b:2", "GROUP_OFFLINE", (70,)),
        ("c", "z", "IDLE_CONSUMER", "WARN", None, "z", None, (None,)),
        ("c", "w", "UNASSIGNED_QUEUE", "ERROR", "t", "b:1", "CONFIG_HOLE", (None,)),
    ]
    rows = fleet(
        spark.createDataFrame(status, _STATUS),
        spark.createDataFrame(findings, _FINDINGS),
        spark.createDataFrame([], _PROGRESS),
        TWO_HOURS,
    ).collect()
    assert [(row.consumer_group, row.rank, row.piled_up) for row in rows] == [
        ("z", 3, 70),
        ("y", 3, 1000),
        ("w", 3, None),
        ("x", 1, None),
        ("quiet", None, None),
    ]
    rules = [(rule.rule, rule.findings) for rule in rows[0].rules]
    assert rules == [("UNASSIGNED_QUEUE", 3), ("IDLE_CONSUMER", 1)]
    assert [(rule.rule, rule.findings) for rule in rows[1].rules] == [("CLIENT_HUNG", 1)]
    assert [row.errors for row in rows[:3]] == [2, 1, 1]
    last = rows[-1]
    assert (last.backlog_start, last.backlog_end, last.members, last.owned_never) == (1, 9, 5, 1)
    assert (last.limit, last.advice, last.rules, last.lines) == ("LISTENER", "second", None, None)


def test_the_small_line_has_the_highest_sum_of_all_queues_in_each_part(spark: SparkSession) -> None:
    """48 parts of two hours: 150 s each."""
    rows = [
        progress(0, 149, 0, 5, 6, 6, 1, 1),
        progress(0, 149, 1, 10, 20, 20, 1, 1),
        progress(149, 7200, 0, 0, 100, 100, 1, 1),
        progress(149, 7200, 1, None, None, None, None, None),
    ]
    status = [("c", "g", at(0), 0, 0, 1, 1, 0, 0, "NO_BACKLOG", "")]
    (row,) = fleet(
        spark.createDataFrame(status, _STATUS),
        spark.createDataFrame([], _FINDINGS),
        spark.createDataFrame(rows, _PROGRESS),
        TWO_HOURS,
    ).collect()
    (line,) = row.lines
    assert [(point.part, point.backlog) for point in line.points] == [(0, 26), (47, 100)]
    assert at(7200) - at(0) == timedelta(hours=2)
