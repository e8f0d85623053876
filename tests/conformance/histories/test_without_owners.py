"""Groups whose queues have unknown owners: what waits is known all the same. Ten minutes, two queues each."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from schemas import (
    ALLOCATIONS,
    CLIENT_SNAPSHOTS,
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
from tests.support.snapshots import client, membership, offsets, route
from tests.support.times import HOUR, naive

#: Snapshots every 20 s; the last one holds until 640 s.
TIMES = range(0, 600, 20)
#: Next to write, to consume, last timestamp, at a second.
Queue = Callable[[int], tuple[int, int, int]]
POP, OWN = {"client_rebalance": False}, {"strategy_class": "com.example.Mine"}
MACHINE_ROOM = {"strategy_class": "org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueByMachineRoom"}


def in_time(second: int) -> tuple[int, int, int]:
    return 1000 + second, 990 + second, 1


def stuck(second: int) -> tuple[int, int, int]:
    """100 messages wait, and 1 a second more."""
    return 1100 + second, 1000, 1


def never(second: int) -> tuple[int, int, int]:
    return 1000 + second, 0, 0


def back(second: int) -> tuple[int, int, int]:
    """At 300 s 200 messages are to be consumed again."""
    return 1000 + second, (990 if second < 300 else 790) + second, 1


@dataclass(frozen=True)
class Group:
    """Two queues; the members until 280 s and from then on, what client `c1` says of itself, and whether they subscribe
    the topic.
    """

    first: Queue
    second: Queue
    said: dict[str, Any] | None = None
    members: str = "c1 c2"
    then: str | None = None
    model: str = "CLUSTERING"
    subscribed: bool = True


GROUPS = {
    "pop": Group(in_time, stuck, POP),
    "pop in time": Group(in_time, in_time, POP),
    "pop uncommitted": Group(in_time, never, POP),
    "grpc": Group(in_time, stuck, members="host@1@2@3abc"),
    "own strategy": Group(in_time, stuck, OWN),
    "rooms unknown": Group(in_time, in_time, MACHINE_ROOM),
    "rooms unknown, stuck": Group(in_time, stuck, MACHINE_ROOM),
    "broadcasts": Group(in_time, stuck, model="BROADCASTING"),
    "left behind": Group(in_time, stuck, subscribed=False),
    "duplicates": Group(in_time, back, OWN, members="c1 c1"),
    "pop duplicates": Group(in_time, back, POP, members="c1 c1"),
    "rebalanced": Group(in_time, back, OWN, then="c1 c2 c3"),
}
#: Per queue: produced, consumed, lag at the end, how it is known, verdict.
IN_TIME, STUCK = (580, 580, 10, "MEASURED", "OK"), (580, 0, 680, "MEASURED", "STALL")
UNCOMMITTED = (580, None, None, "NEVER_COMMITTED", None)
EXPECTED = {
    "pop": ("NOT_APPLICABLE", "BROKER_REBALANCE", [IN_TIME, STUCK]),
    "pop in time": ("NOT_APPLICABLE", "BROKER_REBALANCE", [IN_TIME, IN_TIME]),
    "pop uncommitted": ("NOT_APPLICABLE", "BROKER_REBALANCE", [IN_TIME, UNCOMMITTED]),
    "grpc": ("NOT_APPLICABLE", "BROKER_REBALANCE", [IN_TIME, STUCK]),
    "own strategy": ("NOT_REPLAYABLE", "UNKNOWN_STRATEGY", [IN_TIME, STUCK]),
    "rooms unknown": ("NOT_REPLAYABLE", "SETTINGS_MISSING", [IN_TIME, IN_TIME]),
    "rooms unknown, stuck": ("NOT_REPLAYABLE", "SETTINGS_MISSING", [IN_TIME, STUCK]),
    "broadcasts": ("NOT_APPLICABLE", "BROADCASTING", []),
    "left behind": ("NOT_APPLICABLE", "NOT_SUBSCRIBED", []),
}
KEPT_UP = "No: the members kept up, though the owners of the queues are not known."
BACKLOG_GREW = "Unknown: the owners of the queues are not known, and the backlog reached 680 messages in 1 queue."
CAPACITY = {
    "pop": ("UNKNOWN_OWNERS", BACKLOG_GREW),
    "pop in time": ("NO_BACKLOG", KEPT_UP),
    "pop uncommitted": ("UNKNOWN_BACKLOG", "Unknown: the backlog of 1 queue is not known."),
    "grpc": ("UNKNOWN_OWNERS", BACKLOG_GREW),
    "own strategy": ("UNKNOWN_OWNERS", BACKLOG_GREW),
    "rooms unknown": ("NO_BACKLOG", KEPT_UP),
    "rooms unknown, stuck": ("UNKNOWN_OWNERS", BACKLOG_GREW),
    "broadcasts": ("BROADCASTS", "No: the group broadcasts, so every consumer gets every message."),
}
Published = dict[Table, dict[str, list[dict[str, Any]]]]


@pytest.fixture(scope="module")
def found() -> Published:
    """The rows of each table, by group."""
    rows: dict[Table, list[dict[str, Any]]] = defaultdict(list)
    for second in TIMES:
        for name, group in GROUPS.items():
            ids = (group.then if group.then and second >= 280 else group.members).split()
            listed = membership(second, *ids, group=name, topics=[name] if group.subscribed else []) | {
                "message_model": group.model
            }
            rows[MEMBERSHIP_SNAPSHOTS].append(listed)
            rows[ROUTE_SNAPSHOTS].append(route(second, 2, topic=name))
            samples = group.first(second), group.second(second)
            rows[OFFSET_SNAPSHOTS].append(offsets(second, *samples, topic=name, group=name))
            if group.said:
                rows[CLIENT_SNAPSHOTS].append(client(second, group=name, **group.said))
    reported = published(rows, HOUR)
    return {
        table: {name: [row for row in every if row["consumer_group"] == name] for name in GROUPS}
        for table, every in reported.items()
        if "consumer_group" in table.columns
    }


@pytest.mark.parametrize("name", EXPECTED)
def test_a_group_without_owners_has_its_progress(found: Published, name: str) -> None:
    """Silence from 640 s on is unobserved, and has none."""
    first = found[REBALANCE_INTERVALS][name][0]
    assert not found[ALLOCATIONS][name]
    names = ("produced", "consumed", "lag_last", "lag_quality", "verdict")
    progress = [tuple(row[name] for name in names) for row in found[QUEUE_PROGRESS][name]]
    assert (first["status"], first["reason"], progress) == EXPECTED[name]


@pytest.mark.parametrize("name", ["pop", "grpc", "own strategy"])
def test_a_stuck_queue_is_found_and_no_owner_is_named(found: Published, name: str) -> None:
    (finding,) = (row for row in found[FINDINGS][name] if row["severity"] != "INFO")
    assert (finding["rule"], finding["severity"], finding["subject"]) == ("CONSUMER_STALLED", "ERROR", "b:1")
    assert (finding["started_at"], finding["ended_at"]) == (naive(0), naive(640))
    assert (finding["evidence"]["client_ids"], finding["evidence"]["backlog_end"]) == ([], 680)


def test_no_client_is_blamed_if_a_setting_is_missing(found: Published) -> None:
    """The queue may be outside the rooms: one line says what to configure."""
    rows = found[FINDINGS]["rooms unknown, stuck"]
    reported = {(row["rule"], row["severity"], row["cause"], row["subject"]): row for row in rows}
    unknown = reported["STRATEGY_UNKNOWN", "INFO", "ROOMS_MISSING", "rooms unknown, stuck"]
    stuck = reported["CONSUMER_STALLED", "WARN", "OWNERS_UNKNOWN", "b:1"]
    assert stuck["root_finding_id"] == unknown["finding_id"]
    assert "`rooms`" in unknown["advice"]
    assert "owner:" not in stuck["advice"]
    assert [row["rule"] for row in rows if row["severity"] != "INFO"] == ["CONSUMER_STALLED"]


@pytest.mark.parametrize("name", ["pop in time", "pop uncommitted", "rooms unknown", "broadcasts", "left behind"])
def test_if_no_message_is_known_to_wait_nothing_is_found(found: Published, name: str) -> None:
    assert not [row for row in found[FINDINGS][name] if row["severity"] != "INFO"]


@pytest.mark.parametrize("name", CAPACITY)
def test_the_bottleneck_is_known_as_far_as_the_owners_matter(found: Published, name: str) -> None:
    (status,) = found[GROUP_STATUS][name]
    assert (status["bottleneck"], status["advice"]) == CAPACITY[name]
    assert (status["member_count"], status["unassigned_queues"]) == (1 if name == "grpc" else 2, None)


def test_what_a_stuck_queue_adds_is_its_unknown_owners_and_not_unassigned_ones(found: Published) -> None:
    (status,) = found[GROUP_STATUS]["pop"]
    assert (status["backlog_start"], status["backlog_end"], status["unknown_queues"]) == (110, 690, 0)
    (growth,) = status["attribution"]
    assert (growth["growth"], growth["unassigned"], growth["stuck_owner"]) == (580, 0, 580)


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("duplicates", "DUPLICATE_CLIENT_ID"),  # one of them has the queue
        ("pop duplicates", "RESET"),  # the broker commits for all
        ("rebalanced", "HAND_OVER"),  # 20 s after a member came
    ],
)
def test_why_an_offset_went_back(found: Published, name: str, cause: str) -> None:
    (finding,) = (row for row in found[FINDINGS][name] if row["rule"] == "OFFSET_REWOUND")
    assert (finding["cause"], finding["evidence"]["client_ids"]) == (cause, [])


def test_a_new_member_begins_an_interval_even_if_its_queues_are_unknown(found: Published) -> None:
    rows = found[REBALANCE_INTERVALS]["rebalanced"][:2]
    assert [(row["member_count"], row["interval_start"]) for row in rows] == [(2, naive(0)), (3, naive(280))]
