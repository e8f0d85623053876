"""How many queues each member owns, over all its topics, at every moment, and what it had to consume in a step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from spark_jobs.domain.kernel.audited_step import ALL_HOSTS, IntervalProgress, RebalanceInterval
from spark_jobs.domain.model.history import UNKNOWN
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.rocketmq.strategies import AVG, AVG_BY_CIRCLE


class MemberLoad(NamedTuple):
    """One client id in a span `[start, end)`, in microseconds, in which none of its shares began or ended.

    `topics` it is a member for, `even_topics` of them that are shared by AVG or AVG_BY_CIRCLE, `queues` it owns of
    all. `member_count` and `queue_count` are those of the topic whose interval began last, of several the greatest.
    """

    client_id: str
    start: int
    end: int
    topics: int
    even_topics: int
    queues: int
    member_count: int
    queue_count: int


#: At a moment: topics, even topics and queues that begin (less than 0: end); member and queue count of what begins.
_Change = tuple[int, int, int, int, int, int]


def agreed_intervals(intervals: Iterable[RebalanceInterval]) -> list[RebalanceInterval]:
    """The replayed intervals of ordinary topics. Views that disagree are left out: for as long as they do, nobody can
    say who is idle.
    """
    return [
        interval
        for interval in intervals
        if interval.allocation is not None and interval.view == ALL_HOSTS and interval.is_ordinary
    ]


def subscribed_loads(interval: RebalanceInterval) -> Iterator[tuple[int, str]]:
    """Queues and client id of each connection that subscribes the topic, in allocation order."""
    if interval.allocation is not None and interval.members:
        for member, queues in zip(interval.members, interval.allocation.queues_per_member, strict=True):
            if member.subscribes:
                yield queues, member.client_id


def member_loads(agreed: Iterable[RebalanceInterval]) -> Iterator[MemberLoad]:
    """One per (client id, span of one load), of `agreed_intervals`.

    A sweep over starts and ends of "is a member for a topic": linear in intervals × members, whatever number of
    topics the group has.
    """
    changes: dict[str, list[_Change]] = defaultdict(list)
    for interval in agreed:
        members, queue_count = interval.members or (), len(interval.queues or ())
        even = int(all(member.strategy in (AVG, AVG_BY_CIRCLE) for member in members))
        for client_id, queues in _queues_of_ids(interval).items():
            begin = (interval.start, 1, even, queues, len(members), queue_count)
            changes[client_id] += (begin, (interval.end, -1, -even, -queues, 0, 0))
    for client_id, of_client in changes.items():
        yield from _swept(client_id, of_client)


def _queues_of_ids(interval: RebalanceInterval) -> dict[str, int]:
    """Twins own the same queues several times."""
    found: dict[str, int] = defaultdict(int)
    for queues, client_id in subscribed_loads(interval):
        found[client_id] += queues
    return found


def _swept(client_id: str, changes: list[_Change]) -> Iterator[MemberLoad]:
    changes.sort()
    since = changes[0][0]
    topics = even_topics = queues = member_count = queue_count = 0
    is_first = True
    for at, more_topics, more_even, more_queues, members, readable in changes:
        if at > since:
            if topics > 0:
                yield MemberLoad(client_id, since, at, topics, even_topics, queues, member_count, queue_count)
            since, is_first = at, True
        topics, even_topics, queues = topics + more_topics, even_topics + more_even, queues + more_queues
        if members:
            member_count = members if is_first else max(member_count, members)
            queue_count = readable if is_first else max(queue_count, readable)
            is_first = False


@dataclass(slots=True)
class MemberTraffic:
    """What one client id had of a step: messages `consumed` from its queues and `produced` to them (None: unknown),
    the microseconds it owned each of them, added up, and when it owned the first and the last.
    """

    client_id: str
    consumed: int | None
    produced: int | None
    queue_micros: int
    start: int
    end: int

    @property
    def pace(self) -> float | None:
        """Messages a second that came into one of its queues."""
        return None if self.produced is None else self.produced / (self.queue_micros / SECOND)


def member_traffic(progress: Iterable[IntervalProgress]) -> list[MemberTraffic]:
    """One per client id that owned a queue of an ordinary topic while all hosts listed the same members.

    Who consumed how much of a queue with several owners nobody knows, so that is unknown for each of them.
    """
    found: dict[str, MemberTraffic] = {}
    for one in progress:
        allocation = one.interval.allocation
        if allocation is None or one.interval.view != ALL_HOSTS or not one.interval.is_ordinary:
            continue
        consumed, produced = one.consumed.tolist(), one.produced.tolist()
        for owners, ids, taken, came in zip(allocation.owners, allocation.owner_ids, consumed, produced, strict=True):
            for client_id in ids:
                member = found.get(client_id)
                if member is None:
                    member = found[client_id] = MemberTraffic(client_id, 0, 0, 0, one.start, one.end)
                member.consumed = _sum(member.consumed, taken if len(owners) == 1 else UNKNOWN)
                member.produced = _sum(member.produced, came)
                member.queue_micros += one.end - one.start
                member.start, member.end = min(member.start, one.start), max(member.end, one.end)
    return list(found.values())


def _sum(so_far: int | None, messages: int) -> int | None:
    """What is unknown of one queue is unknown of all."""
    return None if so_far is None or messages == UNKNOWN else so_far + messages
