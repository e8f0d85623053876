"""What made a backlog grow: every message of the growth is given to exactly one part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cache
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.backlog import QueueIntervals
from spark_jobs.domain.history import UNKNOWN, OffsetReadings, Place
from spark_jobs.domain.window import SECOND, StepWindow


class Part(StrEnum):
    """Where growth comes from; the first that applies, in this order."""

    UNASSIGNED = "unassigned"
    STUCK_OWNER = "stuck_owner"
    HAND_OVER = "hand_over"
    PRODUCER_SURGE = "producer_surge"
    RESIDUAL = "residual"


#: Verdicts (`verdicts.Verdict`) that say an owner does not do its work.
STUCK = frozenset({"STOP", "STALL", "WARN"})


class QueueGrowth(NamedTuple):
    """One queue in one rebalance interval: how its lag grew between readings, in messages (negative: it shrank).

    `owners`: connections; `moved`: it had another owner until the interval began; `produced` in `seconds` and
    `rate_before`, messages a second in the step's look-back: None is unknown.
    """

    growth: int
    owners: int
    verdict: str | None
    moved: bool
    produced: int | None
    seconds: float
    rate_before: float | None


class TopicGrowth(NamedTuple):
    """How the backlog of one topic grew over a step, and the parts that add up to it, in messages."""

    topic: str
    growth: int
    unassigned: int
    stuck_owner: int
    hand_over: int
    producer_surge: int
    residual: int


def attribute(queues: Iterable[QueueGrowth]) -> Counter[Part]:
    """Messages of growth per part; they add up to the growth of all queues."""
    parts: Counter[Part] = Counter()
    for queue in queues:
        if (part := _whole(queue)) is not None:
            parts[part] += queue.growth
        else:
            surge = _surge(queue)
            parts[Part.PRODUCER_SURGE] += surge
            parts[Part.RESIDUAL] += queue.growth - surge
    return parts


def _whole(queue: QueueGrowth) -> Part | None:
    """The part that has all of a queue's growth."""
    if queue.owners == 0:
        return Part.UNASSIGNED
    if queue.verdict in STUCK:
        return Part.STUCK_OWNER
    return Part.HAND_OVER if queue.moved else None


def _surge(queue: QueueGrowth) -> int:
    """What came in above the pace of before, as far as the queue grew."""
    if queue.rate_before is None or queue.produced is None:
        return 0
    above = queue.produced - round(queue.rate_before * queue.seconds)
    return max(0, min(queue.growth, above))


def pace_before(readings: OffsetReadings, window: StepWindow) -> dict[Place, float]:
    """Messages a second that came into each queue during the step's look-back; only where two readings tell."""
    seen = readings.inside(window.read_from, window.start)
    present, times = readings.present[seen], readings.times[seen]
    if not len(times):
        return {}
    columns = np.flatnonzero(present.any(axis=0))
    first = present.argmax(axis=0)[columns]
    last = len(times) - 1 - present[::-1].argmax(axis=0)[columns]
    before, after = (readings.end_offset[seen][moments, columns] for moments in (first, last))
    tells = (before != UNKNOWN) & (after != UNKNOWN) & (after >= before) & (first < last)
    rates = (after[tells] - before[tells]) / ((times[last[tells]] - times[first[tells]]) / SECOND)
    return {readings.queues[column]: rate for column, rate in zip(columns[tells], rates.tolist(), strict=True)}


def attribution(queues: QueueIntervals, offsets: Mapping[str, OffsetReadings], window: StepWindow) -> list[TopicGrowth]:
    """One per topic with a known lag, by name: how its backlog grew in the step, and what made it grow.

    A queue whose lag stayed as it was adds to no part.
    """

    @cache
    def pace(topic: str) -> dict[Place, float]:
        return pace_before(offsets[topic], window) if topic in offsets else {}

    grown: dict[str, list[QueueGrowth]] = {topic: [] for topic in queues.topics_with_lag}
    for row, place_number, growth, produced in queues.grown():
        topic, allocation = row.interval.topic, row.interval.allocation
        assert allocation is not None
        place, moves = allocation.queues[place_number], row.interval.moves
        grown[topic].append(
            QueueGrowth(
                growth=growth,
                owners=len(allocation.owners[place_number]),
                verdict=row.verdicts[place_number],
                moved=moves is not None and place in moves.handed_over,
                produced=produced,
                seconds=(row.end - row.start) / SECOND,
                rate_before=pace(topic).get(place),
            )
        )
    return [_topic_growth(topic, grown[topic]) for topic in sorted(grown)]


def _topic_growth(topic: str, queues: list[QueueGrowth]) -> TopicGrowth:
    parts = attribute(queues)
    return TopicGrowth(topic, sum(queue.growth for queue in queues), *(parts[part] for part in Part))
