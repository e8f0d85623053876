"""Would more consumers have helped? Hand-written groups of ten minutes, each on 4 queues of a topic of its own.

A backlog comes from 100 to 400 s (`until`), 3 messages a second in each of its queues, and is worked off at 9 a second:
at the end of the step nothing is left of it. 5 messages a second (`incoming`) come into every queue all the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from schemas import CLIENT_SNAPSHOTS, GROUP_STATUS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, Table
from tests.support.kernel import published
from tests.support.snapshots import by_table, client, membership, offsets, route
from tests.support.times import HOUR

TIMES = range(0, 620, 20)
KEPT_UP, ONE_UNKNOWN = "No: 2 members kept up with 4 queues.", "Unknown: the backlog of 1 queue is not known."
YES = "Yes, at least 2 more consumers, up to 4 in all"
#: Somebody consumes 2 messages a second of a queue that nobody owns, or a member 2 a second and then 14: no model with
#: one pace per member comes to that.
UNEXPLAINED = (
    " How large the backlog would have been otherwise is unknown: the simulation does not reproduce the recorded "
    "backlog either."
)
BUSY = {"consume_status": [("t", 400.0, 2.5, 0.0, 1.0, 2.0)], "consume_threads": 1}


@dataclass(frozen=True)
class Group:
    """`usual` members, and `meanwhile` others from 100 s to 400 s or `until` then; queues with the backlog, and queues
    that nobody ever commits; messages a second that come into every queue; what client `c1` says meanwhile, and which
    topics `c2` says it subscribes.
    """

    usual: str = "c1 c2"
    meanwhile: str | None = None
    until: int = 400
    behind: Sequence[int] = ()
    uncommitted: Sequence[int] = ()
    retry_messages: int | None = None
    idle: bool = False
    incoming: int = 5
    c1_said: dict[str, Any] | None = None
    c2_topics: Sequence[str] | None = None


GROUPS = {
    "healthy": (Group(), "NO_BACKLOG", KEPT_UP),
    # Samples until 381 s belong to the twins, and the next one shows the most: 900 in each of the queues 2 and 3.
    "twins": (
        Group(meanwhile="c1 c1", behind=(2, 3)),
        "DUPLICATE_IDS",
        "No: consumers shared a client id, and the backlog reached 1,800 messages in 2 queues. Give every consumer its "
        f"own.{UNEXPLAINED}",
    ),
    # An old connection of c1 is seen for 120 s: that ends by itself. 360 messages wait in each of its queues then.
    "stale": (Group(meanwhile="c1 c1", until=220, behind=(2, 3)), "NO_BACKLOG", KEPT_UP),
    # Each of two members took 12 a second of each of its two queues then: one more serves the four queues' 12 alone.
    "offline": (
        Group(meanwhile="", behind=range(4), incoming=3),
        "NO_MEMBERS",
        "Yes, any consumer: none was connected, and the backlog reached 3,600 messages in 4 queues. With 1 member the"
        " highest backlog would have been about 0 instead of 3,600.",
    ),
    # The same, but of 5 messages a second somebody consumes 2.
    "unseen": (
        Group(meanwhile="", behind=range(4)),
        "UNKNOWN_MEMBERS",
        "Unknown: no broker lists the members, and the backlog reached 3,600 messages in 4 queues.",
    ),
    "few": (
        Group(behind=range(4)),
        "MEMBERS",
        f"{YES}: 2 members shared 4 queues, and the backlog reached 3,600 messages in 4 queues.{UNEXPLAINED}",
    ),
    "one each": (
        Group("c1 c2 c3 c4", behind=range(4)),
        "QUEUES",
        "Only after queues are added: 4 members shared 4 queues, and the backlog reached 3,600 messages in 4 queues."
        f"{UNEXPLAINED}",
    ),
    "slow": (
        Group(behind=(0, 1), c1_said=BUSY),
        "LISTENER",
        f"{YES}, if what the listener calls (a database, for example) can handle it: the listener was the limit, 2 "
        "members shared 4 queues, and the backlog reached 1,800 messages in 2 queues. The slow member has 1 consume "
        f"thread.{UNEXPLAINED}",
    ),
    # c1 is as slow as above, but it is c2's queues that are behind.
    "slow peer": (
        Group(behind=(2, 3), c1_said=BUSY),
        "MEMBERS",
        f"{YES}: 2 members shared 4 queues, and the backlog reached 1,800 messages in 2 queues.{UNEXPLAINED}",
    ),
    "stuck": (
        Group(behind=(0, 1), c1_said={"answered": False}),
        "STUCK_CONSUMER",
        "No: a consumer was stuck while it owned queues, and the backlog reached 1,800 messages in 2 queues. "
        "Take a thread dump of it, and restart it.",
    ),
    # 600 s of 5 a second in each of the queues that would be c2's.
    "split": (
        Group(uncommitted=(2, 3), c2_topics=["else"]),
        "SUBSCRIPTIONS",
        "No: members did not subscribe to the same topics, and the backlog reached at least 6,000 messages in 2 "
        "queues. Make all of them subscribe to the same topics. The backlog of 2 queues is unknown.",
    ),
    "never committed": (Group(uncommitted=[3], idle=True), "UNKNOWN_BACKLOG", ONE_UNKNOWN),
    # Nothing came into the retry topic, and so nobody committed there.
    "no retries": (Group(retry_messages=0), "NO_BACKLOG", KEPT_UP),
    "retries": (Group(retry_messages=1), "UNKNOWN_BACKLOG", ONE_UNKNOWN),
}


def waiting(second: int, until: int) -> int:
    """The backlog of one queue."""
    return max(0, min(3 * (second - 100), 3 * (until - 100) - 9 * (second - until)))


def snapshots(name: str, group: Group) -> Iterator[tuple[Table, dict[str, Any]]]:
    retry = f"%RETRY%{name}"
    for second in TIMES:
        is_meanwhile = 100 <= second < group.until
        listed = (group.meanwhile if group.meanwhile is not None and is_meanwhile else group.usual).split()
        retries = group.retry_messages
        yield (
            MEMBERSHIP_SNAPSHOTS,
            membership(second, *listed, group=name, topics=[name] if retries is None else [name, retry]),
        )
        yield ROUTE_SNAPSHOTS, route(second, 4, topic=name)
        end = 10_000 + (0 if group.idle else group.incoming * second)
        samples = [(end, end - (waiting(second, group.until) if queue in group.behind else 0), 1) for queue in range(4)]
        for queue in group.uncommitted:
            samples[queue] = (end, 0, 0)
        yield OFFSET_SNAPSHOTS, offsets(second + 1, *samples, topic=name, group=name)
        if retries is not None:
            yield ROUTE_SNAPSHOTS, route(second, 1, topic=retry)
            came = (retries if second >= 300 else 0, 0, 0)
            yield OFFSET_SNAPSHOTS, offsets(second + 1, came, topic=retry, group=name)
        for client_id in ("c1", "c2"):
            said: dict[str, Any] = {}
            if client_id == "c1" and group.c1_said and is_meanwhile:
                said |= group.c1_said
            if client_id == "c2" and group.c2_topics:
                said["subscriptions"] = [(topic, "TAG", "*", 1) for topic in group.c2_topics]
            if group.c1_said or group.c2_topics:
                yield CLIENT_SNAPSHOTS, client(second, client_id, group=name) | said


@pytest.fixture(scope="module")
def status() -> dict[str, dict[str, Any]]:
    """By group."""
    rows = by_table(row for name, (group, _, _) in GROUPS.items() for row in snapshots(name, group))
    return {row["consumer_group"]: row for row in published(rows, HOUR)[GROUP_STATUS]}


@pytest.mark.parametrize("name", GROUPS)
def test_what_limited_the_group_while_its_backlog_grew(status: dict[str, dict[str, Any]], name: str) -> None:
    _, limit, advice = GROUPS[name]
    assert (status[name]["bottleneck"], status[name]["advice"]) == (limit, advice)


def test_whether_more_members_help_is_null_only_where_it_is_unknown(status: dict[str, dict[str, Any]]) -> None:
    told = {name: status[name]["more_members_help"] for name in GROUPS}
    helps = dict.fromkeys(("NO_MEMBERS", "MEMBERS", "LISTENER"), True)
    expected = helps | dict.fromkeys(("UNKNOWN_BACKLOG", "UNKNOWN_MEMBERS"))
    assert told == {name: expected.get(limit, False) for name, (_, limit, _) in GROUPS.items()}
