"""The sections of the report, each on a small history whose outcome is worked out by hand.

Times are seconds after 10:00; a step is an hour.
"""

from collections.abc import Iterable
from typing import Any

from spark_jobs.domain.model.intervals import Interval
from spark_jobs.show.fleet import STATUS_COLUMNS, fleet
from spark_jobs.show.rows import Row
from spark_jobs.show.spans import backlog, members, ownership, states
from tests.support import rows
from tests.support.times import HOUR, at

TWO_HOURS = Interval(at(0), at(7200))
UNREAD = (None,) * 5


def columns_of(found: Iterable[Row], *columns: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row[name] for name in columns) for row in found), key=repr)


def of_step(row: Row) -> dict[str, Any]:
    """The row with the key of its group and step."""
    begin = row["interval_start"]
    return {**row, "cluster": "c", "consumer_group": "g", "step_start": begin.replace(minute=0, second=0)}


def owned(begin: int, end: int, queue_id: int, *owners: str) -> Row:
    connections = [rows.member(owner, f"{owner}:1") for owner in owners]
    cause = None if owners else "CONFIG_HOLE"
    return of_step(rows.allocation(rows.interval(begin, end), f"b:{queue_id}", *connections, unassigned_cause=cause))


def progress(begin: int, end: int, queue_id: int, *numbers: int | None) -> Row:
    """Numbers: first, last and highest lag, produced, consumed."""
    names = ("lag_first", "lag_last", "lag_max", "produced", "consumed")
    named = dict(zip(names, numbers, strict=True))
    return of_step(rows.progress(rows.interval(begin, end), f"b:{queue_id}", **named))


def interval(begin: int, end: int, trigger: str | None, *addresses: str, **values: Any) -> dict[str, Any]:
    """One whose members, `a1` of the client `a`, own four queues, of which a rebalance moved two."""
    connections = [rows.member(address[0], address) for address in addresses]
    counts = {"distinct_members": len({address[0] for address in addresses}), "idle_members": 0}
    moved = (2, 2, 1) if trigger else (None,) * 3
    moves = dict(zip(("queues_moved", "queues_preserved", "minimum_moves"), moved, strict=True))
    change = {"trigger_type": trigger, "trigger_subject": None}
    return of_step(rows.interval(begin, end, *connections, of="b:4", **counts, **change, **moves, **values))


def unreplayed(begin: int, end: int, status: str = "UNOBSERVED", trigger: str | None = None, **values: Any) -> Row:
    counts = ("member_count", "distinct_members", "queue_count", "idle_members")
    unknown = ("members", *counts, "unassigned_queues", "double_owned_queues")
    return interval(begin, end, trigger, status=status, reason="NO_SNAPSHOTS") | dict.fromkeys(unknown) | values


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
        progress(100, 3600, 0, *UNREAD),
        progress(3600, 4000, 0, 1, 2, 2, 1, 1),
        progress(100, 3600, 1, 0, 30, 31, 30, 0),
    ]
    spans = [{**row, "owner": [owner["client_id"] for owner in row["owners"]]} for row in ownership(allocations, lags)]
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
    intervals = [
        interval(0, 100, None, "a1", "b1"),
        interval(100, 200, "MEMBER_JOINED", "a1", "a2", "b1"),
        interval(200, 300, "MEMBER_LEFT", "a2", "b1"),
        interval(0, 300, None, "b1", topic="other"),
        unreplayed(300, 400),
    ]
    spans = members(intervals)
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
    intervals = [
        interval(0, 1000, "FIRST_OBSERVATION", "a1"),
        interval(1000, 3600, "MEMBER_RESTARTED", "b1"),
        interval(3600, 5000, None, "b1"),
        unreplayed(5000, 6000),
        interval(6000, 7200, None, "b1"),
    ]
    merged = states(intervals)
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
    intervals = [
        unreplayed(0, 1000, "NOT_REPLAYABLE", member_count=1),
        unreplayed(1000, 2000, "NOT_REPLAYABLE", "MEMBER_JOINED", member_count=2),
        unreplayed(2000, 3600),
    ]
    expected = [(at(0), at(2000), "NOT_REPLAYABLE", None, None), (at(2000), at(3600), "UNOBSERVED", None, None)]
    assert columns_of(states(intervals), "start", "end", "status", "trigger_type", "member_count") == expected


def test_a_part_of_the_backlog_keeps_its_first_last_and_highest_lag_and_the_time_that_was_counted() -> None:
    """An hour has 240 parts of 15 s."""
    read = [
        progress(0, 5, 0, *UNREAD),
        progress(5, 8, 0, 3, 4, 8, 10, 9),
        progress(8, 12, 0, 4, 6, 6, 20, 18),
        progress(12, 15, 0, *UNREAD),
        progress(15, 3600, 0, 6, 1, 7, 100, 105),
    ]
    parts = backlog(read, HOUR)
    columns = ("start", "end", "lag_first", "lag_last", "lag_max", "produced", "consumed", "seconds")
    assert columns_of(parts, *columns) == sorted(
        [(at(0), at(15), 3, 6, 8, 30, 27, 7.0), (at(15), at(3600), 6, 1, 7, 100, 105, 3585.0)], key=repr
    )


def status(group: str, step: int = 0, **values: Any) -> dict[str, Any]:
    key = {"cluster": "c", "consumer_group": group, "step_start": at(step)}
    return dict.fromkeys(STATUS_COLUMNS) | key | {"bottleneck": "NO_BACKLOG", "advice": ""} | values


def finding(group: str, kind: str, subject: str, cause: str | None = None, **facts: Any) -> Row:
    """`kind`: its severity and rule."""
    severity, rule = kind.split()
    of = {"cluster": "c", "consumer_group": group, "rule": rule, "severity": severity, "subject": subject}
    return rows.finding(**of, cause=cause, **facts)


def test_the_fleet_lists_what_needs_attention_first() -> None:
    first = {"backlog_start": 1, "backlog_end": 2, "member_count": 3, "unassigned_queues": 0}
    second = {"backlog_start": 2, "backlog_end": 9, "member_count": 5, "unassigned_queues": 1}
    steps = [
        status("quiet", **first, advice="first", busiest_utilization=0.5, catches_up=True, catch_up_seconds=0.0),
        status("quiet", 3600, **second, bottleneck="LISTENER", advice="second", busiest_utilization=0.4)
        | {"catches_up": False, "retention_left_seconds": 60.0, "backlog_max": 9},
        *(status(group, backlog_max=most) for group, most in (("z", 70), ("y", 10), ("x", None), ("w", None))),
        status("y", 3600, backlog_max=1000),
    ]
    findings = [
        finding("quiet", "ERROR CLIENT_HUNG", "a", silenced_because="it is known"),
        finding("x", "INFO UNOBSERVED", "x"),
        finding("y", "ERROR CLIENT_HUNG", "a"),
        finding("y", "ERROR CLIENT_HUNG", "a"),  # lasts into the next step
        finding("z", "ERROR UNASSIGNED_QUEUE", "b:1", "MIXED_STRATEGIES", topic="t"),
        finding("z", "ERROR UNASSIGNED_QUEUE", "b:2", "MIXED_STRATEGIES", topic="t"),
        finding("z", "INFO UNASSIGNED_QUEUE", "b:2", "GROUP_OFFLINE", topic="t"),
        finding("z", "WARN IDLE_CONSUMER", "z"),
        finding("z", "ERROR CONSUMER_LAGGING", "z", root_finding_id="of UNASSIGNED_QUEUE"),
        finding("w", "ERROR UNASSIGNED_QUEUE", "b:1", "CONFIG_HOLE", topic="t"),
    ]
    found = fleet(steps, findings, {("c", "quiet"): {0: 1}})
    expected = [("z", 3, 70), ("y", 3, 1000), ("w", 3, None), ("x", 1, None), ("quiet", None, 9)]
    assert [(row["consumer_group"], row["rank"], row["backlog_max"]) for row in found] == expected
    rules = [(rule["rule"], rule["findings"]) for rule in found[0]["rules"]]
    assert rules == [("UNASSIGNED_QUEUE", 3), ("IDLE_CONSUMER", 1), ("CONSUMER_LAGGING", 1)]
    assert [(rule["rule"], rule["findings"]) for rule in found[1]["rules"]] == [("CLIENT_HUNG", 1)]
    assert [row["errors"] for row in found[:3]] == [3, 1, 1]
    last = found[-1]
    assert (last["backlog_start"], last["backlog_end"], last["member_count"], last["unassigned_queues"]) == (1, 9, 5, 1)
    assert [row["busiest"] for row in found] == [None] * 4 + [0.5]
    assert (last["catches_up"], last["catch_up_seconds"], last["retention_left_seconds"]) == (False, None, 60.0)
    assert (last["bottleneck"], last["advice"], last["rules"], last["line"]) == ("LISTENER", "second", None, {0: 1})
