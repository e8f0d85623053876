"""The rules that need the clients' own word, on one hand-written hour of many small groups, each on its own topic.

Two members `c1`, `c2` share 4 queues by AVG (0 1 and 2 3), and everything is looked at every 20 s from 0 to 600 s. Each
group differs from a healthy one as its line says; what nothing is said of is as in a healthy group.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from schemas import CLIENT_SNAPSHOTS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, Table
from tests.histories.audited import Audited
from tests.snapshots import DAY, at, membership, offsets, route

CLUSTER = "clients"
TIMES = range(0, 620, 20)
AVERAGELY = "org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely"
RULES = {"CLIENT_HUNG", "ALLOCATION_DRIFT", "FLOW_CONTROLLED", "ORDERLY_LOCK_MISSING", "SLOW_LISTENER"}
#: By the number of connections and queues: what each member owns.
SHARES = {
    (1, 4): {"c1": [0, 1, 2, 3]},
    (2, 4): {"c1": [0, 1], "c2": [2, 3]},
    (2, 8): {"c1": [0, 1, 2, 3], "c2": [4, 5, 6, 7]},
    (4, 4): {"c1": [0], "c2": [2]},
}


@dataclass(frozen=True)
class Group:
    """What `c1` says at the times from `first` to `last`, both included, if not the same as always."""

    first: int = 0
    last: int = -1
    answered: bool = True
    owned: list[int] | None = None
    queue: dict[str, Any] = field(default_factory=dict)
    said: dict[str, Any] = field(default_factory=dict)
    #: `c2` is a member from then on, and until then; the topic has 8 queues from then on.
    joins: int = 0
    leaves: int = 9999
    grows: int = 9999
    #: Both members are there twice; of each, one answers.
    twins: bool = False
    #: What `c1` says at all other times, and in the looks from 260 s before the hour.
    usual: dict[str, Any] = field(default_factory=dict)
    #: When nobody was asked.
    gap: tuple[int, ...] = ()
    #: Whether more is known of the group than what its clients say.
    recorded: bool = True


BUSY = {"consume_status": [("t", 400.0, 2.5, 0.0, 1.0, 2.0)], "consume_threads": 1}
FAST, SLOW = (
    {"consume_status": [("t", rt, 9.0, 0.0, 50.0, 9.0), ("u", 1.0, 9.0, 0.0, 50.0, 9.0)]} for rt in (20.0, 200.0)
)
FULL = {"cached_count": 1001}
STALE_PULL = {"last_pull": int(DAY.timestamp() * 1000) + 90_000}

GROUPS = {
    "healthy": Group(),
    "silent": Group(100, 300, answered=False),
    "silent-60": Group(100, 140, answered=False),
    "silent-40": Group(100, 120, answered=False),
    "silent-once": Group(100, 100, answered=False, gap=(120, 140, 160)),
    "no-pull": Group(200, 220, queue=STALE_PULL),
    "more": Group(200, 280, owned=[0, 1, 2]),
    "less": Group(200, 280, owned=[0]),
    "dropped-once": Group(200, 200, owned=[]),
    "joined": Group(200, 220, owned=[0, 1, 2, 3], joins=200),
    "joined-late": Group(200, 260, owned=[0, 1, 2, 3], joins=200),
    "grown": Group(200, 240, owned=[0, 1], grows=200),
    "grown-late": Group(200, 300, owned=[0, 1], grows=200),
    "left": Group(leaves=200),
    "twins": Group(twins=True),
    "unlocked": Group(200, 220, queue={"locked": False}, said={"consume_orderly": True}),
    "unlocked-once": Group(200, 200, queue={"locked": False}, said={"consume_orderly": True}),
    "full": Group(200, 260, queue=FULL),
    "full-once": Group(200, 200, queue=FULL),
    "full-unlisted": Group(200, 260, queue=FULL, recorded=False),
    "busy": Group(200, 300, said=BUSY),
    "busy-100": Group(200, 280, said=BUSY),
    "slower": Group(200, 300, said=SLOW, usual=FAST),
    "slower-100": Group(200, 280, said=SLOW, usual=FAST),
    "slower-since": Group(-80, 40, said=SLOW, usual=FAST),
    "slower-long-since": Group(-140, 300, said=SLOW, usual=FAST),
    "never-fast": Group(0, 300, said=SLOW),
    "unsaid": Group(0, 600, said={"owned_queues": None, "consume_status": None, "consume_threads": None}),
}

SLOWER = {"consume_rt_ms": 200, "pull_rt_ms": 50, "usual_consume_rt_ms": 20, "usual_pull_rt_ms": 50}

#: What must be found, all of it: group, rule, cause, first and last second, queues.
EXPECTED = """
silent      CLIENT_HUNG          NO_ANSWER        100 320 0,1
silent-60   CLIENT_HUNG          NO_ANSWER        100 160 0,1
no-pull     CLIENT_HUNG          NO_PULL          220 240 0,1
more        ALLOCATION_DRIFT     HOLDS_MORE       200 280 2
less        ALLOCATION_DRIFT     HOLDS_LESS       200 280 1
joined-late ALLOCATION_DRIFT     HOLDS_MORE       220 260 2,3
grown-late  ALLOCATION_DRIFT     HOLDS_LESS       250 300 2,3
unlocked    ORDERLY_LOCK_MISSING NOT_LOCKED       200 240 0,1
full        FLOW_CONTROLLED      CACHED_MESSAGES  200 280 0,1
full-unlisted FLOW_CONTROLLED    CACHED_MESSAGES  200 280 0,1
busy        SLOW_LISTENER        ALL_THREADS_BUSY 200 320 -
slower      SLOW_LISTENER        RESPONSE_TIME_ROSE 200 320 -
slower-since SLOW_LISTENER       RESPONSE_TIME_ROSE 0 60 -
"""


def snapshots() -> Iterator[tuple[Table, dict[str, Any]]]:
    """All groups, each on a topic of its name."""
    for name, group in GROUPS.items():
        yield from _of_group(name, group)


def _of_group(name: str, group: Group) -> Iterator[tuple[Table, dict[str, Any]]]:
    for second in TIMES:
        queues = 8 if second >= group.grows else 4
        members = ["c1", "c2"] if group.joins <= second < group.leaves else ["c1"]
        listed = [*members, *members] if group.twins else members
        if group.recorded:
            yield MEMBERSHIP_SNAPSHOTS, membership(second, *listed, group=name, topics=(name,))
            yield ROUTE_SNAPSHOTS, route(second, queues, topic=name)
            readings = [(100 + second, 100 + second, 1)] * queues
            yield OFFSET_SNAPSHOTS, offsets(second + 1, *readings, topic=name, group=name)
        if second not in group.gap:
            for client_id in members:
                share = SHARES[len(listed), queues][client_id]
                yield CLIENT_SNAPSHOTS, look(name, group, second, client_id, share)
    for second in range(-260, 0, 20) if group.usual else ():
        yield CLIENT_SNAPSHOTS, look(name, group, second, "c1", SHARES[2, 4]["c1"])


def look(name: str, group: Group, second: int, client_id: str, share: list[int]) -> dict[str, Any]:
    differs = client_id == "c1" and group.first <= second <= group.last
    owned = group.owned if differs and group.owned is not None else share
    said = {
        "strategy_class": AVERAGELY,
        "message_model": "CLUSTERING",
        "consume_orderly": False,
        "client_rebalance": True,
        "owned_queues": [held(name, queue_id, second, group.queue if differs else {}) for queue_id in owned],
        "consume_status": [],
        "consume_threads": 20,
    } | (group.said if differs else group.usual if client_id == "c1" else {})
    answered = group.answered or not differs
    key = {"cluster": "c", "consumer_group": name, "client_id": client_id, "captured_at": at(second)}
    return dict.fromkeys(CLIENT_SNAPSHOTS.columns) | (said if answered else {}) | key | {"answered": answered}


def held(topic: str, queue_id: int, second: int, said: dict[str, Any]) -> dict[str, Any]:
    """A process queue in health: pulled 10 s ago, nothing cached."""
    last = int(at(second).timestamp() * 1000) - 10_000
    healthy = {"locked": True, "dropped": False, "cached_count": 0, "cached_mib": 0, "cached_min_offset": 0}
    offsets_ = {"cached_max_offset": 0, "commit_offset": 0, "last_pull": last, "last_consume": last}
    return {"topic": topic, "broker_name": "b", "queue_id": queue_id} | healthy | offsets_ | said


def test_each_rule_fires_where_it_must_and_nowhere_else(audited: Audited) -> None:
    found = set()
    for row in audited.findings[CLUSTER]:
        if row["rule"] in RULES:
            seconds = (int((row[name] - DAY.replace(tzinfo=None)).total_seconds()) for name in ("start", "end"))
            queues = ",".join(str(queue["queue_id"]) for queue in row["evidence"]["queues"]) or "-"
            found.add((row["consumer_group"], row["rule"], row["cause"], *map(str, seconds), queues))
            assert row["evidence"]["client_ids"] == ["c1"], row
    assert found == {tuple(line.split()) for line in EXPECTED.strip().splitlines()}


def test_messages_make_it_an_error_and_throttling_is_a_warning(audited: Audited) -> None:
    severities = {row["rule"]: row["severity"] for row in audited.findings[CLUSTER] if row["rule"] in RULES}
    assert severities == {
        "CLIENT_HUNG": "ERROR",
        "ALLOCATION_DRIFT": "ERROR",
        "ORDERLY_LOCK_MISSING": "ERROR",
        "FLOW_CONTROLLED": "WARN",
        "SLOW_LISTENER": "WARN",
    }


def test_the_measures_are_those_of_the_worst_moment(audited: Audited) -> None:
    measures = {
        row["consumer_group"]: {one["name"]: one["value"] for one in row["evidence"]["measures"]}
        for row in audited.findings[CLUSTER]
        if row["rule"] in ("FLOW_CONTROLLED", "SLOW_LISTENER")
    }
    assert measures == {
        "full": {"cached_count": 1001, "cached_mib": 0, "cached_span": 0},
        "full-unlisted": {"cached_count": 1001, "cached_mib": 0, "cached_span": 0},
        "busy": {"busy_threads": 1, "consume_threads": 1, "consume_rt_ms": 400, "pull_rt_ms": 1},
        "slower": SLOWER,
        "slower-since": SLOWER,
    }
