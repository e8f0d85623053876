"""Compares two times of one group: before and after a deploy."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import to_micros
from spark_jobs.errors import IntervalError
from spark_jobs.show.incidents import IncidentQuery, published_incidents
from spark_jobs.show.what_if import group_steps
from spark_jobs.store.read.published import Scope, published_tables
from spark_jobs.store.read.stored import StoredTables
from spark_jobs.what_if.outcome import RecordedOutcome, recorded_outcome


@dataclass(frozen=True)
class GroupTime:
    """A group in an interval. `recorded_outcome`: None if owners were never known; `incidents`: opened in it."""

    cluster: str
    consumer_group: str
    interval: Interval
    recorded_outcome: RecordedOutcome | None
    incidents: Sequence[Incident]


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
        outcome = recorded_outcome(group.steps, start, end, group.configured, str(interval))
        incidents = published_incidents(tables, IncidentQuery(interval, group.cluster, group.consumer_group))
        opened = [incident for incident in incidents if start <= incident.opened_at < end]
        times.append(GroupTime(group.cluster, group.consumer_group, interval, outcome, opened))
    return times
