"""What made a backlog grow: every message of the growth is given to exactly one part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Part(StrEnum):
    """Where growth comes from; the first that applies, in this order."""

    UNASSIGNED = "unassigned"
    STUCK_OWNER = "stuck_owner"
    HAND_OVER = "hand_over"
    PRODUCER_SURGE = "producer_surge"
    RESIDUAL = "residual"


#: Verdicts (`verdicts.Verdict`) that say an owner does not do its work.
STUCK = frozenset({"STOP", "STALL", "WARN"})


@dataclass(frozen=True)
class QueueGrowth:
    """One queue in one rebalance interval: how its lag grew between readings, in messages (negative: it shrank).

    `owners`: connections; `moved`: it had another owner until the interval began; `produced` in `seconds` and
    `rate_before`, messages a second in the step's look-back: None is unknown.
    """

    growth: int
    owners: int
    verdict: str | None
    moved: bool
    produced: int | None
    seconds: float
    rate_before: float | None


def attribute(queues: Iterable[QueueGrowth]) -> Counter[Part]:
    """Messages of growth per part; they add up to the growth of all queues."""
    parts: Counter[Part] = Counter()
    for queue in queues:
        if (part := _whole(queue)) is not None:
            parts[part] += queue.growth
        else:
            surge = _surge(queue)
            parts[Part.PRODUCER_SURGE] += surge
            parts[Part.RESIDUAL] += queue.growth - surge
    return parts


def _whole(queue: QueueGrowth) -> Part | None:
    """The part that has all of a queue's growth."""
    if queue.owners == 0:
        return Part.UNASSIGNED
    if queue.verdict in STUCK:
        return Part.STUCK_OWNER
    return Part.HAND_OVER if queue.moved else None


def _surge(queue: QueueGrowth) -> int:
    """What came in above the pace of before, as far as the queue grew."""
    if queue.rate_before is None or queue.produced is None:
        return 0
    above = queue.produced - round(queue.rate_before * queue.seconds)
    return max(0, min(queue.growth, above))
