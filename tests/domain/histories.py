"""Histories of one group, recorded every 10 s, and their intervals as text; times are seconds of the step.

The step lasts 300 s, a snapshot holds 30 s: the replayed span begins at -180, what may be read at -210.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from spark_jobs.domain.intervals import Interval
from spark_jobs.domain.message_queue import RouteEntry
from spark_jobs.domain.snapshots import (
    ClientSnapshot,
    GroupHistory,
    MembershipSnapshot,
    RouteSnapshot,
    StepWindow,
)
from spark_jobs.domain.timeline import RebalanceInterval, clip, rebalance_intervals

START = datetime(2026, 11, 21, 3, tzinfo=UTC)
CADENCE = 10
WINDOW = StepWindow(
    Interval(START, START + timedelta(seconds=300)),
    cadence=timedelta(seconds=CADENCE),
    max_gap=timedelta(seconds=30),
)
A = RouteEntry("a", 6, 4, 4)
B = RouteEntry("b", 6, 4, 4)
CLASS = "org.apache.rocketmq.client.consumer.rebalance."


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def listed(
    broker: str, changes: Mapping[int, str | None], *, late: int = 0, topics: Iterable[str] = ("T",)
) -> tuple[MembershipSnapshot, ...]:
    """A broker's list every 10 s, `late` seconds into each round, from each time on; None: no answer."""
    snapshots = []
    for second in range(-210, 300, CADENCE):
        now = second + late
        ids = [ids for since, ids in sorted(changes.items()) if since <= now]
        if ids and ids[-1] is not None:
            members = tuple(ids[-1].split())
            snapshots.append(MembershipSnapshot(broker, at(now), members, topics=frozenset(topics)))
    return tuple(snapshots)


def routed(changes: Mapping[int, tuple[RouteEntry, ...] | None]) -> tuple[RouteSnapshot, ...]:
    """The route every 10 s, from each time on; None: not recorded."""
    snapshots = []
    for second in range(-210, 300, CADENCE):
        routes = [entries for since, entries in sorted(changes.items()) if since <= second]
        if routes and routes[-1] is not None:
            snapshots.append(RouteSnapshot(at(second), routes[-1]))
    return tuple(snapshots)


def client(
    client_id: str, second: float, strategy_class: str | None = None, *, topics: Iterable[str] | None = None
) -> ClientSnapshot:
    known = None if topics is None else frozenset(topics)
    return ClientSnapshot(client_id, at(second), strategy_class=strategy_class, topics=known)


#: Two members, one broker, nothing happens.
CALM = GroupHistory("T", listed("a", {-210: "c1 c2"}), routed({-210: (A,)}))


def calm(**changes: object) -> GroupHistory:
    return replace(CALM, **changes)  # type: ignore[arg-type]


def rows(history: GroupHistory) -> list[str]:
    """The step's intervals: `0-300 * DEFAULT c1 c2/X d!` (c2 runs X and not AVG, d does not subscribe)."""
    return [as_row(one) for one in clip(rebalance_intervals(history, WINDOW), WINDOW.step)]


def as_row(interval: RebalanceInterval) -> str:
    start, end = ((moment - START).total_seconds() for moment in (interval.start, interval.end))
    words = [f"{start:g}-{end:g}", interval.view, interval.reason or interval.strategy_source or ""]
    for member in interval.members:
        other = "" if member.strategy == "AVG" else f"/{member.strategy}"
        words.append(f"{member.client_id}{other}{'' if member.subscribes else '!'}")
    return " ".join(words)
