"""Metrics for Prometheus: the newest step of every group and cluster, and the incidents of it and those still open."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import product
from math import inf
from operator import itemgetter
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from spark_jobs.domain.coverage import NO_COVERAGE, Coverage
from spark_jobs.domain.incidents.team_routes import TeamRoute
from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.model.intervals import EVER, Interval
from spark_jobs.domain.model.severities import SEVERITIES
from spark_jobs.domain.rules.catalog import RULES
from spark_jobs.show.coverage import coverage_of, observed_shares
from spark_jobs.show.files import whole_file
from spark_jobs.show.incidents import recent_incidents, was_seen_in
from spark_jobs.show.rows import GROUP, Row, group_of
from spark_jobs.show.status import published_statuses
from spark_jobs.store.read.published import EVERYTHING, Scope, published_tables
from spark_jobs.store.read.stored import StoredTables

#: Older steps of groups are not exported: groups that are not captured any more disappear, and long incidents stay
#: cheap. Clusters stay.
EXPORTED = timedelta(days=7)


def metrics(
    stored: StoredTables,
    names: Scope = EVERYTHING,
    routes: tuple[TeamRoute, ...] = (),
    progress: Callable[[str], None] = lambda _: None,
    now: datetime = EVER.end,
) -> CollectorRegistry:
    """All gauges, of all groups or those named; those of clusters only if no group is named. Raises
    `NothingPublishedError` for a name that was never audited.
    """
    progress("reading the newest step of every group")
    tables = published_tables(stored)
    length = tables.grid.length
    newest = published_statuses(tables, names)
    if newest.newest_step is None:
        return registry([], [])
    end = newest.newest_step + length
    recent = [row for row in newest.groups if row["step_start"] >= end - EXPORTED and row["deleted_at"] is None]
    starts = {row["step_start"] for row in recent}
    observed = {start: observed_shares(tables, Interval(start, start + length), EVERYTHING) for start in starts}
    groups = [
        row | {"step_end": row["step_start"] + length, "observed": observed[row["step_start"]].get(group_of(row))}
        for row in recent
    ]
    progress("reading the findings")
    last_steps = {row["cluster"]: row["step_start"] for row in sorted(recent, key=itemgetter("step_start"))}
    since = min(last_steps.values(), default=newest.newest_step)
    incidents = recent_incidents(tables, end - EXPORTED, since, names, routes)
    return registry(groups, incidents, NO_COVERAGE if names.consumer_group else coverage_of(tables, names, now))


def write_metrics(gauges: CollectorRegistry, file: Path) -> None:
    """Writes the file whole or not at all; raises `ReportFileError` where it cannot."""
    with whole_file(file, "metrics") as out:
        out.write(generate_latest(gauges))


_PREFIX = "rebalance_audit_"
_KIND = ("rule", "severity")


def registry(
    groups: Sequence[Row], incidents: Sequence[Incident], covered: Coverage = NO_COVERAGE
) -> CollectorRegistry:
    """All gauges: of newest `group_status` rows, with `step_end` and `observed` share, of incidents, and of clusters in
    their newest steps.
    """
    gauges = CollectorRegistry()
    gauges.register(
        _Families([*_group_gauges(groups), *_incident_gauges(groups, incidents), *_cluster_gauges(covered)])
    )
    return gauges


def recorder_registry(oldest_unloaded_seconds: float) -> CollectorRegistry:
    """The gauge of a recorder that loads its files."""
    meaning = "Age of the oldest recorded file that is closed and not loaded; 0: all are loaded"
    gauges = CollectorRegistry()
    gauges.register(_Families([_gauge("capture_unloaded_seconds", meaning, (), {(): oldest_unloaded_seconds})]))
    return gauges


def read_gauge(at: float) -> GaugeMetricFamily:
    """The gauge of a process that serves the others, and its time in seconds since 1970."""
    meaning = "When the other metrics were read, or known to be still those of the newest run, in seconds since 1970"
    return _gauge("metrics_read_timestamp_seconds", meaning, (), {(): at})


class _Families(Collector):
    def __init__(self, families: Iterable[GaugeMetricFamily]) -> None:
        self._families = tuple(families)

    def collect(self) -> Iterable[GaugeMetricFamily]:
        return self._families


#: By name, without the prefix, the value of a gauge of a group (None: absent), and what it means.
_GROUP_GAUGES: Mapping[str, tuple[Callable[[Row], float | None], str]] = {
    "step_end_timestamp_seconds": (lambda row: row["step_end"].timestamp(),
        "End of the newest audited step of the group, in seconds since 1970"),
    "observed_ratio": (itemgetter("observed"), "Share of that step in which the group was observed, from 0 to 1"),
    "members": (itemgetter("member_count"),
        "Connections when last replayed in that step, or last listed if the group broadcasts; absent: never"),
    "queues": (itemgetter("queue_count"), "Readable queues at that time, except retry topics"),
    "unassigned_queues": (itemgetter("unassigned_queues"), "Of these, queues without an owner"),
    "unassigned_queue_seconds": (lambda row: row.get("unassigned_queue_seconds"),
        "Time of its queues without an owner in that step, added up; absent: never replayed"),
    "double_owned_queues": (itemgetter("double_owned_queues"),
        "Of these, queues with several owners that each get every message"),
    "backlog_known": (lambda row: int(row["backlog_end"] is not None),
        "1: the backlog of at least one queue is known at the end of that step; 0: of none"),
    "backlog_messages": (itemgetter("backlog_end"),
        "Messages waiting at the end of that step, in queues whose backlog is known; absent: unknown"),
    "backlog_peak_messages": (lambda row: row.get("backlog_max"),
        "The most messages that waited at one moment of that step; absent: unknown"),
    "backlog_unknown_queues": (itemgetter("unknown_queues"),
        "Queues whose backlog is unknown: no offset was committed, or none was read"),
    "oldest_message_seconds": (lambda row: row["oldest_message_ms"] and row["oldest_message_ms"] / 1000,
        "Highest age of the oldest message that waited in that step; absent: none, or unknown"),
    "utilization_ratio": (itemgetter("utilization"),
        "Messages produced in that step as a part of what the members can consume; absent: unknown"),
    "headroom_messages_per_second": (itemgetter("headroom_messages_per_second"),
        "Messages per second that could be produced in addition before the first member falls behind; absent: unknown"),
    "catch_up_seconds": (lambda row: inf if row["catches_up"] is False else row["catch_up_seconds"],
        "Until the last queue has caught up, at the pace of the last samples; +Inf: never; absent: unknown"),
    "retention_left_seconds": (itemgetter("retention_left_seconds"),
        "Until the broker may delete the first message that waits; absent: none does, or unknown"),
}  # fmt: skip


def _group_gauges(groups: Sequence[Row]) -> Iterator[GaugeMetricFamily]:
    for name, (value_of, meaning) in _GROUP_GAUGES.items():
        values = {group_of(row): value for row in groups if (value := value_of(row)) is not None}
        yield _gauge(name, meaning, GROUP, values)


#: By name what a gauge of incidents means that has a value for every cluster, rule and severity, 0 included.
_KIND_GAUGES = {
    "open_incidents": "Incidents that are not known to be over, each counted once, however many groups it involves",
    "open_incident_groups": "Consumer groups that these incidents involve",
    "step_incidents": "Incidents that were open at some moment of the cluster's newest audited step, also those that "
    "are over",
}


def _incident_gauges(rows: Sequence[Row], incidents: Sequence[Incident]) -> Iterator[GaugeMetricFamily]:
    """Gauges of incidents: per cluster every rule and severity, also those with 0; per group only open ones."""
    newest = {row["cluster"]: row for row in sorted(rows, key=lambda row: row["step_end"])}
    steps = {cluster: Interval(row["step_start"], row["step_end"]) for cluster, row in newest.items()}
    kinds = [*product(sorted(steps), (rule.name for rule in RULES), SEVERITIES)]
    of_steps = [each for each in incidents if each.cluster in steps and was_seen_in(each, steps[each.cluster])]
    opened = [incident for incident in incidents if incident.resolved_at is None]
    groups_of_kinds = {(_kind(incident), group) for incident in opened for group in incident.consumer_groups}
    counts = Counter(map(_kind, opened)), Counter(kind for kind, _ in groups_of_kinds), Counter(map(_kind, of_steps))
    for (name, meaning), per_kind in zip(_KIND_GAUGES.items(), counts, strict=True):
        yield _gauge(name, meaning, ("cluster", *_KIND), {kind: per_kind[kind] for kind in kinds})
    groups = set(map(group_of, rows))
    per_group = Counter(
        (incident.cluster, cost.consumer_group, incident.rule, incident.severity, cost.team or "")
        for incident in opened
        for cost in incident.costs
    )
    yield _gauge(
        "group_open_incidents",
        "Open incidents that involve the group, and whose they are; absent: none",
        (*GROUP, *_KIND, "team"),
        {labels: per_group[labels] for labels in sorted(per_group) if labels[:2] in groups},
    )


def _cluster_gauges(covered: Coverage) -> Iterator[GaugeMetricFamily]:
    """Gauges that outlive silence: an alert on a cluster that is not recorded any more must not end."""
    yield _cluster_gauge(
        "observed_ratio",
        "Mean share of its newest audited step in which its groups were observed, from 0 to 1; 0: its newest snapshot "
        "is older than two steps",
        covered.cluster_shares(),
    )
    yield _cluster_gauge(
        "newest_snapshot_timestamp_seconds",
        "Newest audited snapshot of the cluster, in seconds since 1970",
        {cluster: at.timestamp() for cluster, at in sorted(covered.data_until.items())},
    )
    yield _cluster_gauge(
        "audited_until_timestamp_seconds",
        "End of the newest step in which all its groups were audited, in seconds since 1970",
        {cluster: at.timestamp() for cluster, at in sorted(covered.audited_until.items())},
    )


def _cluster_gauge(name: str, meaning: str, values: Mapping[str, float]) -> GaugeMetricFamily:
    return _gauge(f"cluster_{name}", meaning, ("cluster",), {(cluster,): value for cluster, value in values.items()})


def _kind(incident: Incident) -> tuple[str, str, str]:
    return incident.cluster, incident.rule, incident.severity


def _gauge(
    name: str, meaning: str, labels: Sequence[str], values: Mapping[tuple[str, ...], float]
) -> GaugeMetricFamily:
    gauge = GaugeMetricFamily(_PREFIX + name, meaning, labels=labels)
    for label_values, value in values.items():
        gauge.add_metric(label_values, value)
    return gauge
