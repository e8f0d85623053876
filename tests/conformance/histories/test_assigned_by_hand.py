"""Members that assign queues to themselves (`assign()`) and name no topic: their lag is known, their owners are not."""

from typing import Any

import pytest

from schemas import (
    FINDINGS,
    GROUP_STATUS,
    MEMBERSHIP_SNAPSHOTS,
    OFFSET_SNAPSHOTS,
    QUEUE_PROGRESS,
    REBALANCE_INTERVALS,
    ROUTE_SNAPSHOTS,
    Table,
)
from tests.support.kernel import published
from tests.support.snapshots import membership, offsets, route
from tests.support.times import HOUR, naive

#: Snapshots every 20 s; the last one holds until 1,240 s.
TIMES = range(0, 1200, 20)
Published = dict[Table, list[dict[str, Any]]]


def audited(stops: int, consume_type: str = "CONSUME_ACTIVELY") -> Published:
    """Ten messages a second come to each of three queues. Queue 0 is consumed, queue 1 until it `stops`, and the group
    never committed an offset of queue 2.
    """
    listed = [membership(at, "c1", topics=()) | {"consume_type": consume_type} for at in TIMES]
    read = [
        offsets(at, (1000 + 10 * at, 990 + 10 * at, 1), (1000 + 10 * at, 990 + 10 * min(at, stops), 1), (10 * at, 0, 0))
        for at in TIMES
    ]
    rows = {
        MEMBERSHIP_SNAPSHOTS: listed,
        ROUTE_SNAPSHOTS: [route(at, 3) for at in TIMES],
        OFFSET_SNAPSHOTS: read,
    }
    return published(rows, HOUR)


def test_a_queue_that_stops_is_an_error_and_one_without_an_offset_is_not_theirs() -> None:
    found = audited(stops=400)
    (interval,) = {(row["status"], row["reason"]) for row in found[REBALANCE_INTERVALS] if row["members"]}
    assert interval == ("NOT_APPLICABLE", "ASSIGNED_BY_HAND")
    lags = {row["queue_id"]: row["lag_last"] for row in found[QUEUE_PROGRESS]}
    # 10 wait at the last sample, and what came in 780 s.
    assert lags == {0: 10, 1: 10 + 7800}
    (stopped,) = (row for row in found[FINDINGS] if row["severity"] == "ERROR")
    assert (stopped["rule"], stopped["subject"], stopped["started_at"]) == ("CONSUMER_STOPPED", "b:1", naive(400))
    (status,) = found[GROUP_STATUS]
    assert (status["backlog_end"], status["more_members_help"]) == (7820, False)


def test_a_queue_that_is_consumed_is_well() -> None:
    found = audited(stops=9999)
    assert {row["severity"] for row in found[FINDINGS]} <= {"INFO"}
    assert found[GROUP_STATUS][0]["backlog_end"] == 20


@pytest.mark.parametrize(("stops", "consume_type"), [(-1000, "CONSUME_ACTIVELY"), (9999, "CONSUME_PASSIVELY")])
def test_what_does_not_advance_or_is_pushed_is_left_behind(stops: int, consume_type: str) -> None:
    """A push consumer that no longer subscribes to a topic does not consume it. Of the first, queue 0 advances."""
    found = audited(stops, consume_type)
    known = {row["queue_id"] for row in found[QUEUE_PROGRESS]}
    assert known == ({0} if consume_type == "CONSUME_ACTIVELY" else set())
