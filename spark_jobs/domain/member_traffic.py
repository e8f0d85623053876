"""What each member of a group had to consume in a step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from spark_jobs.domain.audited_step import ALL_HOSTS, IntervalProgress
from spark_jobs.domain.history import UNKNOWN
from spark_jobs.domain.window import SECOND


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
