"""Topics that are no ordinary ones, and subscriptions that leave messages out. Hand-written groups, each on 4 queues of
a topic of its own.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from schemas import (
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
from tests.support.snapshots import by_table, client, membership, offsets, route
from tests.support.tables import cells, line
from tests.support.times import HOUR

TIMES = range(0, 620, 20)
Published = Mapping[Table, Sequence[Mapping[str, Any]]]
TAGS, SQL, ALL = ("TAG", "EU || US"), ("SQL92", "price > 3"), ("TAG", "*")


@dataclass(frozen=True)
class Group:
    """`queues`: what each does: `.` caught up, `+` consumed with a backlog, `!` standing still with one, `/` that from
    200 s on, `:` and `*` caught up until 100 s, then `!` and `+`, `_` caught up in one sample of
    `+`, `?` never committed.
    """

    queues: str
    message_type: str | None = None
    is_static: bool = False
    pops: bool = True
    subscription: tuple[str | None, str | None] = ALL
    message_model: str = "CLUSTERING"


GROUPS = {
    "starved": Group("!..+", "PRIORITY"),
    "starved-at-last": Group("/.+.", "PRIORITY"),
    "starved-later": Group(":..*", "PRIORITY"),
    "all-stand-still": Group("!!!!", "PRIORITY"),
    "nothing-waits-above": Group("!...", "PRIORITY"),
    "once-nothing-waited": Group("!.._", "PRIORITY"),
    "highest": Group("+++!", "PRIORITY"),
    "owned": Group("!..+", "PRIORITY", pops=False),
    "ordinary": Group("!..+", "NORMAL"),
    "not-recorded": Group("!..+"),
    "in-order": Group("!..+", "FIFO"),
    "in-order-none": Group("!!!!", "FIFO"),
    "in-order-owned": Group("!..+", "FIFO", pops=False),
    "lite": Group("!!??", "LITE"),
    "lite-group": Group("!!??", pops=False, message_model="LITE_SELECTIVE"),
    "static": Group("!!!!", is_static=True, pops=False),
    "tags": Group("+.!?", pops=False, subscription=TAGS),
    "sql": Group("....", pops=False, subscription=SQL),
    "all-by-null": Group("....", pops=False, subscription=(None, None)),
}
#: A message that is never acknowledged looks the same, unless all that the broker gives comes from above.
STANDING = """
    starved             | CONSUMER_STALLED | INFO  | PRIORITY_STARVATION | b:0   | 0
    starved-at-last     | CONSUMER_STOPPED | INFO  | PRIORITY_STARVATION | b:0   | 200
    starved-later       | CONSUMER_STOPPED | INFO  | PRIORITY_STARVATION | b:0   | 100
    all-stand-still     | CONSUMER_STALLED | ERROR | NOT_CONSUMED        | b:0-3 | 0
    nothing-waits-above | CONSUMER_STALLED | ERROR | NOT_CONSUMED        | b:0   | 0
    once-nothing-waited | CONSUMER_STALLED | ERROR | NOT_CONSUMED        | b:0   | 0
    highest             | CONSUMER_STALLED | ERROR | NOT_CONSUMED        | b:3   | 0
    owned               | CONSUMER_STALLED | ERROR | UNEXPLAINED         | b:0   | 0
    ordinary            | CONSUMER_STALLED | ERROR | NOT_CONSUMED        | b:0   | 0
    not-recorded        | CONSUMER_STALLED | ERROR | NOT_CONSUMED        | b:0   | 0
    in-order            | CONSUMER_STALLED | ERROR | NOT_ACKNOWLEDGED    | b:0   | 0
    in-order-none       | CONSUMER_STALLED | ERROR | NOT_CONSUMED        | b:0-3 | 0
    in-order-owned      | CONSUMER_STALLED | ERROR | UNEXPLAINED         | b:0   | 0
    tags                | CONSUMER_STALLED | ERROR | UNEXPLAINED         | b:2   | 0
"""
REASONS = {
    "starved": {("NOT_APPLICABLE", "POP_ALL_QUEUES")},
    "owned": {("REPLAYED", None)},
    "lite": {("NOT_APPLICABLE", "LITE")},
    "lite-group": {("NOT_APPLICABLE", "LITE")},
    "static": {("NOT_REPLAYABLE", "STATIC_TOPIC")},
}


def sample(kind: str, second: int) -> tuple[int, int, int]:
    """Broker offset, consumer offset, and when the last message was stored."""
    end = 10_000 + 9 * second
    return {
        ".": (end, end, 1),
        "+": (end, end - 50, 1),
        "_": (end, end - 50 * (second != 300), 1),
        "!": (end, 9_900, 1),
        "/": (end, 9_990 + 9 * min(second, 200), 1),
        "?": (end, 0, 0),
        ":": (end, 10_000 + 9 * min(second, 100), 1),
        "*": (end, end - 50 * (second > 100), 1),
    }[kind]


def snapshots(name: str, group: Group) -> Iterator[tuple[Table, dict[str, Any]]]:
    subscription = dict(zip(("expression_type", "sub_string"), group.subscription, strict=True))
    subscriptions = [{"topic": name, **subscription, "sub_version": 1}]
    modes = [(name, "POP", 0)] if group.pops else []
    for second in TIMES:
        reported = {"subscriptions": subscriptions, "request_modes": modes, "message_model": group.message_model}
        yield MEMBERSHIP_SNAPSHOTS, membership(second, "c1", group=name, topics=[name]) | reported
        yield ROUTE_SNAPSHOTS, route(second, 4, name, message_type=group.message_type) | {"is_static": group.is_static}
        samples = [sample(kind, second) for kind in group.queues]
        yield OFFSET_SNAPSHOTS, offsets(second, *samples, topic=name, group=name)
        yield CLIENT_SNAPSHOTS, client(second, group=name, client_rebalance=not group.pops)


@pytest.fixture(scope="module")
def found() -> Published:
    return published(by_table(row for name, group in GROUPS.items() for row in snapshots(name, group)), HOUR)


def test_a_queue_that_higher_priorities_keep_waiting_is_no_error(found: Published) -> None:
    found_rows = {
        line(row, "consumer_group", "rule", "severity", "cause", "subject", "started_at")
        for row in found[FINDINGS]
        if row["rule"] in ("CONSUMER_STALLED", "CONSUMER_STOPPED")
    }
    assert found_rows == set(cells(STANDING))


@pytest.mark.parametrize("name", REASONS)
def test_what_no_strategy_divides_is_not_replayed(found: Published, name: str) -> None:
    rows = [row for row in found[REBALANCE_INTERVALS] if row["topic"] == name and row["status"] != "UNOBSERVED"]
    assert {(row["status"], row["reason"]) for row in rows} == REASONS[name]


@pytest.mark.parametrize("name", ["lite", "lite-group", "static"])
def test_whose_offsets_are_kept_elsewhere_is_neither_measured_nor_alarmed_for(found: Published, name: str) -> None:
    assert [row for row in found[QUEUE_PROGRESS] if row["topic"] == name] == []
    assert {row["rule"] for row in found[FINDINGS] if row["consumer_group"] == name} == {"UNOBSERVED"}


def qualities(found: Published, name: str) -> dict[int, str]:
    rows = [row for row in found[QUEUE_PROGRESS] if row["topic"] == name]
    return {row["queue_id"]: row["lag_quality"] for row in rows}


def test_a_lag_with_messages_that_the_subscription_leaves_out_is_said_to_be_one(found: Published) -> None:
    unfiltered = "UNFILTERED"
    assert qualities(found, "tags") == {0: unfiltered, 1: unfiltered, 2: unfiltered, 3: "NEVER_COMMITTED"}
    assert set(qualities(found, "sql").values()) == {unfiltered}
    assert set(qualities(found, "all-by-null").values()) == set(qualities(found, "owned").values()) == {"MEASURED"}
    status = {row["consumer_group"]: row["lag_quality"] for row in found[GROUP_STATUS]}
    assert [status[name] for name in ("tags", "sql", "all-by-null", "lite")] == [unfiltered] * 2 + ["MEASURED", None]
