"""Offsets, progress and rebalances made by hand: times in seconds since the step began."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.kernel.audited_step import AuditedStep, IntervalProgress, Moves, Rebalance, RebalanceInterval
from spark_jobs.domain.kernel.verdicts import VerdictSpan
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.history import UNKNOWN, GroupHistory, OffsetReadings, Place, TopicReadings
from spark_jobs.domain.model.message_queue import RouteEntry
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.statuses import Trigger
from spark_jobs.domain.model.window import SECOND
from tests.domain.rules.builders import interval, members

#: What one reading says of one queue, None: unknown; no tuple at all: the snapshot has not the queue.
Said = tuple[int | None, ...]


def offsets(queues: Sequence[Place], readings: Mapping[float, Sequence[Said | None]]) -> OffsetReadings:
    """By time, per queue: end offset, consumer offset, pull offset, last timestamp."""
    times, present, numbers = _matrices(queues, readings, 4)
    end, consumer, pull, timestamp = numbers
    return OffsetReadings(times, queues, end, consumer, pull, timestamp, present)


def oldest(queues: Sequence[Place], readings: Mapping[float, Sequence[Said | None]]) -> TopicReadings:
    """By time, per queue: oldest offset, next one to write."""
    times, present, numbers = _matrices(queues, readings, 2)
    least, following = numbers
    return TopicReadings(times, queues, least, following, present)


def _matrices(
    queues: Sequence[Place], readings: Mapping[float, Sequence[Said | None]], width: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_], list[NDArray[np.int64]]]:
    times = np.array([int(at * SECOND) for at in readings], dtype=np.int64)
    present = np.array([[one is not None for one in row] for row in readings.values()], dtype=np.bool_)
    said = [[one or (None,) * width for one in row] for row in readings.values()]
    numbers = [[[UNKNOWN if one[n] is None else one[n] for one in row] for row in said] for n in range(width)]
    shape = (len(times), len(queues))
    return times, present.reshape(shape), [np.array(one, dtype=np.int64).reshape(shape) for one in numbers]


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
        if name not in ("interval", "start", "end", "verdicts", "spans")
    }
    for name, values in columns.items():
        scale = SECOND if name.endswith("_at") else 1
        arrays[name] = np.array([UNKNOWN if one is None else one * scale for one in values], dtype=np.int64)
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
