"""What the progress of a queue says beyond its verdict: offsets that went back, skewed production, messages about to
be deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum


class RewindCause(StrEnum):
    """Why a consumer offset went back; the first that applies, in this order."""

    TWINS = "TWINS"
    HAND_OVER = "HAND_OVER"
    RESET = "RESET"


class RetentionCause(StrEnum):
    """What becomes of messages that are not consumed yet."""

    LOST = "LOST"
    EXPIRING = "EXPIRING"


def rewind_cause(
    rewound: int | None, tolerance: int, *, owned_by_twins: bool, seconds_to_rebalance: float, settled_after: float
) -> RewindCause | None:
    """Why an offset went back by so many messages at most; None where it did not, or by no more than the tolerance.

    Twins overwrite each other's commits. A consumer that lost a queue without knowing it (frozen, cut off) commits
    what it had when it comes back, which shows around a rebalance. What is left is a reset by an operator.
    """
    if rewound is None or rewound <= tolerance:
        return None
    if owned_by_twins:
        return RewindCause.TWINS
    return RewindCause.HAND_OVER if seconds_to_rebalance <= settled_after else RewindCause.RESET


def skew(produced: Sequence[tuple[str, int | None]], least_mean: int) -> float | None:
    """Production of the busiest queue ÷ the mean; None where the mean is too small to say.

    `produced`: (broker, messages, None: unknown) per queue. Brokers that got no message are not counted: nobody may
    be able to write to them, which is no choice of queues.
    """
    written = {broker for broker, messages in produced if messages}
    counted = [messages for broker, messages in produced if broker in written and messages is not None]
    if not counted or sum(counted) < least_mean * len(counted):
        return None
    return max(counted) * len(counted) / sum(counted)


def retention_cause(
    consumed_to: int | None,
    min_offset: int | None,
    consumed_per_second: float | None,
    deleted_per_second: float | None,
    within_seconds: float,
) -> RetentionCause | None:
    """Whether a queue with a backlog lost messages, or will within the time at these rates; None: no, or unknown.

    `min_offset`: the oldest message that the broker still has.
    """
    if consumed_to is None or min_offset is None:
        return None
    if consumed_to < min_offset:
        return RetentionCause.LOST
    if consumed_per_second is None or deleted_per_second is None or deleted_per_second <= consumed_per_second:
        return None
    seconds_left = (consumed_to - min_offset) / (deleted_per_second - consumed_per_second)
    return RetentionCause.EXPIRING if seconds_left <= within_seconds else None
