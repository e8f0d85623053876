"""One hand-written hour of many small groups, each on its own topic, for the rules about what clients say.

Two members `c1`, `c2` share 4 queues by AVG (0 1 and 2 3), and everything is recorded every 20 s from 0 to 600 s. Each
group differs from a healthy one as its line says; what nothing is said of is as in a healthy group.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from schemas import CLIENT_SNAPSHOTS
from spark_jobs.domain.kernel.audited_step import AuditedStep, RebalanceInterval
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.intervals import EPOCH
from spark_jobs.domain.rules.rule import Rule
from tests.support.client_steps import replayed, step_with
from tests.support.kernel import group_histories
from tests.support.snapshots import client
from tests.support.times import at

TIMES = range(0, 620, 20)
AVERAGELY = "org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely"
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
    #: What `c1` says at all other times, and in the snapshots from 260 s before the hour.
    usual: dict[str, Any] = field(default_factory=dict)
    #: When nobody was asked.
    gap: tuple[int, ...] = ()
    #: Whether more is known of the group than what its clients say.
    recorded: bool = True

    def cids(self, second: int) -> list[str]:
        """The client ids connected then."""
        members = ["c1", "c2"] if self.joins <= second < self.leaves else ["c1"]
        return members * 2 if self.twins else members

    def queues(self, second: int) -> int:
        """So many queues has the topic then."""
        return 8 if second >= self.grows else 4

    def shares(self, second: int) -> dict[str, list[int]]:
        """The queues of each member then."""
        return SHARES[len(self.cids(second)), self.queues(second)]


def measured(topic: str, rt: float, well: float, failed: float, pull_rt: float, pulled: float) -> dict[str, Any]:
    """A client's measure of one topic."""
    rates = {"consume_ok_tps": well, "consume_failed_tps": failed, "pull_tps": pulled}
    return {"topic": topic, "consume_rt_ms": rt, "pull_rt_ms": pull_rt} | rates


BUSY = {"consume_status": [measured("t", 400.0, 2.5, 0.0, 1.0, 2.0)], "consume_threads": 1}
SHARED, EVENLY = (
    {"consume_status": [measured("t", 400.0, 2.0, 0.0, 1.0, 2.0), measured("u", rt, 2.0, 0.0, 1.0, 2.0)]}
    for rt in (100.0, 106.0)
)
FAST, SLOW = (
    {"consume_status": [measured("t", rt, 9.0, 0.0, 50.0, 9.0), measured("u", 1.0, 9.0, 0.0, 50.0, 9.0)]}
    for rt in (20.0, 200.0)
)
FULL = {"cached_count": 1001}
#: It has no consumer of the group.
GONE = dict.fromkeys(("strategy_class", "message_model", "consume_orderly", "client_rebalance", "consume_threads"))
GONE |= {"owned_queues": None, "consume_status": None, "in_group": False}
STALE_PULL = {"last_pull": int((at(0) - EPOCH).total_seconds()) * 1000 + 90_000}

GROUPS = {
    "healthy": Group(),
    "silent": Group(100, 300, answered=False),
    "silent-60": Group(100, 140, answered=False),
    "silent-40": Group(100, 120, answered=False),
    "silent-once": Group(100, 100, answered=False, gap=(120, 140, 160)),
    "ghost": Group(100, 300, said=GONE),
    "ghost-60": Group(100, 140, said=GONE),
    "ghost-40": Group(100, 120, said=GONE),
    "ghost-once": Group(100, 100, said=GONE, gap=(120, 140, 160)),
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
    "full": Group(200, 320, queue=FULL),
    "full-for-a-minute": Group(200, 260, queue=FULL),
    "full-unlisted": Group(200, 320, queue=FULL, recorded=False),
    "busy": Group(200, 300, said=BUSY),
    "busy-100": Group(200, 280, said=BUSY),
    "busy-shared": Group(200, 300, said=SHARED | {"consume_threads": 1}),
    "busy-evenly": Group(200, 300, said=EVENLY | {"consume_threads": 1}),
    "slower": Group(200, 300, said=SLOW, usual=FAST),
    "slower-100": Group(200, 280, said=SLOW, usual=FAST),
    "slower-since": Group(-80, 40, said=SLOW, usual=FAST),
    "slower-long-since": Group(-140, 300, said=SLOW, usual=FAST),
    "never-fast": Group(0, 300, said=SLOW),
    "unsaid": Group(0, 600, said={"owned_queues": None, "consume_status": None, "consume_threads": None}),
}


def hits_of(rule: Rule, name: str) -> list[RuleHit]:
    """The hits of a rule in one group."""
    return list(rule.hits(audited(name)))


def audited(name: str) -> AuditedStep:
    """The hour of one group."""
    group = GROUPS[name]
    (history,) = group_histories({CLIENT_SNAPSHOTS: list(client_snapshots(name, group))})
    return step_with(history, _intervals(name, group) if group.recorded else [])


def _intervals(name: str, group: Group) -> list[RebalanceInterval]:
    """A snapshot holds for 60 s, so the last interval ends at 660 s."""
    cuts = sorted({0, *(cut for cut in (group.joins, group.leaves, group.grows) if cut < 600), 660})
    return [
        replayed(name, start, end, group.shares(start), group.queues(start), twins=group.twins)
        for start, end in pairwise(cuts)
    ]


def client_snapshots(name: str, group: Group) -> Iterator[dict[str, Any]]:
    """What its clients said, in the hour and before."""
    for second in TIMES:
        if second not in group.gap:
            for client_id in dict.fromkeys(group.cids(second)):
                yield _snapshot(name, group, second, client_id, group.shares(second)[client_id])
    for second in range(-260, 0, 20) if group.usual else ():
        yield _snapshot(name, group, second, "c1", SHARES[2, 4]["c1"])


def _snapshot(name: str, group: Group, second: int, client_id: str, share: Sequence[int]) -> dict[str, Any]:
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
    return client(second, client_id, group=name, **(said if answered else {})) | {"answered": answered}


def held(topic: str, queue_id: int, second: int, said: dict[str, Any]) -> dict[str, Any]:
    """A process queue in health: pulled 10 s ago, nothing cached."""
    last = int((at(second) - EPOCH).total_seconds()) * 1000 - 10_000
    healthy = {"locked": True, "dropped": False, "cached_count": 0, "cached_mib": 0, "cached_min_offset": 0}
    numbers = {"cached_max_offset": 0, "commit_offset": 0, "last_pull": last, "last_consume": last}
    return {"topic": topic, "broker_name": "b", "queue_id": queue_id} | healthy | numbers | said
