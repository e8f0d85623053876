"""The parts of a backlog's growth, by what made it grow: every message belongs to exactly one part."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.kernel.audited_step import IntervalProgress
from spark_jobs.domain.kernel.backlog import TopicBacklog
from spark_jobs.domain.kernel.matrices import first_true, last_true
from spark_jobs.domain.model.history import UNKNOWN, Floats, Mask, Numbers, OffsetSamples, Place
from spark_jobs.domain.model.window import SECOND, StepWindow
from spark_jobs.domain.status.backlog import QueueIntervals


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


def growth_parts(
    growth: Numbers,
    stuck: Numbers,
    is_owned: Mask,
    is_handed_over: Mask,
    produced: Numbers,
    seconds: Floats,
    rate_before: Floats,
) -> tuple[Numbers, ...]:
    """The parts of `TopicGrowth`, in its order, by which the lags of queues in rebalance intervals grew between
    samples, in messages, one entry each.

    `stuck`: by how much they grew while their owners did not do their work; `is_handed_over`: they had other owners
    until the interval began; `produced` in the other `seconds`; `rate_before`: messages a second in the look-back, NaN:
    unknown.
    """
    unassigned, stuck_owner = np.where(is_owned, 0, growth), np.where(is_owned, stuck, 0)
    left = growth - unassigned - stuck_owner
    hand_over = np.where(is_handed_over, left, 0)
    left = left - hand_over
    # Messages produced above the pace before the step, at most those by which the queue grew while not stuck.
    is_known = (produced != UNKNOWN) & ~np.isnan(rate_before)
    above = produced - np.where(is_known, np.rint(rate_before * seconds), 0).astype(np.int64)
    producer_surge = np.where(is_known, np.maximum(np.minimum(left, above), 0), 0)
    return unassigned, stuck_owner, hand_over, producer_surge, left - producer_surge


def pace(samples: OffsetSamples, start: int, end: int) -> dict[Place, float]:
    """Messages produced a second to each queue in `[start, end)` (microseconds); only where two samples show it."""
    seen = samples.inside(start, end)
    present, times, ends = samples.present[seen], samples.times[seen], samples.end_offset[seen]
    if not len(times):
        return {}
    columns, first, last = np.arange(len(samples.queues)), first_true(present), last_true(present)
    before, after = ends[first, columns], ends[last, columns]
    is_known = (before != UNKNOWN) & (after != UNKNOWN) & (after >= before) & (first < last)
    rates = (after[is_known] - before[is_known]) / ((times[last[is_known]] - times[first[is_known]]) / SECOND)
    return {samples.queues[column]: rate for column, rate in zip(columns[is_known], rates.tolist(), strict=True)}


def attribution(
    queues: QueueIntervals,
    offsets: Mapping[str, OffsetSamples],
    window: StepWindow,
    backlogs: Sequence[TopicBacklog] = (),
) -> list[TopicGrowth]:
    """One per topic with a known backlog, by name: how it grew in the step, and what made it grow."""
    entries, growth = queues.grown()
    known, stuck_time = queues.column("produced")[entries], queues.column("stuck_time")[entries]
    look_back = window.read_from, window.start
    paces = {topic: pace(offsets[topic], *look_back) for topic in queues.topics_with_lag if topic in offsets}
    of_rows = [
        [of_topic.get(queue, np.nan) for queue in row.queues]
        for row in queues.rows
        for of_topic in [paces.get(row.interval.topic, {})]
    ]
    parts = growth_parts(
        growth,
        queues.column("stuck_growth")[entries],
        queues.per_entry([row.is_owned for row in queues.rows])[entries],
        queues.per_entry([row.is_handed_over for row in queues.rows])[entries],
        np.where(known != UNKNOWN, known - queues.column("stuck_produced")[entries], UNKNOWN),
        (queues.lasting[entries] - stuck_time) / SECOND,
        queues.per_entry([np.array(rates, float) for rates in of_rows])[entries],
    )
    of_row, topics = queues.row[entries], [row.interval.topic for row in queues.rows]
    without_offset = {backlog.topic: backlog.without_offset for backlog in backlogs if backlog.without_offset}
    return [
        _with_unconsumed(
            TopicGrowth(topic, *(int(part[own].sum()) for part in (growth, *parts))),
            without_offset.get(topic, {}),
            next((row for row in reversed(queues.rows) if row.interval.topic == topic), None),
        )
        for topic in sorted(queues.topics_with_lag | without_offset.keys())
        # Python compares: NumPy's texts lose a NUL at their end.
        for own in [np.array([name == topic for name in topics], bool)[of_row]]
    ]


def _with_unconsumed(growth: TopicGrowth, messages: Mapping[Place, int], last: IntervalProgress | None) -> TopicGrowth:
    """The growth with the messages of queues whose offset is not known: `last` says which of them have an owner."""
    owned = dict(zip(last.queues, last.is_owned.tolist(), strict=True)) if last else {}
    stuck = sum(count for queue, count in messages.items() if owned.get(queue))
    total = sum(messages.values())
    return growth._replace(
        growth=growth.growth + total,
        unassigned=growth.unassigned + total - stuck,
        stuck_owner=growth.stuck_owner + stuck,
    )
