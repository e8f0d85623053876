"""Reads how much of what a question is about was recorded, audited and seen (`domain.coverage`); where the data end."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import chain
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from schemas import COVERAGE, SIGHTINGS
from spark_jobs.domain.coverage import COMPLETE_SHARE, Asked, Coverage, Known, coverage, silent_times
from spark_jobs.domain.kernel.coverage import CoverageRow
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.intervals import EVER, Interval, duration_text, format_utc
from spark_jobs.domain.model.window import HOUR, Time, from_micros, to_micros
from spark_jobs.show.former_coverage import former_rows
from spark_jobs.show.rows import GROUP
from spark_jobs.store.read.forgotten import expectation, forgotten_clusters
from spark_jobs.store.read.published import Checkpoint, PublishedTables, Scope, since
from spark_jobs.store.read.published_rows import coverage_rows_in
from spark_jobs.store.read.stored import Filter, tuples

_OF_CLUSTER = Filter("consumer_group", "IS", None)
#: A cluster of which something was recorded so long before a question is expected.
_REMEMBERED = timedelta(days=7)
_SIGHTING = ("cluster", "consumer_group", "first_at", "last_at", "deleted")


def coverage_of(
    tables: PublishedTables,
    scope: Scope,
    now: datetime = EVER.end,
    complete_share: float = COMPLETE_SHARE,
    *,
    newest: bool = False,
) -> Coverage:
    """The coverage of the scope's time, of which steps that are not over at `now` are left out; without a time, of the
    newest audited step of each cluster. `newest`: the time is the newest one, so that its data can be too old: if they
    ended two steps ago.

    Reads the rows of these steps, and what was seen in them; where one was not audited whole, also the step before.
    """
    if scope.interval is None:
        return _of_newest_steps(tables, scope, now, complete_share)
    steps = [step.start for step in tables.grid.steps(tables.steps(scope.interval))]
    over = [step for step in steps if step + tables.grid.length <= now]
    future = None
    if len(over) < len(steps):
        future = Interval(max(scope.interval.start, steps[len(over)]), scope.interval.end)
    question = _question(tables, scope, over)
    until = _expected(tables, scope, _data_until(audited_clusters(tables, scope.cluster)))
    covered = coverage(question, _known(tables, question, scope.cluster), complete_share)
    return replace(covered, future=future, data_until=until, too_old=_too_old(tables, until, now) if newest else {})


def _of_newest_steps(tables: PublishedTables, scope: Scope, now: datetime, complete_share: float) -> Coverage:
    """Each cluster in its newest step."""
    last_step: dict[str, datetime] = {}
    for group in tables.groups():
        if scope.cluster in (None, group.cluster):
            last_step[group.cluster] = max(group.last_step, last_step.get(group.cluster, group.last_step))
    clusters = audited_clusters(tables, scope.cluster)
    for each in clusters:
        last_step[each.cluster] = max(each.last_step, last_step.get(each.cluster, each.last_step))
    covered, last_step = [], _expected(tables, scope, last_step)
    for cluster, step in sorted(last_step.items()):
        question = _question(tables, scope, [step])
        covered.append(coverage(question, _known(tables, question, cluster), complete_share))
    steps, until = [*last_step.values()], _expected(tables, scope, _data_until(clusters))
    return Coverage(
        Interval(min(steps), max(steps) + tables.grid.length) if steps else None,
        [*chain.from_iterable(each.groups for each in covered)],
        [*chain.from_iterable(each.unaudited for each in covered)],
        [*chain.from_iterable(each.silent for each in covered)],
        data_until=until,
        too_old=_too_old(tables, last_step | until, now),
        audited_until={
            each.cluster: each.last_step + tables.grid.length for each in clusters if each.cluster in last_step
        },
    )


def _expected(tables: PublishedTables, scope: Scope, last: dict[str, datetime]) -> dict[str, datetime]:
    """The last time of each cluster of which something is expected."""
    is_expected = expectation(tables.stored, scope)
    return {cluster: at for cluster, at in last.items() if is_expected(cluster, at)}


class AuditedCluster(NamedTuple):
    """A cluster, the start of the last step in which all its groups were audited, and its last audited snapshot (None:
    there is none).
    """

    cluster: str
    last_step: datetime
    last_snapshot_at: datetime | None


def audited_clusters(tables: PublishedTables, cluster: str | None = None) -> list[AuditedCluster]:
    """Each cluster, or one."""
    return each_once(cluster_spans(tables, tables.checkpoint, cluster))


def cluster_spans(
    tables: PublishedTables, checkpoint: Checkpoint | None, cluster: str | None = None
) -> list[AuditedCluster]:
    """Clusters, several times each: as the checkpoint has them, and in each later step; None: in every step."""
    spans = [
        AuditedCluster(
            row.cluster,
            from_micros(row.step_start),
            None if row.last_snapshot_at is None else from_micros(row.last_snapshot_at),
        )
        for row in _rows(tables, cluster, [_OF_CLUSTER, *since(checkpoint)])
    ]
    spans += (
        AuditedCluster(*row) for known in tables.in_checkpoint("audited_clusters", checkpoint) for row in tuples(known)
    )
    return [each for each in spans if cluster in (None, each.cluster)]


def each_once(spans: Iterable[AuditedCluster]) -> list[AuditedCluster]:
    """Each of the clusters once."""
    return [
        AuditedCluster(
            cluster,
            max(each.last_step for each in of_cluster),
            max((each.last_snapshot_at for each in of_cluster if each.last_snapshot_at), default=None),
        )
        for cluster, of_cluster in by_key(spans, lambda each: each.cluster).items()
    ]


def _data_until(clusters: Iterable[AuditedCluster]) -> dict[str, datetime]:
    """By cluster its last audited snapshot."""
    return {each.cluster: each.last_snapshot_at for each in clusters if each.last_snapshot_at is not None}


def _too_old(tables: PublishedTables, until: Mapping[str, datetime], now: datetime) -> dict[str, timedelta]:
    """The ages of those that are older than two steps."""
    ages = {cluster: now - end for cluster, end in until.items() if now != EVER.end}
    return {cluster: age for cluster, age in ages.items() if age > 2 * tables.grid.length}


def _question(tables: PublishedTables, scope: Scope, steps: Sequence[datetime]) -> Asked:
    time = None if scope.interval is None else (to_micros(scope.interval.start), to_micros(scope.interval.end))
    return Asked([*map(to_micros, steps)], _length(tables), scope.consumer_group, time)


def _length(tables: PublishedTables) -> int:
    return tables.grid.length // timedelta(microseconds=1)


def _known(tables: PublishedTables, question: Asked, cluster: str | None) -> Known:
    if not question.steps:
        return Known(())
    of_steps = coverage_rows(tables, question.steps, cluster)
    whole = {(row.cluster, row.step_start) for row in of_steps if row.consumer_group is None}
    before = from_micros(min(question.steps)) - _REMEMBERED, from_micros(max(question.steps) + question.length)
    remembered = [Filter("hour", ">=", before[0]), Filter("hour", "<", before[1])]
    sighted = {name for (name,) in _sighted(tables, ("cluster",), cluster, remembered)}
    clusters = {row.cluster for row in of_steps} | sighted
    in_part = sorted(
        step for step in question.steps if not clusters or any((name, step) not in whole for name in clusters)
    )
    if not in_part:
        return Known(of_steps)
    expected: dict[str, set[str]] = defaultdict(set)
    recorded: dict[str, set[int]] = defaultdict(set)
    for row in coverage_rows(tables, [step - question.length for step in in_part], cluster):
        if row.consumer_group is not None:
            expected[row.cluster].add(row.consumer_group)
    hours = {at - at % HOUR for step in in_part for at in (*range(step, step + question.length, HOUR), step)}
    of_hours = [Filter("hour", "IN", [*map(from_micros, sorted(hours))])]
    for name, group, first, last, deleted in _sighted(tables, _SIGHTING, cluster, of_hours):
        steps = [at for at in in_part if to_micros(first) < at + question.length and to_micros(last) >= at]
        recorded[name].update(steps)
        if steps and not deleted:
            expected[name].add(group)
    if unseen := sighted - {name for name, _ in whole} - expected.keys():
        of_clusters = [*remembered, Filter("cluster", "IN", sorted(unseen))]
        for name, group in _sighted(tables, ("cluster", "consumer_group"), cluster, of_clusters):
            expected[name].add(group)
    forgotten = {name: to_micros(at) for name, at in forgotten_clusters(tables.stored).items()}
    return Known(of_steps, expected, recorded, forgotten)


def _sighted(
    tables: PublishedTables, columns: Sequence[str], cluster: str | None, conditions: Sequence[Filter]
) -> Iterable[tuple[Any, ...]]:
    """The different rows of `sightings` about groups that keep the conditions."""
    if not tables.stored.exists(SIGHTINGS):
        return []
    of_cluster = [] if cluster is None else [Filter("cluster", "=", cluster)]
    conditions = [Filter("topic", "IS", None), *of_cluster, *conditions]
    return tuples(tables.stored.read(SIGHTINGS, columns, conditions, distinct=True))


def silent_in(
    tables: PublishedTables, cluster: str | None, first: datetime | None, before: datetime | None = None
) -> dict[str, list[Time]]:
    """By cluster the times in which nothing of it was recorded (`domain.coverage.silent_times`), in the steps of
    `[first, before)`; None: no limit.
    """
    limits = [Filter("step_start", operator, at) for operator, at in ((">=", first), ("<", before)) if at is not None]
    of_clusters = _rows(tables, cluster, [_OF_CLUSTER, *limits])
    return silent_times(of_clusters, _length(tables))


def coverage_rows(tables: PublishedTables, steps: Collection[int], cluster: str | None = None) -> list[CoverageRow]:
    """The rows of these steps (microseconds), of every cluster or of one."""
    if not steps:
        return []
    starts = [from_micros(step) for step in sorted(steps)]
    return _rows(tables, cluster, [Filter("step_start", "IN", starts)])


def _rows(tables: PublishedTables, cluster: str | None, conditions: Sequence[Filter]) -> list[CoverageRow]:
    """The rows that keep the conditions; of steps that were audited before there was the table, those of `former_rows`
    that keep what is said of steps.
    """
    published = []
    if tables.stored.exists(COVERAGE):
        published = [*coverage_rows_in(tables.read(COVERAGE, Scope(None, cluster), None, conditions))]
    known = {(row.cluster, row.step_start) for row in published}
    former = former_rows(tables, cluster, [each for each in conditions if each.column == "step_start"])
    return published + [row for row in former if (row.cluster, row.step_start) not in known]


def observed_seconds(tables: PublishedTables, scope: Scope) -> pa.Table:
    """Group, start and observed seconds of each step of the scope's time, as columns: many rows are read at once."""
    published = _SECONDS.empty_table()
    if tables.stored.exists(COVERAGE):
        published = tables.read(COVERAGE, scope, _SECONDS.names).cast(_SECONDS)
        published = published.filter(pc.is_valid(published["consumer_group"]))
    time = tables.steps(scope.interval or EVER)
    of_steps = [Filter("step_start", ">=", time.start), Filter("step_start", "<", time.end)]
    former = former_rows(tables, scope.cluster, of_steps)
    known = {(cluster, to_micros(step)) for cluster, _, step, _ in tuples(published)} if former else ()
    added = [
        row._asdict() | {"step_start": from_micros(row.step_start)}
        for row in former
        if row.consumer_group is not None
        and scope.consumer_group in (None, row.consumer_group)
        and (row.cluster, row.step_start) not in known
    ]
    return pa.concat_tables([published, pa.Table.from_pylist(added, _SECONDS)])


_SECONDS = pa.schema(
    {
        **dict.fromkeys(GROUP, pa.string()),
        "step_start": pa.timestamp("us", "UTC"),
        "observed_seconds": pa.float64(),
    }
)


def observed_shares(tables: PublishedTables, interval: Interval, names: Scope) -> dict[tuple[str, str], float]:
    """By cluster and group the share of the time with snapshots that it should have, from 0 to 1."""
    groups = coverage_of(tables, replace(names, interval=interval)).groups
    return {(group.cluster, group.consumer_group): group.share for group in groups}


def observed_parts(tables: PublishedTables, interval: Interval, names: Scope) -> dict[tuple[str, str], float]:
    """By cluster and group the part of the whole interval in which it was observed, from 0 to 1: also of a group that
    is new in it.
    """
    length = (interval.end - interval.start).total_seconds()
    groups = coverage_of(tables, replace(names, interval=interval)).groups
    return {(group.cluster, group.consumer_group): group.observed_seconds / length for group in groups}


def data_until_text(coverage: Coverage, now: datetime) -> str:
    """A clause: where the data of some clusters end, how long ago, and of which they end earlier."""
    newest = max(coverage.data_until.values())
    earlier = (
        f"; of {name} at {_age_text(end, now)}" for name, end in sorted(coverage.data_until.items()) if end < newest
    )
    return "".join((f"The data end at {_age_text(newest, now)}", *earlier))


def _age_text(end: datetime, now: datetime) -> str:
    return f"{format_utc(end.replace(microsecond=0))}, {duration_text(max(now - end, timedelta()))} ago"
