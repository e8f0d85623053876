"""What rules look at, made by hand: times in seconds since the step began, queues of one broker `b`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.kernel.audited_step import (
    ALL_HOSTS,
    Allocation,
    AuditedStep,
    Disagreement,
    IntervalProgress,
    Member,
    RebalanceInterval,
)
from spark_jobs.domain.model.finding import Counts
from spark_jobs.domain.model.history import UNKNOWN, Connection, GroupHistory, Membership, Subscriptions
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.statuses import Reason
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
    positions = [tuple(int(one) for one in word.split("+") if word != "-") for word in owners.split()]
    positions += [() for _ in unreadable]
    readable, count = len(positions) - len(unreadable), len(positions)
    why = {**(unassigned or {}), **{readable + place: (cause, None) for place, cause in enumerate(unreadable)}}
    ids = [one.client_id for one in listed]
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
        twin_ids=tuple(dict.fromkeys(one for one in ids if ids.count(one) > 1)),
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


def progress(
    one: RebalanceInterval, consumed: Sequence[int | None], produced: Sequence[int | None]
) -> IntervalProgress:
    """The messages of each queue over the whole interval, None is unknown; nothing else is known."""
    nothing = np.full(len(consumed), UNKNOWN, dtype=np.int64)
    measured = {"consumed": _numbers(consumed), "produced": _numbers(produced)}
    others: dict[str, Any] = {
        name: measured.get(name, nothing)
        for name in IntervalProgress.__dataclass_fields__
        if name not in ("interval", "start", "end", "verdicts", "spans")
    }
    return IntervalProgress(
        interval=one, start=one.start, end=one.end, verdicts=[None] * len(consumed), spans=[], **others
    )


def _numbers(values: Sequence[int | None]) -> NDArray[np.int64]:
    return np.array([UNKNOWN if value is None else value for value in values], dtype=np.int64)


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
        intervals=sorted(intervals, key=lambda one: (one.topic, one.start, one.view)),
        progress=progress,
        rebalances=(),
        memberships=memberships or {},
    )
