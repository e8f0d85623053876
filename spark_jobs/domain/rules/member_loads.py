"""How many queues each member owns, over all its topics, at every moment, and what it had to consume in a step;
IDLE_CONSUMER: a member that owns no queue of any topic but retry topics.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from spark_jobs.domain.kernel.audited_step import ALL_HOSTS, AuditedStep, IntervalProgress, RebalanceInterval
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.history import UNKNOWN
from spark_jobs.domain.model.severities import WARN
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.rocketmq.strategies import AVG, AVG_BY_CIRCLE
from spark_jobs.domain.rules.rule import Cause, Rule


class MemberLoad(NamedTuple):
    """One client id in a time `[start, end)` (microseconds) of one load: member of `topics`, of which `even_topics` use
    AVG or AVG_BY_CIRCLE, owner of `queues`. `member_count` with `id_count` distinct ids, and `queue_count`, are those
    of the topic whose interval began last, of several the greatest.
    """

    client_id: str
    start: int
    end: int
    topics: int
    even_topics: int
    queues: int
    member_count: int
    id_count: int
    queue_count: int


#: Of what begins: members, different client ids, queues; (0, 0, 0): something ends.
_Sizes = tuple[int, int, int]
#: At a moment: topics, even topics and queues that begin (less than 0: end), and of how many.
_Change = tuple[int, int, int, int, _Sizes]


def agreed_intervals(step: AuditedStep) -> list[RebalanceInterval]:
    """The replayed intervals of ordinary topics in which all brokers list the same members: owners are known."""
    return [interval for interval in step.replayed if interval.view == ALL_HOSTS and interval.is_ordinary]


def subscribed_loads(interval: RebalanceInterval) -> Iterator[tuple[int, str]]:
    """(number of queues, client id) of each connection that subscribes to the topic, in allocation order."""
    if interval.allocation is not None and interval.members:
        for member, queues in zip(interval.members, interval.allocation.queues_per_member, strict=True):
            if member.subscribes:
                yield queues, member.client_id


def member_loads(agreed: Iterable[RebalanceInterval]) -> Iterator[MemberLoad]:
    """One per (client id, time of one load) of `agreed_intervals`: a sweep, linear in intervals × members."""
    changes: dict[str, list[_Change]] = defaultdict(list)
    for interval in agreed:
        members = interval.members or ()
        sizes = (len(members), len({member.client_id for member in members}), len(interval.queues or ()))
        even = int(all(member.strategy in (AVG, AVG_BY_CIRCLE) for member in members))
        queues_of_id: dict[str, int] = defaultdict(int)
        for queues, client_id in subscribed_loads(interval):
            queues_of_id[client_id] += queues
        for client_id, queues in queues_of_id.items():
            begin = (interval.start, 1, even, queues, sizes)
            changes[client_id] += (begin, (interval.end, -1, -even, -queues, (0, 0, 0)))
    for client_id, client_changes in changes.items():
        yield from _client_loads(client_id, client_changes)


def _client_loads(client_id: str, changes: list[_Change]) -> Iterator[MemberLoad]:
    since, topics, even_topics, queues = min(changes)[0], 0, 0, 0
    sizes = (0, 0, 0)
    for at, together in groupby(sorted(changes), key=lambda change: change[0]):
        if topics > 0:
            yield MemberLoad(client_id, since, at, topics, even_topics, queues, *sizes)
        since, begun = at, []
        for _, more_topics, more_even, more_queues, of_topic in together:
            topics, even_topics, queues = topics + more_topics, even_topics + more_even, queues + more_queues
            begun.append(of_topic)
        if any(map(any, begun)):
            members, ids, readable = (max(each) for each in zip(*begun, strict=True))
            sizes = members, ids, readable


@dataclass(slots=True)
class MemberTraffic:
    """Traffic of one client id in a step: messages `consumed` from its queues and `produced` to them (None: unknown),
    `queue_micros`, the microseconds that it owned each of them, added up, and when it owned the first and the last.
    """

    client_id: str
    consumed: int | None
    produced: int | None
    queue_micros: int
    start: int
    end: int

    @property
    def pace(self) -> float | None:
        """Messages a second produced to one of its queues, on average."""
        return None if self.produced is None else self.produced / (self.queue_micros / SECOND)


def member_traffic(progress: Iterable[IntervalProgress]) -> list[MemberTraffic]:
    """One per client id that owned an ordinary queue by all brokers; of shared queues, who consumed is unknown."""
    traffic_of_id: dict[str, MemberTraffic] = {}
    for row in progress:
        allocation = row.interval.allocation
        if allocation is None or row.interval.view != ALL_HOSTS or not row.interval.is_ordinary:
            continue
        for client_id in allocation.queues_of_client:
            member = traffic_of_id.setdefault(client_id, MemberTraffic(client_id, 0, 0, 0, row.start, row.end))
            member.start, member.end = min(member.start, row.start), max(member.end, row.end)
        queues = zip(allocation.owners, allocation.owner_ids, row.consumed.tolist(), row.produced.tolist(), strict=True)
        for owners, ids, consumed, produced in queues:
            for client_id in ids:
                member = traffic_of_id[client_id]
                member.consumed = _sum(member.consumed, consumed if len(owners) == 1 else UNKNOWN)
                member.produced = _sum(member.produced, produced)
                member.queue_micros += row.end - row.start
    return list(traffic_of_id.values())


def _sum(total: int | None, messages: int) -> int | None:
    """None, unknown, if one of both is."""
    return None if total is None or messages == UNKNOWN else total + messages


MORE_MEMBERS_THAN_QUEUES = "MORE_MEMBERS_THAN_QUEUES"
PUSHED_OUT_BY_DUPLICATES = "PUSHED_OUT_BY_DUPLICATES"
LEFT_OUT_BY_STRATEGY = "LEFT_OUT_BY_STRATEGY"


def _idle_hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (client id, span in which it was a member and owned nothing); one condition per client id and cause."""
    agreed = agreed_intervals(step)
    # Who is idle in all topics is so in one.
    if not any(interval.allocation and 0 in interval.allocation.queues_per_member for interval in agreed):
        return
    for load in member_loads(agreed):
        if load.queues == 0:
            yield RuleHit(
                *(load.start, load.end, _cause(load)),
                client_id=load.client_id,
                implicated=load.client_id,
                member_count=load.member_count,
                queue_count=load.queue_count,
            )


def _cause(load: MemberLoad) -> str:
    """Connections that share an id are one consumer too many in the list, not in the group."""
    if load.id_count > load.queue_count:
        return MORE_MEMBERS_THAN_QUEUES
    return PUSHED_OUT_BY_DUPLICATES if load.member_count > load.queue_count else LEFT_OUT_BY_STRATEGY


IDLE_CONSUMER = Rule(
    name="IDLE_CONSUMER",
    headline="{subjects} of {groups} {subjects:owns|own} no queue",
    meaning="A member owns no queue of its topics, except of retry topics. WARN: nothing breaks.",
    decided_by="The replay shows it for `persistent_after_seconds`.",
    causes={
        MORE_MEMBERS_THAN_QUEUES: Cause(
            "more client ids than queues",
            "More members than queues consume no more. If they stand by for one that fails, nothing is wrong: silence "
            "this. Otherwise stop the surplus consumers, or add queues, unless the topic has one queue for its order.",
        ),
        PUSHED_OUT_BY_DUPLICATES: Cause(
            "more connections than queues, but not more client ids",
            "Connections that share a client id leave no queue for this member. Give every consumer its own client id.",
        ),
        LEFT_OUT_BY_STRATEGY: Cause(
            "enough queues",
            "With CONSISTENT_HASH, raise virtualNodeCnt; otherwise check the rooms and the configured queue lists.",
        ),
    },
    evaluate=_idle_hits,
    hit_severity=WARN,
    lasts="persistent_after_seconds",
)
