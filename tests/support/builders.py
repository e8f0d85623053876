"""What rules look at, made by hand: times in seconds since the step began, queues of one broker `b`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
from spark_jobs.domain.kernel.verdicts import VerdictSpan
from spark_jobs.domain.model.finding import Counts, RuleHit
from spark_jobs.domain.model.history import (
    UNKNOWN,
    Connection,
    GroupHistory,
    Membership,
    OffsetReadings,
    Place,
    Subscriptions,
    TopicReadings,
)
from spark_jobs.domain.model.message_queue import RouteEntry
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.statuses import Reason, Trigger
from spark_jobs.domain.model.thresholds import Thresholds
from spark_jobs.domain.model.window import SECOND, AuditSettings

#: Steps of an hour, a snapshot every 20 s that holds for 60 s, thresholds as a configuration has them by default.
SETTINGS = AuditSettings(step=3600 * SECOND, cadence=20 * SECOND, max_gap=60 * SECOND, thresholds=Thresholds())


def members(text: str, strategy: str = "AVG") -> tuple[Member, ...]:
    """Connections `c1 c1 c2-`, each from a port of its own; `-` behind it: it does not subscribe the topic."""
    return tuple(
        Member(word.rstrip("-"), f"10.0.0.1:{port}", "JAVA", 493, strategy, not word.endswith("-"), True)
        for port, word in enumerate(text.split(), start=1)
    )


def allocation(
    listed: Sequence[Member],
    owners: str,
    *,
    unassigned: Mapping[int, tuple[str, str | None]] | None = None,
    double_owned: Mapping[int, str] | None = None,
    unreadable: Sequence[str] = (),
) -> Allocation:
    """`owners`: of each readable queue the positions that own it, joined by `+` (`-`: nobody); of queues by their
    place, (cause, client id in whose share) and cause; `unreadable`: the causes of the queues behind.
    """
    positions = [tuple(int(position) for position in word.split("+") if word != "-") for word in owners.split()]
    positions += [() for _ in unreadable]
    readable, count = len(positions) - len(unreadable), len(positions)
    why = {**(unassigned or {}), **{readable + place: (cause, None) for place, cause in enumerate(unreadable)}}
    ids = [member.client_id for member in listed]
    return Allocation(
        queues=[("b", queue_id) for queue_id in range(count)],
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
    start: int,
    end: int,
    listed: Sequence[Member] | None = (),
    owned: Allocation | None = None,
    *,
    topic: str = "t",
    view: str = ALL_HOSTS,
    seen_at: int | None = None,
    mismatches: Sequence[Disagreement[Subscriptions]] = (),
) -> RebalanceInterval:
    """A replayed interval; without an allocation one that was not replayed."""
    return RebalanceInterval(
        topic=topic,
        view=view,
        start=start * SECOND,
        end=end * SECOND,
        reason=None if owned else Reason.UNKNOWN_STRATEGY,
        strategy_source="CLIENT",
        members=None if listed is None else tuple(listed),
        queues=tuple(owned.queues[: owned.readable_count]) if owned else None,
        seen_at=None if seen_at is None else seen_at * SECOND,
        allocation=owned,
        subscription_conflicts=tuple(mismatches),
    )


def broker_said(start: int, end: int, ids: str, subscriptions: Subscriptions) -> Span[Membership]:
    """A span in which a broker listed these clients with these subscriptions."""
    connections = tuple(Connection(client_id) for client_id in ids.split())
    state = Membership(connections, frozenset(topic for topic, _ in subscriptions), subscriptions, "CLUSTERING")
    return Span(start * SECOND, end * SECOND, (end - 1) * SECOND, state)


def audited_step(
    *intervals: RebalanceInterval,
    progress: Sequence[IntervalProgress] = (),
    memberships: Mapping[str, Sequence[Span[Membership]]] | None = None,
    settings: AuditSettings = SETTINGS,
) -> AuditedStep:
    """The step that begins at second 0."""
    return AuditedStep(
        history=GroupHistory("cluster", "g"),
        window=settings.window(0),
        settings=settings,
        intervals=sorted(intervals, key=lambda each: (each.topic, each.start, each.view)),
        progress=progress,
        rebalances=(),
        memberships=memberships or {},
    )


#: What one reading says of one queue, None: unknown; no tuple at all: the snapshot has not the queue.
QueueReading = tuple[int | None, ...]


def offsets(queues: Sequence[Place], readings: Mapping[float, Sequence[QueueReading | None]]) -> OffsetReadings:
    """By time, per queue: end offset, consumer offset, pull offset, last timestamp."""
    times, present, numbers = _matrices(queues, readings, 4)
    end, consumer, pull, timestamp = numbers
    return OffsetReadings(times, queues, end, consumer, pull, timestamp, present)


def oldest(queues: Sequence[Place], readings: Mapping[float, Sequence[QueueReading | None]]) -> TopicReadings:
    """By time, per queue: oldest offset, next one to write."""
    times, present, numbers = _matrices(queues, readings, 2)
    least, following = numbers
    return TopicReadings(times, queues, least, following, present)


def _matrices(
    queues: Sequence[Place], readings: Mapping[float, Sequence[QueueReading | None]], width: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_], list[NDArray[np.int64]]]:
    times = np.array([int(at * SECOND) for at in readings], dtype=np.int64)
    present = np.array([[reading is not None for reading in row] for row in readings.values()], dtype=np.bool_)
    said = [[reading or (None,) * width for reading in row] for row in readings.values()]
    numbers = [
        [[UNKNOWN if reading[n] is None else reading[n] for reading in row] for row in said] for n in range(width)
    ]
    shape = (len(times), len(queues))
    return times, present.reshape(shape), [np.array(matrix, dtype=np.int64).reshape(shape) for matrix in numbers]


def progress(
    of: RebalanceInterval,
    start: float,
    end: float,
    spans: Sequence[VerdictSpan] = (),
    **columns: Sequence[int | None],
) -> IntervalProgress:
    """What is known of each queue, None: unknown, as all that is not named; columns that end in `_at` are seconds."""
    assert of.allocation
    count = len(of.allocation.queues)
    arrays: dict[str, Any] = {
        name: np.full(count, UNKNOWN, dtype=np.int64)
        for name in IntervalProgress.__dataclass_fields__
        if name not in ("interval", "start", "end", "verdicts", "spans", "is_filtered")
    }
    for name, values in columns.items():
        scale = SECOND if name.endswith("_at") else 1
        arrays[name] = np.array([UNKNOWN if value is None else value * scale for value in values], dtype=np.int64)
    return IntervalProgress(of, int(start * SECOND), int(end * SECOND), verdicts=[None] * count, spans=spans, **arrays)


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
        before_seen_at=None if seen_at is None else int(seen_at * SECOND),
    )
    began = replace(interval(0, 3600, members(now), topic=topic), start=int(start * SECOND))
    return Rebalance(int((start if moment is None else moment) * SECOND), began, moves)


def route(start: float, end: float, **perms: int) -> Span[tuple[RouteEntry, ...]]:
    """A span of one route: the permission of each of its brokers."""
    entries = tuple(RouteEntry(broker, perm, 4, 4) for broker, perm in sorted(perms.items()))
    return Span(int(start * SECOND), int(end * SECOND), int(start * SECOND), entries)


def with_readings(
    step: AuditedStep,
    offsets: Mapping[str, OffsetReadings] | None = None,
    topics: Mapping[str, TopicReadings] | None = None,
    **more: Any,
) -> AuditedStep:
    """The step of a group with these readings by topic, and whatever else is to be replaced."""
    return replace(step, history=GroupHistory("c", "g", offsets=offsets or {}, topics=topics or {}), **more)


def span(hit: RuleHit) -> str:
    """Seconds, as `0-3600`."""
    return f"{hit.start / SECOND:g}-{hit.end / SECOND:g}"
