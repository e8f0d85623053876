"""The owners that clients show in parts of an interval, where these are not those of the replay: while they may still
have the queues of a route that has changed, or wait for the broker's lock on a queue, which is a part of owning.

A client hears of a route when it asks for it, every 30 s, and takes its share at its next rebalance, within 20 s more.
An orderly consumer consumes a queue only with the broker's lock (`RebalanceImpl.lock`). The lock of a client that left
without unlocking expires 60 s after its last renewal (`RebalanceLockManager`).
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby, pairwise
from typing import NamedTuple

from spark_jobs.domain.kernel.allocations import Allocation, Member, QueueOwners
from spark_jobs.domain.kernel.audited_step import ALL_HOSTS, Moves, RebalanceInterval
from spark_jobs.domain.kernel.holdings import settled_at
from spark_jobs.domain.model.causes import DoubleOwnedCause, UnassignedCause
from spark_jobs.domain.model.clients import ClientReport, reported_series
from spark_jobs.domain.model.history import ClientHistory, Place
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.statuses import Trigger
from spark_jobs.domain.model.window import MINUTE, SECOND, AuditSettings, islands, joined, without
from spark_jobs.domain.rocketmq.strategies import is_popped

Queues = frozenset[Place]


class Shown(NamedTuple):
    """A client owns a queue that is not in its share, or does not own one that is."""

    client_id: str
    queue: Place
    owns: bool = False


def shown(
    interval: RebalanceInterval, client: ClientHistory, shows: Callable[[ClientReport], Queues]
) -> list[Span[Queues]]:
    """The queues that a client's snapshots show in the interval, each until the next one, the first from its start."""
    series = reported_series(client)
    inside = series.inside(interval.start, interval.end)
    times, codes = series.times[inside].tolist(), series.codes[inside].tolist()
    queues_of_code = {code: shows(series.states[code]) for code in set(codes)}
    spans: list[Span[Queues]] = []
    for queues, snapshots in groupby(zip(times, codes, strict=True), key=lambda snapshot: queues_of_code[snapshot[1]]):
        seen = [at for at, _ in snapshots]
        start = seen[0] if spans else interval.start
        if spans:
            spans[-1] = spans[-1]._replace(end=start)
        seen_at = max((at for at in seen if at <= (interval.seen_at or 0)), default=start)
        spans.append(Span(start, interval.end, seen_at, queues))
    return spans


def per_queue(spans: Sequence[Span[Queues]]) -> Iterator[Span[Place]]:
    """One per queue and time in which successive spans have it."""
    for queue in sorted(frozenset().union(*(span.state for span in spans))):
        for island in islands([span for span in spans if queue in span.state]):
            yield Span(island[0].start, island[-1].end, max(span.seen_at for span in island), queue)


def with_owners_shown(
    interval: RebalanceInterval, spans: Sequence[Span[Shown]], unassigned: UnassignedCause
) -> Iterator[RebalanceInterval]:
    """The interval, cut where what clients show begins and ends. A cut has no trigger, and no queue moves."""
    if not spans:
        yield interval
        return
    cuts = sorted({interval.start, interval.end, *(at for span in spans for at in span.time)})
    for start, end in pairwise(cuts):
        piece = replace(interval, start=start, end=end, seen_at=min(interval.seen_at or end, end))
        if start > interval.start:
            unmoved = Moves((), moved=0, preserved=len(interval.queues or ()), least=0, before_seen_at=interval.seen_at)
            piece = replace(piece, disagreements=(), moves=unmoved)
        differences = {span.state for span in spans if span.start <= start < span.end}
        if differences and interval.allocation and interval.members:
            allocation = _with_differences(interval.allocation, interval.members, differences, unassigned)
            piece = replace(piece, allocation=allocation)
        yield piece


def _with_differences(
    allocation: Allocation, members: Sequence[Member], differences: Collection[Shown], unassigned: UnassignedCause
) -> Allocation:
    """The allocation with the owners that clients show. `queues_per_member` stay those of the shares."""
    shown_of: dict[Place, dict[str, bool]] = defaultdict(dict)
    for client_id, queue, owns in differences:
        shown_of[queue][client_id] = owns
    causes = allocation.unassigned_causes, allocation.unassigned_client_ids, allocation.double_owned_causes
    owned = [
        _as_shown(before, members, shown_of[queue], unassigned) if queue in shown_of else before
        for queue, before in zip(allocation.queues, map(QueueOwners, allocation.owners, *causes), strict=True)
    ]
    return replace(
        Allocation.of(members, allocation.queues, allocation.readable_count, owned),
        queues_per_member=allocation.queues_per_member,
        if_deduplicated=allocation.if_deduplicated,
        if_unique=allocation.if_unique,
    )


def _as_shown(
    before: QueueOwners, members: Sequence[Member], owns: Mapping[str, bool], unassigned: UnassignedCause
) -> QueueOwners:
    """The owners of a queue, of which clients show that they own it, or do not."""
    ids = enumerate(member.client_id for member in members)
    owners = tuple(place for place, client_id in ids if owns.get(client_id, place in before.owners))
    if len(owners) > 1:
        return QueueOwners(owners, double_owned_cause=before.double_owned_cause or DoubleOwnedCause.ROUTE_OUTDATED)
    if owners:
        return QueueOwners(owners)
    return QueueOwners((), unassigned, members[before.owners[0]].client_id) if before.owners else before


_OF_THE_ROUTE = {Trigger.BROKER_GONE, Trigger.BROKER_BACK, Trigger.QUEUES_REMOVED, Trigger.QUEUES_ADDED}


def with_settling(
    intervals: Iterable[RebalanceInterval], clients: Mapping[str, ClientHistory], settings: AuditSettings
) -> Iterator[RebalanceInterval]:
    """The intervals of a topic, cut by the lists of members; those in which clients follow a route say until when."""
    until = 0
    for interval in intervals:
        triggers = interval.moves.triggers if interval.moves else ()
        if any(trigger in _OF_THE_ROUTE for trigger, _ in triggers):
            until = settled_at(interval.start, interval.start, settings)
        differences = list(_differences(interval, until, clients)) if interval.start < until else []
        in_rounds = _in_rounds(differences, interval.end, settings.cadence // 2)
        for piece in with_owners_shown(interval, in_rounds, UnassignedCause.ROUTE_OUTDATED):
            by_strategy = None if piece.allocation is interval.allocation else interval.allocation
            yield replace(piece, settled_at=until, by_strategy=by_strategy) if piece.start < until else piece


def _differences(
    interval: RebalanceInterval, until: int, clients: Mapping[str, ClientHistory]
) -> Iterator[Span[Shown]]:
    """One per (client, queue, time) in which the client's list is not its share, while all brokers list the same."""
    if interval.view != ALL_HOSTS or interval.allocation is None:
        return
    time, queues = replace(interval, end=min(interval.end, until)), frozenset(interval.queues or ())

    def beyond(share: Queues, of: ClientReport) -> Queues:
        return of.holdings.get(interval.topic, Queues()) & queues - share

    def lacking(share: Queues, of: ClientReport) -> Queues:
        """A client that lists no queue of any topic may pull by hand."""
        return share - of.holdings[interval.topic] if of.owned and interval.topic in of.holdings else Queues()

    pulling = {member.client_id for member in interval.members or () if not is_popped(member.strategy)}
    for client_id in sorted(pulling & clients.keys()):
        share = interval.allocation.queues_of_client.get(client_id, frozenset())
        for owns, differing in ((True, beyond), (False, lacking)):
            for span in per_queue(shown(time, clients[client_id], partial(differing, share))):
                yield span.showing(Shown(client_id, span.state, owns))


def _in_rounds(spans: Sequence[Span[Shown]], end: int, tolerance: int) -> Sequence[Span[Shown]]:
    """The spans, with times closer than the tolerance as one, the last: the recorder asks client after client."""
    round_of: dict[int, int] = {}
    last = end
    for at in sorted({end, *(at for span in spans for at in span.time)}, reverse=True):
        last = last if last - at < tolerance else at
        round_of[at] = last
    in_rounds = (span._replace(start=round_of[span.start], end=round_of[span.end]) for span in spans)
    return [span for span in in_rounds if span.start < span.end]


#: Clients hear of these when they ask for the route again.
_NEW_QUEUES = {Trigger.BROKER_BACK, Trigger.QUEUES_ADDED}
#: How long the broker keeps a lock that nobody renews (`RebalanceLockManager.REBALANCE_LOCK_MAX_LIVE_TIME`).
_LOCK_LASTS = MINUTE
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
        for start, end, seen_at, wait in _without_lock(interval, clients, orderly, lacks):
            waited = seen_at - max(start, began)
            if waited >= minimum and (longest is None or waited <= longest):
                yield Span(start, end, seen_at, Shown(*wait))


def _without_lock(
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
