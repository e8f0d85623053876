"""Whether the queues of a group are shared unevenly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from spark_jobs.domain.strategies import CONFIG, CONSISTENT_HASH


class ImbalanceCause(StrEnum):
    """Why shares differ by more than one queue."""

    HASH_RING = "HASH_RING"
    CONFIGURED = "CONFIGURED"
    ROOMS = "ROOMS"
    REMAINDERS = "REMAINDERS"
    UNEQUAL_TRAFFIC = "UNEQUAL_TRAFFIC"


@dataclass(frozen=True)
class Traffic:
    """What one member had of a step: messages `consumed` from its queues and `produced` to them (None: unknown), the
    seconds it owned each of them, added up, and when it owned the first and the last (seconds of any clock).
    """

    client_id: str
    consumed: int | None
    produced: int | None
    queue_seconds: float
    start: float
    end: float

    @property
    def pace(self) -> float | None:
        """Messages a second that came into one of its queues."""
        return None if self.produced is None else self.produced / self.queue_seconds


def is_imbalanced(queues: Sequence[int]) -> bool:
    """Whether one member owns at least two queues more than another."""
    return bool(queues) and max(queues) - min(queues) > 1


def severity(cause: ImbalanceCause, queues: Sequence[int]) -> str:
    """WARN where the busiest member owns more than twice the queues of the least busy one and two more, else INFO.

    A hash ring is uneven by nature: INFO.
    """
    uneven = max(queues) > 2 * min(queues) + 2
    return "WARN" if uneven and cause != ImbalanceCause.HASH_RING else "INFO"


def topic_cause(strategy: str) -> ImbalanceCause:
    """Why the shares of one topic differ: the other strategies divide evenly what they divide."""
    if strategy == CONSISTENT_HASH:
        return ImbalanceCause.HASH_RING
    return ImbalanceCause.CONFIGURED if strategy == CONFIG else ImbalanceCause.ROOMS


def unequal_traffic(
    members: Sequence[Traffic], ratio: float, least_messages: int, max_gap: float
) -> tuple[Traffic, Traffic] | None:
    """The members that consumed most and least, if the traffic of their queues is far from equal; else None.

    Only members that owned queues from begin to end (± `max_gap`) and of which all is known are compared: traffic
    changes over time. The one has consumed `ratio` times as much as the other, and not because it owned more queues,
    or worked off what had piled up, or the other was slow: as many times as much came into each of its queues, and at
    least so many messages over the time.
    """
    start, end = min((m.start for m in members), default=0.0), max((m.end for m in members), default=0.0)
    all_along = [m for m in members if m.start <= start + max_gap and m.end >= end - max_gap]
    known = [m for m in all_along if m.consumed is not None and m.produced is not None]
    if not known:
        return None
    in_order = sorted(known, key=lambda m: (m.consumed or 0, m.client_id))
    least, most = in_order[0], in_order[-1]
    far_more = (most.consumed or 0) >= max((least.consumed or 0) * ratio, 1)
    hotter = (most.pace or 0) >= (least.pace or 0) * ratio
    enough = (most.pace or 0) * (end - start) >= least_messages
    return (most, least) if far_more and hotter and enough else None
