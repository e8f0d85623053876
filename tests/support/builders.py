"""Intervals and steps by hand: group `g` from 10:00, times in seconds after it, queues of one broker `b`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from spark_jobs.domain.kernel.allocations import Allocation, Member
from spark_jobs.domain.kernel.audited_step import (
    ALL_HOSTS,
    AuditedStep,
    Disagreement,
    IntervalProgress,
    Moves,
    Rebalance,
    RebalanceInterval,
)
from spark_jobs.domain.model.finding import Counts, RuleHit
from spark_jobs.domain.model.history import (
    Connection,
    GroupHistory,
    Membership,
    OffsetSamples,
    Place,
    Subscriptions,
    TopicSamples,
)
from spark_jobs.domain.model.message_queue import RouteEntry
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.statuses import Reason, Trigger
from spark_jobs.domain.model.window import SECOND, AuditSettings
from tests.support.kernel import SETTINGS
from tests.support.times import START, micros


def members(text: str, strategy: str = "AVG") -> tuple[Member, ...]:
    """Connections `c1 c1 c2-`, each from a port of its own; `-` behind it: it does not subscribe the topic."""
    return tuple(
        Member(word.rstrip("-"), f"10.0.0.1:{port}", "JAVA", 493, strategy, not word.endswith("-"), True)
        for port, word in enumerate(text.split(), start=1)
    )


def allocation(
    listed: Sequence[Member],
    owners: str | Sequence[Sequence[int]],
    *,
    queues: Sequence[Place] | None = None,
    unassigned: Mapping[int, tuple[str, str | None]] | None = None,
    double_owned: Mapping[int, str] | None = None,
    unreadable: Sequence[str] = (),
) -> Allocation:
    """`owners`: of each readable queue the positions that own it, as text joined by `+` (`-`: nobody); of queues by
    their place, (cause, client id in whose share) and cause; `unreadable`: the causes of the queues behind.
    """
    words = [word.split("+") for word in owners.split()] if isinstance(owners, str) else owners
    positions = [tuple(int(position) for position in of_queue if position != "-") for of_queue in words]
    positions += [() for _ in unreadable]
    readable, count = len(positions) - len(unreadable), len(positions)
    why = {**(unassigned or {}), **{readable + place: (cause, None) for place, cause in enumerate(unreadable)}}
    ids = [member.client_id for member in listed]
    return Allocation(
        queues=queues or [("b", queue_id) for queue_id in range(count)],
        readable_count=readable,
        owners=positions,
        owner_ids=[tuple(sorted({ids[position] for position in owned})) for owned in positions],
        unassigned_causes=[why.get(place, (None, None))[0] for place in range(count)],
        unassigned_client_ids=[why.get(place, (None, None))[1] for place in range(count)],
        double_owned_causes=[(double_owned or {}).get(place) for place in range(count)],
        queues_per_member=[sum(position in owned for owned in positions) for position in range(len(listed))],
        counts=Counts(
            sum(not owned for owned in positions[:readable]), sum(len(owned) > 1 for owned in positions[:readable])
        ),
        duplicate_ids=tuple(dict.fromkeys(client_id for client_id in ids if ids.count(client_id) > 1)),
    )


def interval(
    start: float,
    end: float,
    listed: Sequence[Member] | None = (),
    owned: Allocation | None = None,
    *,
    topic: str = "t",
    view: str = ALL_HOSTS,
    seen_at: float | None = None,
    mismatches: Sequence[Disagreement] = (),
    reason: Reason = Reason.UNKNOWN_STRATEGY,
    moves: Moves | None = None,
) -> RebalanceInterval:
    """A replayed interval; without an allocation one that was not replayed, for that reason."""
    return RebalanceInterval(
        topic=topic,
        view=view,
        start=micros(start),
        end=micros(end),
        reason=None if owned else reason,
        strategy_source="CLIENT",
        members=None if listed is None else tuple(listed),
        queues=tuple(owned.queues[: owned.readable_count]) if owned else None,
        seen_at=None if seen_at is None else micros(seen_at),
        allocation=owned,
        moves=moves,
        disagreements=tuple(mismatches),
    )


def replayed(
    start: float,
    end: float,
    owners: Mapping[Place, Sequence[int]],
    ids: str = "A B",
    topic: str = "t",
    view: str = ALL_HOSTS,
    handed_over: Iterable[Place] = (),
) -> RebalanceInterval:
    """An interval, seen until its end, in which the members, by their positions, own these queues."""
    listed = members(ids)
    owned = allocation(listed, [*owners.values()], queues=tuple(owners))
    moves = Moves((), handed_over=frozenset(handed_over))
    return interval(start, end, listed, owned, topic=topic, view=view, seen_at=end, moves=moves)


def broker_said(start: float, end: float, ids: str, subscriptions: Subscriptions) -> Span[Membership]:
    """A span in which a broker listed these clients with these subscriptions."""
    connections = tuple(Connection(client_id) for client_id in ids.split())
    state = Membership(connections, frozenset(topic for topic, _ in subscriptions), subscriptions, "CLUSTERING")
    return Span(micros(start), micros(end), micros(end - 1), state)


def audited_step(
    *intervals: RebalanceInterval,
    progress: Sequence[IntervalProgress] = (),
    memberships: Mapping[str, Sequence[Span[Membership]]] | None = None,
    offsets: Mapping[str, OffsetSamples] | None = None,
    topics: Mapping[str, TopicSamples] | None = None,
    settings: AuditSettings = SETTINGS,
    **more: Any,
) -> AuditedStep:
    """The step of 10:00; samples by topic; `more`: its other fields."""
    return AuditedStep(
        history=GroupHistory("c", "g", offsets=offsets or {}, topics=topics or {}),
        window=settings.window(START),
        settings=settings,
        intervals=sorted(intervals, key=lambda each: (each.topic, each.start, each.view)),
        progress=progress,
        memberships=memberships or {},
        **{"rebalances": (), **more},
    )


def with_samples(
    step: AuditedStep,
    offsets: Mapping[str, OffsetSamples] | None = None,
    topics: Mapping[str, TopicSamples] | None = None,
    **more: Any,
) -> AuditedStep:
    """The step of a group with these samples by topic, and whatever else is to be replaced."""
    return replace(step, history=GroupHistory("c", "g", offsets=offsets or {}, topics=topics or {}), **more)


def rebalance(
    start: float,
    trigger: Trigger = Trigger.MEMBER_LEFT,
    *,
    moment: float | None = None,
    topic: str = "t",
    now: str = "",
    joined: Iterable[str] = (),
    left: Iterable[str] = (),
    handed_over: Iterable[Place] = (),
    seen_at: float | None = None,
) -> Rebalance:
    """Two queues moved where one had to; `now`: the members since then; `seen_at`: of the allocation before."""
    moves = Moves(
        triggers=((trigger, "subject"),),
        joined=tuple(joined),
        left=tuple(left),
        moved=2,
        preserved=0,
        least=1,
        handed_over=frozenset(handed_over),
        before_seen_at=None if seen_at is None else micros(seen_at),
    )
    began = interval(start, 3600, members(now), topic=topic)
    return Rebalance(micros(start if moment is None else moment), began, moves)


def route(start: float, end: float, **perms: int) -> Span[tuple[RouteEntry, ...]]:
    """A span of one route: the permission of each of its brokers."""
    entries = tuple(RouteEntry(broker, perm, 4, 4) for broker, perm in sorted(perms.items()))
    return Span(micros(start), micros(end), micros(start), entries)


def span(hit: RuleHit) -> str:
    """Seconds, as `0-3600`."""
    start, end = ((moment - START) / SECOND for moment in (hit.start, hit.end))
    return f"{start:g}-{end:g}"
