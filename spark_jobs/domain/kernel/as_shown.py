"""The owners that clients show in parts of an interval, where these are not those of the replay."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from typing import NamedTuple

from spark_jobs.domain.kernel.allocations import Allocation, Member
from spark_jobs.domain.kernel.audited_step import Moves, RebalanceInterval
from spark_jobs.domain.kernel.ownership import is_harm
from spark_jobs.domain.model.causes import DoubleOwnedCause, UnassignedCause
from spark_jobs.domain.model.clients import ReportedState, reported_series
from spark_jobs.domain.model.finding import Counts
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
            piece = replace(piece, subscription_conflicts=(), model_conflicts=(), moves=_no_moves(interval))
        differences = {span.state for span in spans if span.start <= start < span.end}
        if differences and interval.allocation and interval.members:
            allocation = _with_differences(interval.allocation, interval.members, differences, unassigned)
            piece = replace(piece, allocation=allocation)
        yield piece


def _no_moves(interval: RebalanceInterval) -> Moves:
    return Moves((), moved=0, preserved=len(interval.queues or ()), least=0, before_seen_at=interval.seen_at)


def _with_differences(
    allocation: Allocation, members: Sequence[Member], differences: Collection[Shown], unassigned: UnassignedCause
) -> Allocation:
    """The allocation with the owners that clients show. `queues_per_member` stay those of the shares."""
    owners = list(map(tuple, _owners(allocation, members, differences)))
    is_lost = [bool(before) and not now for before, now in zip(allocation.owners, owners, strict=True)]
    double_owned_causes = [
        (cause or DoubleOwnedCause.ROUTE_OUTDATED) if len(now) > 1 else None
        for now, cause in zip(owners, allocation.double_owned_causes, strict=True)
    ]
    return replace(
        allocation,
        owners=owners,
        owner_ids=[tuple(sorted({members[place].client_id for place in places})) for places in owners],
        unassigned_causes=[
            None if now else unassigned if lost else cause
            for now, lost, cause in zip(owners, is_lost, allocation.unassigned_causes, strict=True)
        ],
        unassigned_client_ids=[
            None if now else members[before[0]].client_id if lost else client_id
            for now, lost, before, client_id in zip(
                owners, is_lost, allocation.owners, allocation.unassigned_client_ids, strict=True
            )
        ],
        double_owned_causes=double_owned_causes,
        counts=Counts(
            sum(not now for now in owners[: allocation.readable_count]), sum(map(is_harm, double_owned_causes))
        ),
    )


def _owners(
    allocation: Allocation, members: Sequence[Member], differences: Collection[Shown]
) -> Iterator[Sequence[int]]:
    """By queue, the positions of its owners."""
    shown_of: dict[Place, dict[str, bool]] = defaultdict(dict)
    for client_id, queue, owns in differences:
        shown_of[queue][client_id] = owns
    for queue, by_replay in zip(allocation.queues, allocation.owners, strict=True):
        if queue not in shown_of:
            yield by_replay
            continue
        ids = ((place, member.client_id) for place, member in enumerate(members))
        yield [place for place, client_id in ids if shown_of[queue].get(client_id, place in by_replay)]
