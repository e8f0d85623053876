"""A cluster with a proxy: which groups are offline, and when."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest

from schemas import (
    ALLOCATIONS,
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
from tests.support.tables import cells, line, seconds
from tests.support.times import HOUR

#: Snapshots every 20 s; the last one holds until 640 s.
TIMES = range(0, 600, 20)
#: Queue 0 of each group's topic at a second: next to write, to consume, last timestamp. No client is connected, but the
#: one member of `dead` until 100 s.
GROUPS: dict[str, Callable[[int], tuple[int, int, int]]] = {
    # POP leaves the offset of the broker as it was before the first commit.
    "grpc": lambda second: (second, 0, 0),
    "remoting": lambda second: (1000 + second, 990 + second, 1),
    "stops": lambda second: (1000 + second, 990 + min(second, 300), 1),
    "quiet": lambda _: (1000, 1000, 1),
    "dead": lambda second: (1000 + second, 990 + min(second, 90), 1),
    # Offsets stand from 300 s on, and until the end a proxy lists two members.
    "listed": lambda second: (1000 + second, 990 + min(second, 300), 1),
}
EXPECTED = """
    grpc     | MEMBERS_UNSEEN   | INFO  | CONSUMED_THROUGH_PROXY | 0   | 640
    remoting | MEMBERS_UNSEEN   | INFO  | CONSUMED_THROUGH_PROXY | 0   | 640
    stops    | MEMBERS_UNSEEN   | INFO  | CONSUMED_THROUGH_PROXY | 0   | 300
    stops    | GROUP_OFFLINE    | ERROR | NO_MEMBERS             | 300 | 640
    stops    | UNASSIGNED_QUEUE | ERROR | GROUP_OFFLINE          | 300 | 640
    quiet    | MEMBERS_UNSEEN   | INFO  | CONSUMED_THROUGH_PROXY | 0   | 640
    dead     | GROUP_OFFLINE    | ERROR | NO_MEMBERS             | 100 | 640
    dead     | UNASSIGNED_QUEUE | ERROR | GROUP_OFFLINE          | 100 | 640
    listed   | MEMBERS_UNSEEN   | INFO  | CONSUMED_THROUGH_PROXY | 0   | 640
    listed   | CONSUMER_STOPPED | ERROR | NOT_CONSUMED            | 300 | 640
"""
Published = dict[Table, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def found() -> Published:
    rows: dict[Table, list[dict[str, Any]]] = defaultdict(list)
    for second in TIMES:
        proxy = membership(second, "proxy", group="CID_DefaultHeartBeatSyncerTopic", topics=["heartbeats"])
        rows[MEMBERSHIP_SNAPSHOTS].append(proxy | {"message_model": "BROADCASTING"})
        for group, sample in GROUPS.items():
            ids = ("c1",) if group == "dead" and second < 100 else ()
            rows[MEMBERSHIP_SNAPSHOTS].append(membership(second, *ids, group=group, topics=[group]))
            if group == "listed":
                members = membership(second, "c1", "c2", group=group, topics=[group])
                rows[MEMBERSHIP_SNAPSHOTS].append(members | {"broker_name": "proxy 10.0.0.1:8080"})
            queues = 2 if group == "quiet" and second >= 300 else 1
            rows[ROUTE_SNAPSHOTS].append(route(second, queues, topic=group))
            rows[OFFSET_SNAPSHOTS].append(offsets(second, sample(second), topic=group, group=group))
    return published(rows, HOUR)


def test_groups_are_offline_while_no_proxy_may_serve_them(found: Published) -> None:
    said = {
        line(row, "consumer_group", "rule", "severity", "cause", "started_at", "ended_at")
        for row in found[FINDINGS]
        if row["rule"] in ("MEMBERS_UNSEEN", "GROUP_OFFLINE", "UNASSIGNED_QUEUE") or row["severity"] != "INFO"
    }
    assert said == set(cells(EXPECTED))


def test_what_is_consumed_unseen_has_progress_and_no_owners(found: Published) -> None:
    intervals = [row for row in found[REBALANCE_INTERVALS] if row["consumer_group"] == "remoting"]
    first = intervals[0]
    assert (first["status"], first["reason"], first["member_count"]) == ("NOT_APPLICABLE", "CONSUMED_THROUGH_PROXY", 0)
    assert seconds(first["interval_start"]) == 0
    assert not [row for row in found[ALLOCATIONS] if row["consumer_group"] == "remoting"]
    (progress,) = (row for row in found[QUEUE_PROGRESS] if row["consumer_group"] == "remoting")
    names = ("produced", "consumed", "lag_last", "lag_quality", "verdict")
    assert [progress[name] for name in names] == [580, 580, 10, "MEASURED", "OK"]


def test_a_queue_more_is_another_interval_as_it_is_measured_too(found: Published) -> None:
    rows = [row for row in found[REBALANCE_INTERVALS] if row["consumer_group"] == "quiet"][:2]
    times = [(seconds(row["interval_start"]), seconds(row["interval_end"]), row["queue_count"]) for row in rows]
    assert times == [(0, 300, 1), (300, 640, 2)]
    progress = [row for row in found[QUEUE_PROGRESS] if row["consumer_group"] == "quiet"]
    assert [(row["queue_id"], seconds(row["interval_start"])) for row in progress] == [(0, 0), (0, 300), (1, 300)]


def test_what_a_group_has_to_do_is_known_and_by_whom_it_is_done_is_not(found: Published) -> None:
    (status,) = (row for row in found[GROUP_STATUS] if row["consumer_group"] == "remoting")
    names = ("worst_severity", "member_count", "queue_count", "backlog_end", "bottleneck", "more_members_help")
    assert [status[name] for name in names] == ["INFO", None, None, 10, "NO_BACKLOG", False]
    assert status["advice"] == "No: the members kept up, though the owners of the queues are not known."
    (growth,) = status["attribution"]
    assert (growth["growth"], growth["unassigned"]) == (0, 0)


def test_if_no_broker_lists_the_consumers_it_is_unknown_whether_more_members_help(found: Published) -> None:
    names = ("member_count", "bottleneck", "more_members_help")
    reported = {row["consumer_group"]: tuple(row[name] for name in names) for row in found[GROUP_STATUS]}
    assert {group: reported[group] for group in ("stops", "listed", "dead")} == {
        "stops": (None, "UNKNOWN_MEMBERS", None),
        "listed": (2, "UNKNOWN_MEMBERS", None),
        "dead": (0, "NO_MEMBERS", True),
    }


def test_a_backlog_that_no_offset_shows_is_unknown(found: Published) -> None:
    """600 messages came in, and whether they wait is unknown."""
    (status,) = (row for row in found[GROUP_STATUS] if row["consumer_group"] == "grpc")
    names = ("backlog_end", "unknown_queues", "bottleneck", "more_members_help")
    assert [status[name] for name in names] == [None, 1, "UNKNOWN_BACKLOG", None]
    assert status["advice"] == ("Unknown: the backlog of 1 queue is not known.")
