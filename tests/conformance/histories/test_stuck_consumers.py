"""Consumers that get stuck in the middle of an hour, evaluated hour by hour; expected by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from schemas import (
    FINDINGS,
    GROUP_STATUS,
    MEMBERSHIP_SNAPSHOTS,
    OFFSET_SNAPSHOTS,
    QUEUE_PROGRESS,
    ROUTE_SNAPSHOTS,
    Table,
)
from spark_jobs.domain.model.intervals import Interval
from tests.support.kernel import published
from tests.support.snapshots import by_table, membership, offsets, route
from tests.support.tables import cells, line, seconds
from tests.support.times import at

TWO_HOURS = Interval(at(0), at(7200))
TIMES = range(0, 7200, 20)


def stands(since: int, until: int) -> Callable[[int], int]:
    """What is consumed up to a second: a message a second, but none for this time; then all is caught up."""
    return lambda second: since if since <= second < until else second


def slow(since: int, until: int) -> Callable[[int], int]:
    """Half of what comes is consumed."""
    return lambda second: since + (second - since) // 2 if since <= second < until else second


#: What each group's queue 0 does, a message a second coming in; its queue 1 is caught up.
QUEUE_0: dict[str, Callable[[int], int]] = {
    "healthy": lambda second: second,
    "four minutes": stands(300, 540),
    "deadlock": stands(300, 5400),
    "deadlock, and a rebalance": stands(300, 5400),
    "slow": slow(600, 2420),
    "at the hour": stands(3400, 3900),
}
#: The lag is allowed up to 32 messages, and a window has 300 s. From 3240 s on, the second hour's step sees snapshots.
#: A rebalance that leaves the queue its owner changes nothing.
EXPECTED = """
    deadlock                  | CONSUMER_STOPPED | NO_COMMITS     | 300  | 3600
    deadlock                  | CONSUMER_STALLED | NO_PROGRESS    | 3600 | 5400
    deadlock, and a rebalance | CONSUMER_STOPPED | NO_COMMITS     | 300  | 3600
    deadlock, and a rebalance | CONSUMER_STALLED | NO_PROGRESS    | 3600 | 5400
    slow                      | CONSUMER_LAGGING | FALLING_BEHIND | 660  | 2420
    at the hour               | CONSUMER_STOPPED | NO_COMMITS     | 3600 | 3900
"""


def snapshots() -> Iterator[tuple[Table, dict[str, Any]]]:
    for group, consumed in QUEUE_0.items():
        for second in TIMES:
            members = ("c1", "c2") if "rebalance" in group and second >= 1200 else ("c1",)
            yield MEMBERSHIP_SNAPSHOTS, membership(second, *members, group=group, topics=(group,))
            yield ROUTE_SNAPSHOTS, route(second, 2, topic=group)
            samples = (1000 + second, 1000 + consumed(second), 1), (1000 + second, 1000 + second, 1)
            yield OFFSET_SNAPSHOTS, offsets(second, *samples, topic=group, group=group)


@pytest.fixture(scope="module")
def tables() -> dict[Table, list[dict[str, Any]]]:
    return published(by_table(snapshots()), TWO_HOURS)


def test_each_is_found_since_it_began(tables: dict[Table, list[dict[str, Any]]]) -> None:
    found = sorted(
        line(row, "consumer_group", "rule", "cause", "started_at", "ended_at")
        for row in tables[FINDINGS]
        if row["rule"].startswith("CONSUMER_")
    )
    assert found == sorted(cells(EXPECTED))


def test_an_interval_has_the_verdict_of_its_worst_window(tables: dict[Table, list[dict[str, Any]]]) -> None:
    found: dict[str, dict[int, str]] = {}
    for row in tables[QUEUE_PROGRESS]:
        if row["queue_id"] == 0:
            found.setdefault(row["consumer_group"], {})[seconds(row["interval_start"])] = row["verdict"]
    assert found == {
        "healthy": {0: "OK", 3600: "OK"},
        "four minutes": {0: "OK", 3600: "OK"},
        "deadlock": {0: "STOP", 3600: "STALL"},
        "deadlock, and a rebalance": {0: "STOP", 1200: "STOP", 3600: "STALL"},
        "slow": {0: "WARN", 3600: "OK"},
        # 180 s before the hour's last sample it had nothing left to do.
        "at the hour": {0: "OK", 3600: "STOP"},
    }


def test_a_stuck_owner_has_what_grew_while_it_was_stuck(tables: dict[Table, list[dict[str, Any]]]) -> None:
    """Between samples inside the step; what was caught up afterwards is left, and not the owner's."""
    names = ("growth", "stuck_owner", "residual")
    grown = {
        (row["consumer_group"], seconds(row["step_start"])): tuple(growth[name] for name in names)
        for row in tables[GROUP_STATUS]
        for growth in row["attribution"]
    }
    # 3580 − 300; from 3300 at the first sample to nothing at the last, and 1780 more until 5380 s.
    assert (grown["deadlock", 0], grown["deadlock", 3600]) == ((3280, 3280, 0), (-3300, 1780, -5080))
    # 900 messages at 2400 s are done by the end of the step: a queue that has not grown has no parts.
    assert grown["slow", 0] == (0, 0, 0)
    # 200 at its first sample, 480 at 3880 s.
    assert grown["at the hour", 3600] == (-200, 280, -480)
