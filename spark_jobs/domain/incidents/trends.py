"""How each group fares from week to week, and which got worse. Times are microseconds."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.model.history import Mask, Numbers
from spark_jobs.domain.model.severities import INFO
from spark_jobs.domain.model.window import HOUR, SECOND
from spark_jobs.domain.rules import rollout

WEEK = 7 * 24 * HOUR
#: Cluster and consumer group.
Group = tuple[str, str]


class IntervalColumns(NamedTuple):
    """Rows of `rebalance_intervals`, column by column. `group`: the place of its group in a list; `is_wrong`: a queue
    has no owner, or two; `is_rebalance`: it is replayed, and something triggered it.
    """

    group: Numbers
    start: Numbers
    end: Numbers
    is_wrong: Mask
    is_rebalance: Mask
    queues_moved: Numbers


class StepColumns(NamedTuple):
    """Rows of `coverage`, one per group and step, column by column. `observed`: how much of the step was."""

    group: Numbers
    start: Numbers
    observed: Numbers


class IncidentSpan(NamedTuple):
    """From when to when an incident lasted (`resolved_at` None: it is open), and whose it is."""

    cluster: str
    consumer_groups: Sequence[str]
    rule: str
    severity: str
    opened_at: int
    resolved_at: int | None


class GroupWeek(NamedTuple):
    """One week of one group, `[start, end)`; None is unknown. `incidents`: opened in it, without INFO rollouts;
    `wrong_minutes`: while a queue had no owner, or two; `rebalances`: moments of any topic; `seconds_to_resolve`:
    median of its incidents that are over; `rollouts`: all that began in it.
    """

    start: int
    end: int
    incidents: int
    wrong_minutes: float | None
    rebalances: int | None
    queues_moved: int | None
    seconds_to_resolve: float | None
    observed_share: float
    rollouts: int = 0


class GroupTrend(NamedTuple):
    """The weeks of one group, the oldest first."""

    cluster: str
    consumer_group: str
    weeks: tuple[GroupWeek, ...]

    @property
    def worsening(self) -> tuple[float, int, int]:
        """How many more wrong minutes, incidents and rebalances the last week has than the one before; unknown: 0."""
        before, last = self.weeks[-2:] if len(self.weeks) > 1 else (self.weeks[-1],) * 2
        if before.wrong_minutes is None or last.wrong_minutes is None:
            return 0, 0, 0
        rebalances = (last.rebalances or 0) - (before.rebalances or 0)
        return last.wrong_minutes - before.wrong_minutes, last.incidents - before.incidents, rebalances


def weeks(start: int, end: int) -> list[tuple[int, int]]:
    """Weeks counted back from the end, the oldest first: it may be shorter."""
    newest_first = [(max(start, last - WEEK), last) for last in range(end, start, -WEEK)]
    return newest_first[::-1]


#: Of one week of one group: times that are wrong and observed, rebalances, queues moved.
_Counts = tuple[int, int, int, int]


def trends(
    groups: Sequence[Group],
    spans: Sequence[tuple[int, int]],
    intervals: IntervalColumns,
    steps: StepColumns,
    incidents: Iterable[IncidentSpan],
) -> list[GroupTrend]:
    """One per group, what got worse first. The spans follow each other; no interval or step crosses one's bounds."""
    counted = _counted(intervals, steps, spans, len(groups) * len(spans))
    opened = _opened(incidents, spans)
    group_trends = (
        GroupTrend(*group, tuple(_week(span, next(counted), opened[group, week]) for week, span in enumerate(spans)))
        for group in groups
    )
    return sorted(
        group_trends,
        key=lambda trend: (*(-increase for increase in trend.worsening), trend.cluster, trend.consumer_group),
    )


def _week(span: tuple[int, int], counts: _Counts, opened: Sequence[IncidentSpan]) -> GroupWeek:
    (start, end), (wrong, observed, rebalances, queues_moved) = span, counts
    rollouts = [incident for incident in opened if incident.rule == rollout.RULE.name]
    faults = [incident for incident in opened if incident not in rollouts or incident.severity != INFO]
    over = [incident.resolved_at - incident.opened_at for incident in faults if incident.resolved_at is not None]
    is_known = observed > 0
    return GroupWeek(
        start=start,
        end=end,
        incidents=len(faults),
        wrong_minutes=wrong / (60 * SECOND) if is_known else None,
        rebalances=rebalances if is_known else None,
        queues_moved=queues_moved if is_known else None,
        seconds_to_resolve=median(over) / SECOND if over else None,
        observed_share=observed / (end - start),
        rollouts=len(rollouts),
    )


def _counted(
    intervals: IntervalColumns, steps: StepColumns, spans: Sequence[tuple[int, int]], cells: int
) -> Iterator[_Counts]:
    """One per group and week, in the order of both."""
    bounds = np.array([start for start, _ in spans])
    week = np.searchsorted(bounds, intervals.start, side="right") - 1
    cell = intervals.group * len(spans) + week
    # Each cell's times after those of the cell before.
    shift = cell * WEEK - bounds[week]
    times = cell, intervals.start + shift, intervals.end + shift
    wrong = _covered(*times, intervals.is_wrong, cells)
    observed = np.zeros(cells, np.int64)
    np.add.at(
        observed, steps.group * len(spans) + np.searchsorted(bounds, steps.start, side="right") - 1, steps.observed
    )
    moments = np.unique(times[1][intervals.is_rebalance]) // WEEK
    moved = np.zeros(cells, np.int64)
    np.add.at(moved, cell, intervals.queues_moved)
    rebalances = np.bincount(moments, minlength=cells)
    return zip(wrong.tolist(), observed.tolist(), rebalances.tolist(), moved.tolist(), strict=True)


def _opened(
    incidents: Iterable[IncidentSpan], spans: Sequence[tuple[int, int]]
) -> defaultdict[tuple[Group, int], list[IncidentSpan]]:
    """By group and week the incidents that opened then."""
    by_group_and_week: defaultdict[tuple[Group, int], list[IncidentSpan]] = defaultdict(list)
    for incident in incidents:
        for number, (start, end) in enumerate(spans):
            if start <= incident.opened_at < end:
                for consumer_group in incident.consumer_groups:
                    by_group_and_week[(incident.cluster, consumer_group), number].append(incident)
    return by_group_and_week


def _covered(cell: Numbers, start: Numbers, end: Numbers, wanted: Mask, cells: int) -> Numbers:
    """By cell how long its wanted intervals cover together; no cell's times reach into those of the next."""
    cell, start, end = cell[wanted], start[wanted], end[wanted]
    order = np.lexsort((start, cell))
    cell, start, end = cell[order], start[order], end[order]
    before = np.concatenate([start[:1], np.maximum.accumulate(end)[:-1]])
    total = np.zeros(cells, np.int64)
    np.add.at(total, cell, np.maximum(0, end - np.maximum(start, before)))
    return total
