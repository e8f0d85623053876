"""The sections of the report, each on a small history whose outcome is worked out by hand.

Times are seconds after 10:00; a step is an hour.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from spark_jobs.domain.model.intervals import Interval
from spark_jobs.show.fleet import PROGRESS_COLUMNS, fleet
from spark_jobs.show.rows import Row
from spark_jobs.show.spans import backlog, members, ownership, states
from tests.support.times import at

_KEY = ("step_start", "cluster", "consumer_group", "topic", "membership_view", "interval_start")
_ALLOCATIONS = (
    *_KEY, "interval_end", "broker_name", "queue_id", "readable", "owners", "unassigned_cause", "unassigned_client_id",
    "double_owned_cause",
)  # fmt: skip
_PROGRESS = (
    *_KEY, "interval_end", "broker_name", "queue_id", "lag_first", "lag_last", "lag_max", "produced", "consumed"
)  # fmt: skip
_INTERVALS = (
    *_KEY, "interval_end", "status", "reason", "strategy", "strategy_source", "members", "member_count",
    "distinct_members", "queue_count", "unassigned_queues", "double_owned_queues", "idle_members", "trigger_type",
    "trigger_subject", "queues_moved", "queues_preserved", "minimum_moves",
)  # fmt: skip
_OWNER = ("client_id", "client_addr")
_MEMBER = ("client_id", "client_addr", "version", "strategy")
HOUR, TWO_HOURS = Interval(at(0), at(3600)), Interval(at(0), at(7200))


def key(begin: int) -> tuple[Any, ...]:
    return (at(begin // 3600 * 3600), "c", "g", "t", "*", at(begin))


def named(rows: Iterable[tuple[Any, ...]], names: Sequence[str]) -> list[Row]:
    return [dict(zip(names, row, strict=True)) for row in rows]


def columns_of(rows: Iterable[Row], *columns: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row[name] for name in columns) for row in rows), key=repr)


def owned(begin: int, end: int, queue_id: int, *owners: str) -> tuple[Any, ...]:
    connections = named([(owner, f"{owner}:1") for owner in owners], _OWNER)
    return (*key(begin), at(end), "b", queue_id, True, connections, None if owners else "CONFIG_HOLE", None, None)


def progress(begin: int, end: int, queue_id: int, *numbers: int | None) -> tuple[Any, ...]:
    """Numbers: first, last and highest lag, produced, consumed."""
    return (*key(begin), at(end), "b", queue_id, *numbers)


def interval(begin: int, end: int, trigger: str | None, *ids: str, status: str = "REPLAYED") -> tuple[Any, ...]:
    connections = named([(address[0], address, 493, "AVG") for address in ids], _MEMBER)
    replayed = status == "REPLAYED"
    counts = (len(ids), len({address[0] for address in ids}), 4, 0, 0, 0) if replayed else (None,) * 6
    moved = (2, 2, 1) if trigger else (None,) * 3
    facts = (status, None if replayed else "NO_SNAPSHOTS", "AVG", "CLIENT", connections if replayed else None)
    return (*key(begin), at(end), *facts, *counts, trigger, None, *moved)


def test_a_span_of_an_owner_goes_on_over_intervals_and_steps_and_ends_where_nobody_looked() -> None:
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
    spans = [
        {**row, "owner": [owner["client_id"] for owner in row["owners"]]}
        for row in ownership(named(allocations, _ALLOCATIONS), named(lags, _PROGRESS))
    ]
    assert columns_of(spans, "queue_id", "start", "end", "owner", "lag_first", "lag_last", "lag_max") == sorted(
        [
            (0, at(0), at(4000), ["A"], 5, 2, 9),
            (1, at(0), at(100), ["A"], None, None, None),
            (1, at(100), at(3600), [], 0, 30, 31),
            (1, at(3700), at(4000), [], None, None, None),
        ],
        key=repr,
    )


def test_a_member_is_one_span_over_all_topics_and_twins_are_marked_while_they_are_two() -> None:
    rows = [
        interval(0, 100, None, "a1", "b1"),
        interval(100, 200, "MEMBER_JOINED", "a1", "a2", "b1"),
        interval(200, 300, "MEMBER_LEFT", "a2", "b1"),
        (*interval(0, 300, None, "b1")[:3], "other", *interval(0, 300, None, "b1")[4:]),
        interval(300, 400, None, status="UNOBSERVED"),
    ]
    spans = members(named(rows, _INTERVALS))
    assert columns_of(spans, "client_id", "client_addr", "shares_id", "start", "end", "strategy", "version") == sorted(
        [
            ("a", "a1", False, at(0), at(100), "AVG", 493),
            ("a", "a1", True, at(100), at(200), "AVG", 493),
            ("a", "a2", True, at(100), at(200), "AVG", 493),
            ("a", "a2", False, at(200), at(300), "AVG", 493),
            ("b", "b1", False, at(0), at(300), "AVG", 493),
        ],
        key=repr,
    )


def test_a_state_ends_with_a_rebalance_or_a_gap_and_not_with_a_step() -> None:
    rows = [
        interval(0, 1000, "FIRST_OBSERVATION", "a1"),
        interval(1000, 3600, "MEMBER_RESTARTED", "b1"),
        interval(3600, 5000, None, "b1"),
        interval(5000, 6000, None, status="UNOBSERVED"),
        interval(6000, 7200, None, "b1"),
    ]
    merged = states(named(rows, _INTERVALS))
    assert columns_of(merged, "start", "end", "status", "trigger_type", "member_count", "queues_moved") == sorted(
        [
            (at(0), at(1000), "REPLAYED", "FIRST_OBSERVATION", 1, 2),
            (at(1000), at(5000), "REPLAYED", "MEMBER_RESTARTED", 1, 2),
            (at(5000), at(6000), "UNOBSERVED", None, None, None),
            (at(6000), at(7200), "REPLAYED", None, 1, None),
        ],
        key=repr,
    )


def test_what_was_not_replayed_is_one_state_as_long_as_the_reason_is_one() -> None:
    """Who joins is no rebalance there."""
    rows = [
        interval(0, 1000, None, "a1", status="NOT_REPLAYABLE"),
        interval(1000, 2000, "MEMBER_JOINED", "a1", "b1", status="NOT_REPLAYABLE"),
        interval(2000, 3600, None, status="UNOBSERVED"),
    ]
    counted = [{**row, "member_count": count} for row, count in zip(named(rows, _INTERVALS), (1, 2, None), strict=True)]
    expected = [(at(0), at(2000), "NOT_REPLAYABLE", None, None), (at(2000), at(3600), "UNOBSERVED", None, None)]
    assert columns_of(states(counted), "start", "end", "status", "trigger_type", "member_count") == expected


def test_a_part_of_the_backlog_keeps_its_first_last_and_highest_lag_and_the_time_that_was_counted() -> None:
    """An hour has 240 parts of 15 s."""
    rows = [
        progress(0, 5, 0, None, None, None, None, None),
        progress(5, 8, 0, 3, 4, 8, 10, 9),
        progress(8, 12, 0, 4, 6, 6, 20, 18),
        progress(12, 15, 0, None, None, None, None, None),
        progress(15, 3600, 0, 6, 1, 7, 100, 105),
    ]
    parts = backlog(named(rows, _PROGRESS), HOUR)
    columns = ("start", "end", "lag_first", "lag_last", "lag_max", "produced", "consumed", "seconds")
    assert columns_of(parts, *columns) == sorted(
        [(at(0), at(15), 3, 6, 8, 30, 27, 7.0), (at(15), at(3600), 6, 1, 7, 100, 105, 3585.0)], key=repr
    )


_STATUS = (
    "cluster", "consumer_group", "step_start", "backlog_start", "backlog_end", "member_count", "queue_count",
    "double_owned_queues", "unassigned_queues", "bottleneck", "advice", "busiest_utilization",
    "catches_up", "catch_up_seconds", "retention_left_seconds",
)  # fmt: skip


def finding(group: str, kind: str, subject: str, backlog: int | None, cause: str | None = None, **facts: Any) -> Row:
    """The columns of a finding that the fleet reads; `kind`: its severity and rule."""
    severity, rule = kind.split()
    evidence = {"backlog_max": backlog, "unknown_queues": None}
    columns = {"rule": rule, "severity": severity, "topic": None, "subject": subject, "cause": cause}
    columns |= {"silenced_because": None}
    named = {"cluster": "c", "consumer_group": group, "root_finding_id": None}
    return {**named, "evidence": evidence, **columns, **facts}


def test_the_fleet_lists_what_needs_attention_first() -> None:
    status = [
        ("c", "quiet", at(0), 1, 2, 3, 4, 0, 0, "NO_BACKLOG", "first", 0.5, True, 0.0, None),
        ("c", "quiet", at(3600), 2, 9, 5, 6, 0, 1, "LISTENER", "second", 0.4, False, None, 60.0),
        *(
            ("c", group, at(0), None, None, None, None, None, None, "NO_BACKLOG", "", *[None] * 4)
            for group in ("z", "y", "x", "w")
        ),
    ]
    findings = [
        finding("quiet", "ERROR CLIENT_HUNG", "a", 9000, silenced_because="it is known"),
        finding("x", "INFO UNOBSERVED", "x", None),
        finding("y", "ERROR CLIENT_HUNG", "a", 10),
        finding("y", "ERROR CLIENT_HUNG", "a", 1000),  # lasts into the next step
        finding("z", "ERROR UNASSIGNED_QUEUE", "b:1", 7, "MIXED_STRATEGIES", topic="t"),
        finding("z", "ERROR UNASSIGNED_QUEUE", "b:2", 7, "MIXED_STRATEGIES", topic="t"),
        finding("z", "INFO UNASSIGNED_QUEUE", "b:2", 70, "GROUP_OFFLINE", topic="t"),
        finding("z", "WARN IDLE_CONSUMER", "z", None),
        finding("z", "ERROR CONSUMER_LAGGING", "z", None, root_finding_id="of UNASSIGNED_QUEUE"),
        finding("w", "ERROR UNASSIGNED_QUEUE", "b:1", None, "CONFIG_HOLE", topic="t"),
    ]
    rows = fleet(named(status, _STATUS), findings, [], TWO_HOURS)
    expected = [("z", 3, 70), ("y", 3, 1000), ("w", 3, None), ("x", 1, None), ("quiet", None, None)]
    assert [(row["consumer_group"], row["rank"], row["peak_backlog_messages"]) for row in rows] == expected
    rules = [(rule["rule"], rule["findings"]) for rule in rows[0]["rules"]]
    assert rules == [("UNASSIGNED_QUEUE", 3), ("IDLE_CONSUMER", 1), ("CONSUMER_LAGGING", 1)]
    assert [(rule["rule"], rule["findings"]) for rule in rows[1]["rules"]] == [("CLIENT_HUNG", 1)]
    assert [row["errors"] for row in rows[:3]] == [3, 1, 1]
    last = rows[-1]
    assert (last["backlog_start"], last["backlog_end"], last["member_count"], last["unassigned_queues"]) == (1, 9, 5, 1)
    assert [row["busiest"] for row in rows] == [None] * 4 + [0.5]
    assert (last["catches_up"], last["catch_up_seconds"], last["retention_left_seconds"]) == (False, None, 60.0)
    assert (last["bottleneck"], last["advice"], last["rules"], last["lines"]) == ("LISTENER", "second", None, None)


def test_the_small_line_has_the_highest_sum_of_all_queues_in_each_part() -> None:
    """48 parts of two hours: 150 s each."""
    rows = [
        progress(0, 149, 0, 5, 6, 6, 1, 1),
        progress(0, 149, 1, 10, 20, 20, 1, 1),
        progress(149, 7200, 0, 0, 100, 100, 1, 1),
        progress(149, 7200, 1, None, None, None, None, None),
    ]
    status = [("c", "g", at(0), 0, 0, 1, 1, 0, 0, "NO_BACKLOG", "", *[None] * 4)]
    read = [tuple(row[name] for name in PROGRESS_COLUMNS) for row in named(rows, _PROGRESS)]
    (group,) = fleet(named(status, _STATUS), [], read, TWO_HOURS)
    assert group["lines"] == [{0: 26, 47: 100}]
