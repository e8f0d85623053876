"""The owners that clients show in parts of an interval, where these are not those of the replay: while they may still
have the queues of a route that has changed, for example.

A client hears of a route when it asks for it, every 30 s, and takes its share at its next rebalance, within 20 s more.
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
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.statuses import Trigger
from spark_jobs.domain.model.window import AuditSettings, islands
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
            piece = replace(piece, subscription_conflicts=(), model_conflicts=(), moves=unmoved)
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
    pulling = {member.client_id for member in interval.members or () if not is_popped(member.strategy)}
    for client_id in sorted(pulling & clients.keys()):
        share = interval.allocation.queues_of_client.get(client_id, frozenset())
        for owns, differ in ((True, _beyond), (False, _lacking)):
            shows = partial(differ, interval.topic, queues, share)
            for span in per_queue(shown(time, clients[client_id], shows)):
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


def _beyond(topic: str, queues: Queues, share: Queues, reported: ClientReport) -> Queues:
    return reported.holdings.get(topic, frozenset()) & queues - share


def _lacking(topic: str, _: Queues, share: Queues, reported: ClientReport) -> Queues:
    """A client that lists no queue of any topic may pull by hand."""
    return share - reported.holdings[topic] if reported.owned and topic in reported.holdings else frozenset()
