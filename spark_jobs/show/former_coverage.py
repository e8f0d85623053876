"""Rows of `coverage` for steps that were audited before there was that table, by what else was published of them."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from schemas import AUDIT_RUNS, COVERAGE, FINDINGS, GROUP_STATUS, REBALANCE_INTERVALS
from spark_jobs.domain.kernel.coverage import MEMBERSHIPS, CoverageRow, Lack, Missing, cluster_coverage
from spark_jobs.domain.model.statuses import Status
from spark_jobs.domain.model.window import SECOND, Time, covered, joined, to_micros, without
from spark_jobs.domain.rules import unobserved
from spark_jobs.store.read.published import IS_PUBLISHED, PublishedTables, Scope, covers_clusters
from spark_jobs.store.read.stored import Filter, rows, tuples

_RUN = ("cluster", "consumer_group", "topic", "interval_start", "interval_end", "published_versions")
_KEY = ("cluster", "consumer_group", "step_start")
_OF_FINDING = ("started_at", "ended_at", "cause", "evidence")
_IS_UNOBSERVED = Filter("rule", "=", unobserved.RULE.name)
#: Step, cluster and group.
_Key = tuple[int, str, str]


def former_rows(tables: PublishedTables, cluster: str | None, of_steps: Sequence[Filter]) -> list[CoverageRow]:
    """The rows of groups, and of clusters that were audited whole, in the steps that keep these conditions and that
    runs audited which published no coverage. Seconds are those in which the group was observed at all; the last
    snapshot is the end of that time.
    """
    runs = rows(tables.stored.read(AUDIT_RUNS, _RUN, [IS_PUBLISHED, *_overlapping(of_steps)]))
    former = [run for run in runs if COVERAGE.name not in run["published_versions"]]
    if not former:
        return []
    length = tables.grid.length // timedelta(microseconds=1)
    every = _groups(tables, Scope(cluster=cluster), of_steps, length)
    groups = [row for row in every if any(_audited(run, row) for run in former)]
    whole = [run for run in former if covers_clusters(run)]
    return [*groups, *(row for row in cluster_coverage(groups, length) if any(_audited(run, row) for run in whole))]


def _overlapping(of_steps: Sequence[Filter]) -> Iterator[Filter]:
    """Conditions that runs over such steps keep."""
    for _, operator, value in of_steps:
        if operator == "<":
            yield Filter("interval_start", "<", value)
        elif steps := [*value] if operator == "IN" else [value]:
            yield Filter("interval_end", ">", min(steps))


def _audited(run: Mapping[str, Any], row: CoverageRow) -> bool:
    is_asked = run["cluster"] in (None, row.cluster) and run["consumer_group"] in (None, row.consumer_group)
    return is_asked and to_micros(run["interval_start"]) <= row.step_start < to_micros(run["interval_end"])


def _groups(tables: PublishedTables, scope: Scope, of_steps: Sequence[Filter], length: int) -> Iterator[CoverageRow]:
    observed: dict[_Key, list[Time]] = defaultdict(list)
    intervals = tables.read(REBALANCE_INTERVALS, scope, (*_KEY, "interval_start", "interval_end", "status"), of_steps)
    for cluster, group, step, start, end, status in tuples(intervals):
        of_group = observed[to_micros(step), cluster, group]
        of_group += [] if status == Status.UNOBSERVED else [(to_micros(start), to_micros(end))]
    findings = tables.read(FINDINGS, scope, (*_KEY, *_OF_FINDING), [_IS_UNOBSERVED, *of_steps])
    missing: dict[_Key, list[Missing]] = defaultdict(list)
    for cluster, group, step, start, end, cause, evidence in tuples(findings):
        if cause != unobserved.SILENT_BROKER:
            reason = Lack.NOT_ANSWERED if cause == unobserved.NOT_ANSWERED else Lack.NO_SNAPSHOTS
            time = to_micros(start), to_micros(end)
            missing[to_micros(step), cluster, group] += (Missing(*time, name, reason) for name in _sources(evidence))
    audited = {
        (to_micros(step), cluster, group)
        for cluster, group, step in tuples(tables.read(GROUP_STATUS, scope, _KEY, of_steps))
    }
    for key in sorted(audited | observed.keys() | missing.keys()):
        yield _group(key, observed.get(key), missing.get(key, ()), length)


def _sources(evidence: Mapping[str, Any]) -> Sequence[str]:
    """The sources without snapshots, of which a finding names each with its topic; members, if it names none."""
    named = {each["name"].partition(":")[0] for each in evidence["conflicting_values"] or ()}
    return sorted(named) or [MEMBERSHIPS]


def _group(key: _Key, observed: Sequence[Time] | None, missing: Sequence[Missing], length: int) -> CoverageRow:
    """`observed`: times of intervals; None: there is no interval, as the group has no topic."""
    start, end = key[0], key[0] + length
    known = joined([*(observed or ()), *(each.time for each in missing)])
    begins = min((since for since, _ in known), default=start)
    if observed is not None:
        unseen = without((begins, end), known)
        missing = [*missing, *(Missing(*time, MEMBERSHIPS, Lack.NO_SNAPSHOTS) for time in unseen)]
    seconds = covered(observed or ()) / SECOND
    return CoverageRow(
        *key,
        (end - begins) / SECOND,
        covered(without((begins, end), joined(each.time for each in missing))) / SECOND,
        *(seconds, seconds, seconds, 0.0),
        min((time[0] for time in observed or ()), default=None),
        max((time[1] for time in observed or ()), default=None),
        missing,
    )
