"""The owners that clients show in parts of an interval, where these are not those of the replay."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from typing import NamedTuple

from spark_jobs.domain.kernel.allocations import Allocation, Member, QueueOwners
from spark_jobs.domain.kernel.audited_step import Moves, RebalanceInterval
from spark_jobs.domain.model.causes import DoubleOwnedCause, UnassignedCause
from spark_jobs.domain.model.clients import ReportedState, reported_series
from spark_jobs.domain.model.history import ClientHistory, Place
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.window import islands

Queues = frozenset[Place]


class Shown(NamedTuple):
    """A client owns a queue that is not in its share, or does not own one that is."""

    client_id: str
    queue: Place
    owns: bool = False


def shown(
    interval: RebalanceInterval, client: ClientHistory, shows: Callable[[ReportedState], Queues]
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
    owned = [
        _as_shown(before, members, shown_of[queue], unassigned) if queue in shown_of else before
        for queue, before in zip(allocation.queues, allocation.owned, strict=True)
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
