"""Whether the queues of a group are shared unevenly."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from spark_jobs.domain.strategies import CONFIG, CONSISTENT_HASH


class ImbalanceCause(StrEnum):
    """Why shares differ by more than one queue."""

    HASH_RING = "HASH_RING"
    CONFIGURED = "CONFIGURED"
    ROOMS = "ROOMS"
    REMAINDERS = "REMAINDERS"


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
