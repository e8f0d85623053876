"""One client's running info, and its symptoms. Null (`None`) is unknown, and decides nothing."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from spark_jobs.domain.model.caching import cached_with_value
from spark_jobs.domain.model.history import ClientHistory, ClientState, OwnedQueue, Place
from spark_jobs.domain.model.message_queue import MessageModel, MessageQueue
from spark_jobs.domain.model.series import Series, coded

#: A broker hands out no more messages at once, whatever is asked for; it can be configured.
#: Source: MessageStoreConfig.maxTransferCountOnMessageInMemory, DefaultMessageStore.isTheBatchFull.
BROKER_BATCH = 32


class DriftCause(StrEnum):
    """In which way a client's queues are not its share."""

    HOLDS_MORE = "HOLDS_MORE"
    HOLDS_LESS = "HOLDS_LESS"


class ThrottleCause(StrEnum):
    """Which limit a client has reached, in the order in which it looks at them."""

    CACHED_MESSAGES = "CACHED_MESSAGES"
    CACHED_SIZE = "CACHED_SIZE"
    CACHED_SPAN = "CACHED_SPAN"


class Throttled(NamedTuple):
    """A queue that its client does not pull for now: what it has cached of it (messages, MiB, offsets), and why: the
    `cause`, and the `limit` that the client itself has, or that is configured for one that does not report it.
    """

    queue: MessageQueue
    cached_count: int | None
    cached_mib: int | None
    cached_span: int | None
    cause: ThrottleCause
    limit: int

    @property
    def reached(self) -> int | None:
        """How much it has cached of what the limit counts; None: unknown."""
        cached = (self.cached_count, self.cached_mib, self.cached_span)
        return cached[tuple(ThrottleCause).index(self.cause)]


class BusyClient(NamedTuple):
    """A client with nearly all its threads busy, at least so many; the response times (ms) are those of its busiest
    topic.
    """

    busy_threads: float
    consume_threads: int
    consume_rt_ms: float | None
    pull_rt_ms: float | None


@dataclass(frozen=True)
class ClientReport:
    """A client's report while nothing changes: `topics` that it subscribes to, sorted; `owned`: queues not dropped,
    sorted (None: unknown, or it broadcasts, and has all for itself); `unlocked`: those that an orderly consumer has
    without a lock; `in_group`: it has a consumer of the group; `orderly`: it needs a lock for each queue;
    `lock_refused`: queues of which brokers refuse it the lock. Its symptoms are queues that it does not pull (`stale`),
    or is `throttled` in, `busy` threads, and queues whose lock has `expired`.
    """

    answered: bool
    topics: tuple[str, ...]
    owned: tuple[MessageQueue, ...] | None
    unlocked: tuple[MessageQueue, ...]
    in_group: bool = True
    orderly: bool = False
    pull_interval_ms: int | None = None
    lock_refused: tuple[MessageQueue, ...] = ()
    stale: tuple[MessageQueue, ...] = ()
    throttled: tuple[Throttled, ...] = ()
    busy: BusyClient | None = None
    expired: tuple[MessageQueue, ...] = ()

    @property
    def is_well(self) -> bool:
        """Return whether it answered, has a consumer of the group, lacks no lock, and shows no symptom."""
        has_symptoms = self.stale or self.throttled or self.busy or self.expired
        return self.answered and self.in_group and not (self.unlocked or has_symptoms)

    @cached_property
    def holdings(self) -> Mapping[str, frozenset[Place]]:
        """The queues it holds, by topic that it subscribes to or has queues of; empty if it did not report them."""
        if self.owned is None:
            return {}
        queues_by_topic: dict[str, set[Place]] = defaultdict(set, {topic: set() for topic in self.topics})
        for topic, broker_name, queue_id in self.owned:
            queues_by_topic[topic].add((broker_name, queue_id))
        return {topic: frozenset(places) for topic, places in queues_by_topic.items()}


@cached_with_value
def reported_series(client: ClientHistory) -> Series[ClientReport]:
    """The reports of a client, one per snapshot."""
    codes, states = coded(map(reported_state, client.series.states))
    return Series(client.series.times, codes[client.series.codes], states)


def reported_state(state: ClientState) -> ClientReport:
    """The report in a folded state. A queue of which it is not known whether it is dropped is not. Source of
    `unlocked`: ConsumeMessageOrderlyService, ProcessQueue.isLocked.
    """
    live = [queue for queue in state.owned or () if not queue.dropped]
    is_unknown = state.owned is None or state.message_model == MessageModel.BROADCASTING
    may_lack_locks = needs_locks(state) and state.message_model is not None
    return ClientReport(
        state.answered,
        tuple(sorted(state.topics or ())),
        None if is_unknown else tuple(sorted(map(queue_of, live))),
        tuple(sorted(queue_of(queue) for queue in live if queue.locked is False)) if may_lack_locks else (),
        state.in_group is not False,
        needs_locks(state),
        state.pull_interval_ms,
        state.lock_refused,
    )


def queue_of(queue: OwnedQueue) -> MessageQueue:
    """The queue that a process queue is of."""
    return MessageQueue(queue.topic, queue.broker_name, queue.queue_id)


#: So long a client trusts a lock that it does not renew, ms (`ProcessQueue.REBALANCE_LOCK_MAX_LIVE_TIME`).
LOCK_LIVES_MS = 30_000


def needs_locks(state: ClientState) -> bool:
    """Return whether a client consumes only locked queues (`ConsumeMessageOrderlyService`); Go reports no model."""
    return state.consume_orderly is True and state.message_model != MessageModel.BROADCASTING


def most_per_call(consume_batch: int | None, pull_batch: int | None, orderly: bool | None) -> int:
    """Messages that one call of the listener gets at most; an unknown `consume_batch` is the default of clients, 1.

    A concurrent client splits what one pull brought; an orderly one takes of all that is cached.
    Source: ConsumeMessageConcurrentlyService.submitConsumeRequest, ProcessQueue.takeMessages.
    """
    if not consume_batch or orderly is not False:
        return consume_batch or 1
    return min(consume_batch, pull_batch or BROKER_BATCH, BROKER_BATCH)
