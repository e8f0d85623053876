"""The parts of a backlog's growth, by what made it grow: every message belongs to exactly one part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.kernel.reading_windows import first_true, last_true
from spark_jobs.domain.model.history import UNKNOWN, OffsetReadings, Place
from spark_jobs.domain.model.window import SECOND, StepWindow
from spark_jobs.domain.status.backlog import QueueIntervals


class QueueGrowth(NamedTuple):
    """One queue in one rebalance interval: how its lag grew between readings, in messages (negative: it shrank).

    `stuck`: by how much in the spans of a verdict that says that its owner does not do its work. `owners`: client
    ids, or somebody unseen; `moved`: it had another owner until the interval began; `produced` in `seconds`, those
    spans apart, and `rate_before`, messages a second in the step's look-back: None is unknown.
    """

    growth: int
    stuck: int
    owners: int
    moved: bool
    produced: int | None
    seconds: float
    rate_before: float | None


class TopicGrowth(NamedTuple):
    """How the backlog of one topic grew over a step, and the parts that add up to it, in messages: each goes to the
    first that applies. `stuck_owner` takes only what grew while the owner was stuck.
    """

    topic: str
    growth: int
    unassigned: int
    stuck_owner: int
    hand_over: int
    producer_surge: int
    residual: int


def topic_growth(topic: str, queues: Iterable[QueueGrowth]) -> TopicGrowth:
    """The growth of all these queues of a topic."""
    unassigned = stuck_owner = hand_over = producer_surge = residual = 0
    for queue in queues:
        if queue.owners == 0:
            unassigned += queue.growth
            continue
        stuck_owner += queue.stuck
        growth = queue.growth - queue.stuck
        if queue.moved:
            hand_over += growth
        else:
            surge = _surge(queue, growth)
            producer_surge += surge
            residual += growth - surge
    parts = (unassigned, stuck_owner, hand_over, producer_surge, residual)
    return TopicGrowth(topic, sum(parts), *parts)


def _surge(queue: QueueGrowth, growth: int) -> int:
    """Messages produced above the pace before the step, at most `growth`: what the queue grew while not stuck."""
    if queue.rate_before is None or queue.produced is None:
        return 0
    above = queue.produced - round(queue.rate_before * queue.seconds)
    return max(0, min(growth, above))


def pace_before(readings: OffsetReadings, window: StepWindow) -> dict[Place, float]:
    """Messages produced a second to each queue in the step's look-back; only where two readings show it."""
    seen = readings.inside(window.read_from, window.start)
    present, times = readings.present[seen], readings.times[seen]
    if not len(times):
        return {}
    columns = np.flatnonzero(present.any(axis=0))
    first, last = first_true(present)[columns], last_true(present)[columns]
    before, after = (readings.end_offset[seen][moments, columns] for moments in (first, last))
    is_known = (before != UNKNOWN) & (after != UNKNOWN) & (after >= before) & (first < last)
    rates = (after[is_known] - before[is_known]) / ((times[last[is_known]] - times[first[is_known]]) / SECOND)
    return {readings.queues[column]: rate for column, rate in zip(columns[is_known], rates.tolist(), strict=True)}


def attribution(queues: QueueIntervals, offsets: Mapping[str, OffsetReadings], window: StepWindow) -> list[TopicGrowth]:
    """One per topic with a known lag, by name: how its backlog grew in the step, and what made it grow.

    A queue whose lag stayed as it was adds to no part.
    """

    @cache
    def pace(topic: str) -> dict[Place, float]:
        return pace_before(offsets[topic], window) if topic in offsets else {}

    grown: dict[str, list[QueueGrowth]] = {topic: [] for topic in queues.topics_with_lag}
    for row, place_number, growth, produced in queues.grown():
        topic, moves = row.interval.topic, row.interval.moves
        place = row.queues[place_number]
        grown[topic].append(
            QueueGrowth(
                growth=growth,
                stuck=int(row.stuck_growth[place_number]),
                owners=len(row.owner_ids(place_number)),
                moved=moves is not None and place in moves.handed_over,
                produced=None if produced is None else produced - int(row.stuck_produced[place_number]),
                seconds=(row.end - row.start - int(row.stuck_time[place_number])) / SECOND,
                rate_before=pace(topic).get(place),
            )
        )
    return [topic_growth(topic, grown[topic]) for topic in sorted(grown)]
