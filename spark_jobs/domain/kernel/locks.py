"""The owners of queues while orderly consumers wait for the broker's lock on them: a lock is part of owning.

An orderly consumer puts a queue into its process queue table only with the broker's lock (`RebalanceImpl.lock`), and
consumes from it only while it holds the lock. A client that leaves without unlocking keeps the others waiting until the
lock expires, 60 s after its last renewal (`RebalanceLockManager`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, pairwise

from spark_jobs.domain.kernel.audited_step import ALL_HOSTS, Allocation, Member, Moves, RebalanceInterval
from spark_jobs.domain.kernel.holdings import reported_series
from spark_jobs.domain.kernel.ownership import is_harm
from spark_jobs.domain.model.causes import UnassignedCause
from spark_jobs.domain.model.clients import ReportedState
from spark_jobs.domain.model.finding import Counts
from spark_jobs.domain.model.history import ClientHistory, Place
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.statuses import Trigger
from spark_jobs.domain.model.window import SECOND, AuditSettings

#: Clients hear of these when they ask for the route again.
_NEW_QUEUES = {Trigger.BROKER_BACK, Trigger.QUEUES_ADDED}
#: Queues of a client's share that it waits for.
Waiting = frozenset[Place]


def with_locks(
    intervals: Iterable[RebalanceInterval], clients: Mapping[str, ClientHistory], settings: AuditSettings
) -> Iterator[RebalanceInterval]:
    """The intervals, cut where an orderly client begins to wait for locks of its share, or no longer does.

    It waits if snapshots show it for as long as clients may take to follow a change. A cut is no rebalance: nothing
    triggers it, and no queue moves.
    """
    for interval in intervals:
        waits = list(_waits(interval, clients, settings))
        yield from _cut(interval, waits) if waits else (interval,)


def _waits(
    interval: RebalanceInterval, clients: Mapping[str, ClientHistory], settings: AuditSettings
) -> Iterator[Span[tuple[str, Waiting]]]:
    """One per (client, time in which it waits for the same queues of its share)."""
    if interval.view != ALL_HOSTS or interval.allocation is None:
        return
    triggers = interval.moves.triggers if interval.moves else ()
    has_new_queues = any(trigger in _NEW_QUEUES for trigger, _ in triggers)
    began = interval.start + (settings.thresholds.route_poll_seconds * SECOND if has_new_queues else 0)
    minimum = settings.thresholds.convergence_seconds * SECOND
    for client_id, share in interval.allocation.queues_of_client.items():
        for start, end, seen_at, queues in _missing(interval, clients.get(client_id), share):
            if queues and seen_at - max(start, began) >= minimum:
                yield Span(start, end, seen_at, (client_id, queues))


def _missing(interval: RebalanceInterval, client: ClientHistory | None, share: frozenset[Place]) -> list[Span[Waiting]]:
    """What the client lacks of its share from one snapshot of the interval to the next, the first from its start."""
    if client is None or not any(state.consume_orderly for state in client.series.states):
        return []
    series = reported_series(client)
    inside = series.inside(interval.start, interval.end)
    times, codes = series.times[inside].tolist(), series.codes[inside].tolist()
    lacking = {code: _lacking(series.states[code], interval.topic, share) for code in set(codes)}
    spans: list[Span[Waiting]] = []
    for queues, snapshots in groupby(zip(times, codes, strict=True), key=lambda snapshot: lacking[snapshot[1]]):
        seen = [at for at, _ in snapshots]
        if spans:
            spans[-1] = spans[-1]._replace(end=seen[0])
        spans.append(Span(seen[0] if spans else interval.start, interval.end, seen[-1], queues))
    return spans


def _lacking(reported: ReportedState, topic: str, share: frozenset[Place]) -> Waiting:
    held_queues = reported.holdings.get(topic) if reported.orderly else None
    if held_queues is None:
        return frozenset()
    unlocked = {(broker, queue_id) for of_topic, broker, queue_id in reported.unlocked if of_topic == topic}
    return frozenset(share - held_queues | share & unlocked)


def _cut(interval: RebalanceInterval, waits: Sequence[Span[tuple[str, Waiting]]]) -> Iterator[RebalanceInterval]:
    cuts = sorted({interval.start, interval.end, *(at for wait in waits for at in wait[:2])})
    for start, end in pairwise(cuts):
        piece = replace(interval, start=start, end=end, seen_at=min(interval.seen_at or end, end))
        if start > interval.start:
            piece = replace(piece, subscription_conflicts=(), model_conflicts=(), moves=_no_moves(interval))
        waiting = [wait.state for wait in waits if wait.start <= start < wait.end]
        if waiting and interval.allocation and interval.members:
            piece = replace(piece, allocation=_without_locks(interval.allocation, interval.members, dict(waiting)))
        yield piece


def _no_moves(interval: RebalanceInterval) -> Moves:
    return Moves((), moved=0, preserved=len(interval.queues or ()), least=0, before_seen_at=interval.seen_at)


def _without_locks(allocation: Allocation, members: Sequence[Member], waiting: Mapping[str, Waiting]) -> Allocation:
    """The allocation without the owners that wait for a queue's lock; the members' shares stay as they are."""
    owners = [
        tuple(place for place in places if queue not in waiting.get(members[place].client_id, ()))
        for queue, places in zip(allocation.queues, allocation.owners, strict=True)
    ]
    is_lost = [bool(before) and not now for before, now in zip(allocation.owners, owners, strict=True)]
    causes = [
        UnassignedCause.WAITS_FOR_LOCK if lost else cause
        for lost, cause in zip(is_lost, allocation.unassigned_causes, strict=True)
    ]
    client_ids = [
        members[places[0]].client_id if lost else client_id
        for lost, places, client_id in zip(is_lost, allocation.owners, allocation.unassigned_client_ids, strict=True)
    ]
    double_owned = [
        cause if len(places) > 1 else None for places, cause in zip(owners, allocation.double_owned_causes, strict=True)
    ]
    return replace(
        allocation,
        owners=owners,
        owner_ids=[tuple(sorted({members[place].client_id for place in places})) for places in owners],
        unassigned_causes=causes,
        unassigned_client_ids=client_ids,
        double_owned_causes=double_owned,
        counts=Counts(
            sum(not places for places in owners[: allocation.readable_count]), sum(map(is_harm, double_owned))
        ),
    )
