"""What is wrong with one client, by what it says of itself (its running info).

Null (`None`) is unknown, and nothing is decided by it. Times in milliseconds unless named otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import NamedTuple

from spark_jobs.domain.message_queue import MessageQueue


class HungCause(StrEnum):
    """How it shows that a client hangs."""

    NO_ANSWER = "NO_ANSWER"
    NO_PULL = "NO_PULL"


class DriftCause(StrEnum):
    """In which way a client's queues are not its share."""

    HOLDS_MORE = "HOLDS_MORE"
    HOLDS_LESS = "HOLDS_LESS"


class ThrottleCause(StrEnum):
    """Which limit a client has reached, in the order in which it looks at them."""

    CACHED_MESSAGES = "CACHED_MESSAGES"
    CACHED_SIZE = "CACHED_SIZE"
    CACHED_SPAN = "CACHED_SPAN"


class CacheLimits(NamedTuple):
    """What a client may hold of one queue: messages, MiB, and offsets between the oldest and the newest."""

    messages: int = 1000
    mib: int = 100
    span: int = 2000


@dataclass(frozen=True)
class HeldQueue:
    """A process queue: what a client holds of a queue it owns."""

    locked: bool | None = None
    dropped: bool | None = None
    cached_count: int | None = None
    cached_mib: int | None = None
    cached_span: int | None = None
    last_pull: int | None = None


class Status(NamedTuple):
    """A client's own measure of one topic over its last minute: milliseconds, messages per second."""

    consume_rt_ms: float | None
    consume_ok_tps: float | None
    consume_failed_tps: float | None
    pull_tps: float | None


class ResponseTimes(NamedTuple):
    """A client's own measure of one topic over its last minute: milliseconds; messages per second, well or not."""

    consume_rt_ms: float | None
    pull_rt_ms: float | None
    consumed_tps: float | None


def is_stale(queue: HeldQueue, seen_at: int, idle_seconds: int) -> bool:
    """Whether the client stopped pulling a queue: even an idle one is asked for every 15 s (long polling).

    `last_pull` 0 is "never", which says nothing. Source: ProcessQueue.isPullExpired.
    """
    if queue.dropped or not queue.last_pull:
        return False
    return seen_at - queue.last_pull > idle_seconds * 1000


def throttle_cause(queue: HeldQueue, limits: CacheLimits, *, orderly: bool | None) -> ThrottleCause | None:
    """Why the client pulls no more of the queue for now; None: it does, or nobody knows.

    The span counts for concurrent consumers only. Source: DefaultMQPushConsumerImpl.pullMessage.
    """
    if queue.dropped:
        return None
    if queue.cached_count is not None and queue.cached_count > limits.messages:
        return ThrottleCause.CACHED_MESSAGES
    if queue.cached_mib is not None and queue.cached_mib > limits.mib:
        return ThrottleCause.CACHED_SIZE
    if orderly is False and queue.cached_span is not None and queue.cached_span > limits.span:
        return ThrottleCause.CACHED_SPAN
    return None


def lacks_lock(queue: HeldQueue, *, orderly: bool | None, message_model: str | None) -> bool:
    """Whether an orderly consumer owns a queue without the broker's lock; broadcasting needs none.

    Source: ConsumeMessageOrderlyService.ConsumeRequest.run, ProcessQueue.isLocked.
    """
    return bool(orderly) and message_model == "CLUSTERING" and queue.locked is False and not queue.dropped


def drift(owned: Sequence[MessageQueue], share: Sequence[MessageQueue]) -> dict[DriftCause, set[MessageQueue]]:
    """The queues that a client owns beyond its share, and those of its share that it has not; {} if it agrees."""
    found = {DriftCause.HOLDS_MORE: set(owned) - set(share), DriftCause.HOLDS_LESS: set(share) - set(owned)}
    return {cause: queues for cause, queues in found.items() if queues}


def busy_threads(statuses: Sequence[Status]) -> float | None:
    """Threads that its messages keep busy: response time × rate, over all topics, as the thread pool is one.

    The rate is what it consumes or, where that is more, what it pulls: with every thread busy it consumes no faster
    than the listener lets it. Unknown if any part is.
    """
    total = 0.0
    for status in statuses:
        if None in status:
            return None
        rt, ok, failed, pulled = (value or 0.0 for value in status)
        total += rt * max(ok + failed, pulled) / 1000
    return total


def rose(before: Sequence[float | None], now: float | None, ratio: float, slow_ms: float) -> bool | None:
    """Whether a response time is slow, and so many times the usual one, the median of those before; None: unknown."""
    if now is not None and now < slow_ms:
        return False
    known = [ms for ms in before if ms is not None]
    return None if now is None or not known else now >= median(known) * ratio


def listener_slowed(before: Sequence[ResponseTimes], now: ResponseTimes, ratio: float, slow_ms: float) -> bool:
    """Whether a listener got slower by itself: consume RT rose while pull RT did not.

    Where both rise, it is rather the machine or the network. A client that consumed nothing in its last minute
    repeats an older response time, so that says nothing. Source: ConsumerStatsManager.getConsumeRT.
    """
    told = [times for times in before if times.consumed_tps]
    consume = rose([times.consume_rt_ms for times in told], now.consume_rt_ms, ratio, slow_ms)
    pull = rose([times.pull_rt_ms for times in told], now.pull_rt_ms, ratio, slow_ms)
    return bool(now.consumed_tps) and consume is True and pull is False


def is_saturated(busy: float | None, threads: int | None, percent: int) -> bool:
    """Whether the busy threads are at least so many percent of those that the client has."""
    return busy is not None and threads is not None and threads > 0 and busy * 100 >= threads * percent
