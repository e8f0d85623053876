"""The owners of queues while orderly consumers wait for the broker's lock on them: a lock is part of owning.

An orderly consumer consumes a queue only with the broker's lock (`RebalanceImpl.lock`). The lock of a client that left
without unlocking expires 60 s after its last renewal (`RebalanceLockManager`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from spark_jobs.domain.kernel.as_shown import Queues, Shown, per_queue, shown, with_owners_shown
from spark_jobs.domain.kernel.audited_step import ALL_HOSTS, RebalanceInterval
from spark_jobs.domain.model.causes import UnassignedCause
from spark_jobs.domain.model.clients import ClientReport
from spark_jobs.domain.model.history import ClientHistory, Place
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.statuses import Trigger
from spark_jobs.domain.model.window import SECOND, AuditSettings, joined, without

#: Clients hear of these when they ask for the route again.
_NEW_QUEUES = {Trigger.BROKER_BACK, Trigger.QUEUES_ADDED}
#: How long the broker keeps a lock that nobody renews (`RebalanceLockManager.REBALANCE_LOCK_MAX_LIVE_TIME`).
_LOCK_LASTS = 60 * SECOND
#: A client's share, what it reports → which queues of its share it lacks.
_Lacks = Callable[[Queues, ClientReport], Queues]


def with_locks(
    intervals: Iterable[RebalanceInterval], clients: Mapping[str, ClientHistory], settings: AuditSettings
) -> Iterator[RebalanceInterval]:
    """The intervals, cut where an orderly client begins to wait for locks of its share, or no longer does.

    A client without a queue of its share waits as long as a lock can outlast its holder, unless another lists the
    queue. One without the lock of a queue, or whose lock a broker refuses, waits as long as that is reported.
    """
    for interval in intervals:
        waits = list(_waits(interval, clients, settings))
        yield from with_owners_shown(interval, waits, UnassignedCause.WAITS_FOR_LOCK)


def _waits(
    interval: RebalanceInterval, clients: Mapping[str, ClientHistory], settings: AuditSettings
) -> Iterator[Span[Shown]]:
    """One per (client, queue of its share, time in which it waits for the queue's lock)."""
    if interval.view != ALL_HOSTS or interval.allocation is None:
        return
    orderly = {
        client_id: share
        for client_id, share in sorted(interval.allocation.queues_of_client.items())
        if client_id in clients and clients[client_id].consumes_orderly
    }
    began, minimum = _began(interval, settings), settings.thresholds.convergence_seconds * SECOND
    topic, nothing = interval.topic, Queues()
    kinds: Sequence[tuple[_Lacks, int | None]] = (
        # The holder gives the queue up at its own rebalance, and who waits asks again at its next one.
        (lambda share, of: share - of.holdings.get(topic, share) if of.orderly else nothing, _LOCK_LASTS + 2 * minimum),
        (lambda share, of: share & _of_topic(of.unlocked, topic), None),
        (lambda share, of: share & _of_topic(of.lock_refused, topic), None),
    )
    for lacks, longest in kinds if orderly else ():
        for start, end, seen_at, wait in _lacking(interval, clients, orderly, lacks):
            waited = seen_at - max(start, began)
            if waited >= minimum and (longest is None or waited <= longest):
                yield Span(start, end, seen_at, Shown(*wait))


def _lacking(
    interval: RebalanceInterval, clients: Mapping[str, ClientHistory], orderly: Mapping[str, Queues], lacks: _Lacks
) -> Iterator[Span[tuple[str, Place]]]:
    """The times in which an `orderly` client lacks a queue of its share, and no other client lists it."""
    lacking = [
        span.showing((client_id, span.state))
        for client_id, share in orderly.items()
        for span in per_queue(shown(interval, clients[client_id], partial(lacks, share)))
    ]
    holders = _holders(interval, clients, frozenset(queue for *_, (_, queue) in lacking))
    for start, end, seen_at, (client_id, queue) in lacking:
        by_others = joined(span.time for span in holders[queue] if span.state != client_id)
        for since, until in without((start, end), by_others):
            yield Span(since, until, min(seen_at, until), (client_id, queue))


def _began(interval: RebalanceInterval, settings: AuditSettings) -> int:
    """When clients heard of what began the interval."""
    triggers = interval.moves.triggers if interval.moves else ()
    has_new_queues = any(trigger in _NEW_QUEUES for trigger, _ in triggers)
    return interval.start + (settings.thresholds.route_poll_seconds * SECOND if has_new_queues else 0)


def _holders(
    interval: RebalanceInterval, clients: Mapping[str, ClientHistory], queues: Queues
) -> Mapping[Place, Sequence[Span[str]]]:
    """By queue, the times in which a member lists it."""
    holders: dict[Place, list[Span[str]]] = {queue: [] for queue in queues}
    for client_id in clients.keys() & (interval.client_ids if queues else ()):
        for span in shown(interval, clients[client_id], lambda of: queues & of.holdings.get(interval.topic, Queues())):
            for queue in span.state:
                holders[queue].append(span.showing(client_id))
    return holders


def _of_topic(queues: Iterable[MessageQueue], topic: str) -> Queues:
    return frozenset((broker, queue_id) for of_topic, broker, queue_id in queues if of_topic == topic)
