"""Compares two times of one group: before and after a deploy."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.kernel.ownership import Replays
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import to_micros
from spark_jobs.errors import IntervalError
from spark_jobs.show.incidents import IncidentQuery, published_incidents
from spark_jobs.show.what_if import GroupSteps, group_steps
from spark_jobs.store.read.published import Scope, published_tables
from spark_jobs.store.read.stored import StoredTables
from spark_jobs.what_if.outcome import CaseOutcome, recorded_outcome
from spark_jobs.what_if.recorded import Recorded, recorded, within


@dataclass(frozen=True)
class GroupTime:
    """A group in an interval. `outcome`: None if owners were never known; rates None: unknown; `replayed_seconds`: in
    which owners are known; `incidents`: opened in it.
    """

    cluster: str
    consumer_group: str
    interval: Interval
    incidents: Sequence[Incident]
    outcome: CaseOutcome | None = None
    produced_messages_per_second: float | None = None
    consumed_messages_per_second: float | None = None
    replayed_seconds: float = 0.0


def compared_times(
    stored: StoredTables, names: Scope, intervals: Sequence[Interval], say: Callable[[str], None]
) -> list[GroupTime]:
    """A `GroupTime` per interval, in order. Raises `IntervalError` (overlap, order) and `NothingPublishedError`."""
    for before, after in pairwise(intervals):
        if before.end > after.start:
            raise IntervalError(f"{before} does not end before {after} begins: give the earlier interval first")
    tables = published_tables(stored)
    times = []
    for interval in intervals:
        group = group_steps(stored, replace(names, interval=tables.steps(interval)), say)
        start, end = to_micros(interval.start), to_micros(interval.end)
        incidents = published_incidents(tables, IncidentQuery(interval, group.cluster, group.consumer_group))
        opened = [incident for incident in incidents if start <= incident.opened_at < end]
        recording = recorded(group.steps)
        history = recording and within(recording, start, end)
        times.append(_group_time(group, interval, opened, history))
    return times


def _group_time(
    group: GroupSteps, interval: Interval, incidents: Sequence[Incident], history: Recorded | None
) -> GroupTime:
    if history is None:
        return GroupTime(group.cluster, group.consumer_group, interval, incidents)
    course, outcome = history.course, recorded_outcome(history, Replays(group.configured))
    rates = course.rate(course.produced), course.rate(course.consumed)
    return GroupTime(
        group.cluster, group.consumer_group, interval, incidents, outcome, *rates, history.replayed_seconds
    )
