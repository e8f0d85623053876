"""Steps between the first and the last snapshot of a cluster in which no run has audited all of it, without Spark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from operator import itemgetter
from typing import Any, NamedTuple

import pyarrow.compute as pc

from schemas import AUDIT_RUNS, COVERAGE, SIGHTINGS
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval, StepGrid
from spark_jobs.show.rows import Row
from spark_jobs.store.read.kept import auditable_since
from spark_jobs.store.read.published import covers_clusters
from spark_jobs.store.read.stored import Filter, StoredTables, rows, tuples

_RUN = (
    *("cluster", "consumer_group", "topic", "outcome", "interval_start", "interval_end", "step_seconds"),
    *("finished_at", "source_versions", "configuration_hash", "code_version", "published_versions"),
)
#: Rows of `sightings`: of a group that was not deleted.
_OF_GROUPS = (Filter("topic", "IS", None), Filter("deleted", "IS", None))
_OF_CLUSTER = Filter("consumer_group", "IS", None)
_HOURS = StepGrid(timedelta(hours=1))
#: Steps are looked for from so long before the end of the newest run on, if the question names no time.
_RECENT = timedelta(days=7)
#: A cluster (None: all), and the start of a step.
_Key = tuple[str | None, datetime]


class Why(StrEnum):
    """Why a step is missing."""

    NOT_AUDITED = "NOT_AUDITED"  # by no run, or its snapshots came later
    REJECTED = "REJECTED"  # its data-quality gate was closed


class MissingStep(NamedTuple):
    """A step without a complete audit of the cluster; `run`: the newest run over it of the whole cluster."""

    cluster: str
    step: Interval
    run: Row | None

    @property
    def why(self) -> Why:
        """The gate counts if the newest run was rejected."""
        return Why.REJECTED if self.run and not is_published(self.run) else Why.NOT_AUDITED


class RecordedSteps(NamedTuple):
    """By cluster the steps from its first to its last snapshot, in order, that are over and can still be audited, and
    those that are missing; `runs`: the newest run by cluster (None: all) and start of a step; `first`: the first
    snapshot of any cluster; None: it is unknown what was recorded; `runs_by_end`: the runs, the oldest first. Of a
    question about an interval: no runs that ended before it.
    """

    steps: Mapping[str, Sequence[Interval]]
    missing: Sequence[MissingStep]
    runs: Mapping[_Key, Row]
    first: datetime | None
    runs_by_end: Sequence[Row] = ()


def recorded_steps(
    stored: StoredTables,
    configuration: Configuration,
    now: datetime,
    interval: Interval | None = None,
    read_since: datetime | None = None,
) -> RecordedSteps:
    """The steps of the interval, or of all time; none without the table `sightings`. Raises as `StoredTables.read`.

    `read_since`: what is older is not read, so that the cost does not grow with the age of the warehouse; a cluster
    begins with its first snapshot since then.
    """
    grid, since = configuration.grid, auditable_since(stored, configuration.look_back)

    def is_wanted(step: Interval) -> bool:
        is_asked = interval is None or interval.intersect(step) is not None
        return is_asked and step.end <= now and (since is None or step.start >= since)

    spans = _spans(stored, read_since)
    steps = {
        cluster: [*filter(is_wanted, grid.steps(Interval(grid.floor(first), grid.floor(last) + grid.length)))]
        for cluster, (first, last) in sorted(spans.items())
    }
    runs = _runs_by_end(stored, interval.start if interval and not read_since else read_since)
    of_steps = _later("step_start", read_since and grid.floor(read_since))
    if interval is not None:
        of_steps += [Filter("step_start", ">=", grid.floor(interval.start)), Filter("step_start", "<", interval.end)]
    newest, audited = _newest(runs, grid), _audited(stored, runs, grid, of_steps)
    missing = [
        MissingStep(cluster, step, _newer(newest.get((None, step.start)), newest.get((cluster, step.start))))
        for cluster, of_cluster in steps.items()
        for step in of_cluster
        if audited.isdisjoint([(None, step.start), (cluster, step.start)])
    ]
    first = min((first for first, _ in spans.values()), default=None)
    return RecordedSteps(steps, _without_empty(stored, missing), newest, first, runs)


def _spans(stored: StoredTables, since: datetime | None) -> dict[str, tuple[datetime, datetime]]:
    """By cluster its first and its last snapshot of a group, of hours since then."""
    hours: dict[str, set[datetime]] = defaultdict(set)
    if not stored.exists(SIGHTINGS):
        return {}
    seen = [*_OF_GROUPS, *_later("hour", since and _HOURS.floor(since))]
    for cluster, hour in tuples(stored.read(SIGHTINGS, ("cluster", "hour"), seen, distinct=True)):
        hours[cluster].add(hour)
    spans: dict[str, tuple[datetime, datetime]] = {}
    for cluster, first, last in _seen(stored, {end for each in hours.values() for end in (min(each), max(each))}):
        known = spans.get(cluster, (first, last))
        spans[cluster] = min(first, known[0]), max(last, known[1])
    return spans


def _seen(stored: StoredTables, hours: Collection[datetime]) -> Iterator[tuple[str, datetime, datetime]]:
    """Clusters, with the first and the last snapshot of a group in one of these hours."""
    if hours:
        in_hours = [*_OF_GROUPS, Filter("hour", "IN", sorted(hours))]
        yield from tuples(stored.read(SIGHTINGS, ("cluster", "first_at", "last_at"), in_hours, distinct=True))


def _later(column: str, since: datetime | None) -> list[Filter]:
    return [] if since is None else [Filter(column, ">=", since)]


def _audited(stored: StoredTables, runs: Iterable[Row], grid: StepGrid, of_steps: Sequence[Filter]) -> set[_Key]:
    """The complete audits: rows of clusters in `coverage`, and steps of runs of before there was that table."""
    published = [run for run in runs if is_published(run)]
    audited = {
        key
        for run in published
        if covers_clusters(run) and COVERAGE.name not in run["published_versions"]
        for key in _keys(run, grid)
    }
    if published and stored.exists(COVERAGE):
        version = published[-1]["published_versions"].get(COVERAGE.name)
        conditions = [_OF_CLUSTER, *of_steps]
        audited |= {*tuples(stored.read(COVERAGE, ("cluster", "step_start"), conditions, version))}
    return audited


def _newest(runs: Iterable[Row], grid: StepGrid) -> dict[_Key, Row]:
    return {key: run for run in runs if covers_clusters(run) for key in _keys(run, grid)}


def _keys(run: Row, grid: StepGrid) -> list[_Key]:
    """Of the steps of the run; none of one with another length of steps."""
    if run["step_seconds"] != grid.length.total_seconds():
        return []
    return [(run["cluster"], step.start) for step in grid.steps(Interval(run["interval_start"], run["interval_end"]))]


def _newer(of_all: Row | None, of_cluster: Row | None) -> Row | None:
    return max((run for run in (of_all, of_cluster) if run), key=itemgetter("finished_at"), default=None)


def _without_empty(stored: StoredTables, missing: Sequence[MissingStep]) -> list[MissingStep]:
    """Without the steps in which a published run has found nothing of the cluster, and of which no snapshots came."""
    doubtful = [each for each in missing if each.run and is_published(each.run)]
    seen: dict[str, list[tuple[datetime, datetime]]] = defaultdict(list)
    for cluster, *span in _seen(stored, {hour for each in doubtful for hour in _hours(each.step)}):
        seen[cluster].append((span[0], span[1]))
    empty = {
        (each.cluster, each.step)
        for each in doubtful
        if not any(first < each.step.end and last >= each.step.start for first, last in seen[each.cluster])
    }
    return [each for each in missing if (each.cluster, each.step) not in empty]


def _hours(step: Interval) -> list[datetime]:
    start = _HOURS.floor(step.start)
    return [start + hour * _HOURS.length for hour in range(-((start - step.end) // _HOURS.length))]


def _runs_by_end(stored: StoredTables, since: datetime | None) -> list[Row]:
    """All runs, published or rejected, the oldest first; of intervals that end later than `since`."""
    runs = rows(stored.read(AUDIT_RUNS, _RUN, _later("interval_end", since))) if stored.exists(AUDIT_RUNS) else []
    return sorted(runs, key=itemgetter("finished_at"))


def is_published(run: Row) -> bool:
    """Return whether its gate was open."""
    return bool(run["outcome"] == "published")


def recent_steps(stored: StoredTables, now: datetime, interval: Interval | None = None) -> RecordedSteps:
    """`recorded_steps` of the interval, else of the last 7 days before the end of the newest run; by the step length of
    that run.
    """
    run = _newest_run(stored)
    if run is None:
        return recorded_steps(stored, Configuration(), now, interval)
    read_since = run["interval_end"] - _RECENT if interval is None else None
    return recorded_steps(stored, Configuration(step_seconds=run["step_seconds"]), now, interval, read_since)


def _newest_run(stored: StoredTables) -> Row | None:
    """The run that finished last: its end, and the length of its steps."""
    if not stored.exists(AUDIT_RUNS):
        return None
    runs = stored.read(AUDIT_RUNS, ("finished_at", "interval_end", "step_seconds"))
    newest = runs.filter(pc.equal(runs["finished_at"], pc.max(runs["finished_at"])))
    return next(iter(rows(newest)), None)


def missing_times(recorded: RecordedSteps) -> list[dict[str, Any]] | None:
    """A row per cluster, time and reason: missing steps that follow each other are one time. None: it is unknown what
    was recorded.
    """
    if recorded.first is None:
        return None
    times: list[tuple[str, Interval, Why]] = []
    for cluster, step, why in ((each.cluster, each.step, each.why) for each in recorded.missing):
        if times and (times[-1][0], times[-1][1].end, times[-1][2]) == (cluster, step.start, why):
            times[-1] = cluster, Interval(times[-1][1].start, step.end), why
        else:
            times.append((cluster, step, why))
    return [{"cluster": cluster, "interval": interval, "why": why} for cluster, interval, why in times]
