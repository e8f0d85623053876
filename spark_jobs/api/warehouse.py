"""A warehouse that was audited, and the questions that it answers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from schemas import FINDINGS, OUTPUTS, SOURCES, Table
from spark_jobs.api.answers import Explanation, Report
from spark_jobs.api.errors import check_no_connect, only_own_errors
from spark_jobs.config import Configuration
from spark_jobs.config.file import load
from spark_jobs.domain.model.intervals import Interval, as_utc, check_begun, parse_utc
from spark_jobs.domain.phrases import did_you_mean, short_repr
from spark_jobs.errors import WarehouseError
from spark_jobs.show.coverage import coverage_of
from spark_jobs.show.explain import explain_group
from spark_jobs.show.incidents import IncidentQuery, Incidents, incidents_and_unknown, is_wanted, publish_incidents
from spark_jobs.show.status import Statuses, statuses
from spark_jobs.show.tabular import PublishedRows
from spark_jobs.show.trends import Trends, trends_of
from spark_jobs.store.location import Location
from spark_jobs.store.read.delta import DeltaTables, is_reached
from spark_jobs.store.read.published import PublishedTables, Scope, check_names, newest_configuration, published_tables
from spark_jobs.store.read.stored import StoredTables

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from pyspark.sql import SparkSession

    from spark_jobs.domain.coverage import Coverage
    from spark_jobs.domain.incidents.values import Incident
    from spark_jobs.pipeline.run_record import RunRecord
    from spark_jobs.pipeline.run_spec import RunSpec
    from spark_jobs.show.what_if import FleetSize, GroupPlan, GroupRollout, GroupSize, WhatIf

#: A time in UTC, or as ISO 8601: without an offset it is UTC.
Moment = datetime | str
#: Where a time begins: at a moment, or so long before its end; and where it ends. `AuditedWarehouse` says what None is.
Since = Moment | timedelta | None
Until = Moment | None
_A_DAY = timedelta(days=1)


def open_warehouse(
    warehouse: Path | str,
    config: Configuration | Path | str | None = None,
    progress: Callable[[str], None] = lambda _: None,
    spark: SparkSession | None = None,
) -> AuditedWarehouse:
    """The warehouse at a path, an object store's URI or a catalog's name. `config`: that of its runs, or its YAML file,
    which also says whose the groups are; `progress` is called with what is being done; `spark`: an own session, which
    audits and reads what only Spark reads; it stays as it is.

    Nothing is read yet. Raises `WarehouseError` for a name that cannot be one, `ConfigurationError`, `SetupError` for a
    session of Spark Connect.
    """
    check_no_connect(spark)
    configuration = config if isinstance(config, Configuration) else load(config)
    return AuditedWarehouse(Location.parse(str(warehouse)), configuration, progress, spark)


@only_own_errors
@dataclass(frozen=True)
class AuditedWarehouse:
    """The questions that a warehouse answers. Each answer is of what is published when it is asked.

    `since` and `until` are the time of a question. Without `until` it ends with the newest audited step, without
    `since` it begins with the first one. A `since` that is a timedelta is so long before `until`, or before the end of
    the newest audited step of the cluster.
    Without both, the whole history counts, if the question says nothing else. `cluster` is only needed if two have a
    group of one name. `clock` gives the current time.

    Every question raises `NothingPublishedError` for a name or time of which nothing was published, `WarehouseError`
    where the tables cannot be read, `SchemaMismatchError` where they are of another version, `IntervalError` for a time
    that cannot be read, or is in the future.
    """

    location: Location
    configuration: Configuration
    progress: Callable[[str], None]
    spark: SparkSession | None = None
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)

    def __str__(self) -> str:
        return self.location.location

    __repr__ = short_repr

    @cached_property
    def stored(self) -> StoredTables:
        """The tables as they are: by delta-rs, else by Spark, which takes longer."""
        if is_reached(self.location):
            return DeltaTables(self.location)
        kind = "a catalog" if self.location.in_catalog else f"{self.location.scheme}://"
        self.progress(f"only Spark reads {kind}: this takes longer than a path or an object store")
        from spark_jobs.store.read.through_spark import SparkTables
        from spark_jobs.store.warehouse import Warehouse

        return SparkTables(self._session(), Warehouse.parse(self.location.location))

    def _session(self) -> SparkSession:
        """A session for SQL: a separate one of the user's Spark, else one that is started."""
        from spark_jobs.api.start import start_spark
        from spark_jobs.runtime.borrowed import session_beside

        return start_spark(self.progress) if self.spark is None else session_beside(self.spark)

    @property
    def published(self) -> PublishedTables:
        """The tables as the newest run published them."""
        return published_tables(self.stored)

    @property
    def _complete_share(self) -> float:
        """That of the configuration if it sets one, else that of the newest run."""
        if "complete_share" in self.configuration.model_fields_set:
            return self.configuration.complete_share
        return float(newest_configuration(self.stored).get("complete_share", self.configuration.complete_share))

    def status(self, group: str | None = None, *, cluster: str | None = None) -> Statuses:
        """The newest step of every group, or of one: a row each, what needs attention first."""
        share = self._complete_share
        return statuses(self.stored, Scope(None, cluster, group), self.progress, self.clock(), share)

    def coverage(
        self, group: str | None = None, *, cluster: str | None = None, since: Since = None, until: Until = None
    ) -> Coverage:
        """How much of the time was recorded, audited and seen; without a time, of the newest steps."""
        tables, scope = self.published, self._scope(group, cluster, since, until)
        check_names(tables, scope.ever)
        share = self._complete_share
        return coverage_of(tables, scope, self.clock(), share, newest=until is None)

    def incidents(
        self,
        group: str | None = None,
        *,
        cluster: str | None = None,
        since: Since = None,
        until: Until = None,
        is_open: bool = False,
        incident_id: str | None = None,
        rule: str | None = None,
        severity: str | None = None,
        client: str | None = None,
    ) -> Incidents:
        """The incidents seen in the time, whole from their beginning, the newest first: a row each.

        `is_open`: only what is not over; `rule`: of which one of its findings is; `client`: a part of a client id that
        it names.
        """
        conditions = (is_open, incident_id, rule, severity, client, self.configuration.routes)
        query = IncidentQuery(self.time(since, until, cluster), cluster, group, *conditions)
        now, share = self.clock(), self._complete_share
        return incidents_and_unknown(self.stored, query, self.progress, now, None, share, newest=until is None)

    def create_sources(self) -> None:
        """Create the source tables that are missing, for snapshots of another program (docs/snapshots.md). The schema
        of a catalog must exist. Raises `SetupError` as `run`.
        """
        from spark_jobs.store.warehouse import Warehouse

        Warehouse.parse(self.location.location).create(self._session(), SOURCES)

    def publish_incidents(self) -> Incidents:
        """Write the incidents of the whole history to the table `incidents`, and return them, the newest first."""
        folded = publish_incidents(self.stored, self.configuration.routes)
        share = self._complete_share
        return incidents_and_unknown(self.stored, IncidentQuery(), self.progress, self.clock(), folded, share)

    def findings(
        self, group: str | None = None, *, cluster: str | None = None, since: Since = None, until: Until = None
    ) -> PublishedRows:
        """A row per finding and step: the table `findings`."""
        return self.rows(FINDINGS.name, group, cluster=cluster, since=since, until=until)

    def rows(
        self,
        table: str,
        group: str | None = None,
        *,
        cluster: str | None = None,
        since: Since = None,
        until: Until = None,
    ) -> PublishedRows:
        """The rows of a published table whose steps meet the time, in any order."""
        tables, scope = self.published, self._scope(group, cluster, since, until)
        published = tables.read(_output(table), scope)
        if not published.num_rows:
            check_names(tables, scope)
        return PublishedRows(published)

    def explain(self, group: str, at: Moment, *, cluster: str | None = None, topic: str | None = None) -> Explanation:
        """Who owned which queue at that moment and why, and what was wrong; of all topics, or of one."""
        names, share = Scope(None, cluster, group), self._complete_share
        return Explanation(explain_group(self.stored, names, _utc(at), topic, self.progress, share))

    def what_if(
        self,
        group: str,
        *cases: str,
        cluster: str | None = None,
        since: Since = None,
        until: Until = None,
        **options: object,
    ) -> WhatIf:
        """The recorded history alongside what it would have been; without a time the group's newest step.

        The options are one case, `members="+2", unique_ids=True`; each of `cases` is a further one, as on the command
        line: `"--strategy CONSISTENT_HASH --load x2"`. docs/what-if.md lists them. Raises `CaseError`, also without a
        case, and `TypeError` for an option that does not exist.
        """
        from spark_jobs.show.what_if import what_if
        from spark_jobs.what_if.case_words import CASE_OPTIONS, case_words, cases_of

        if unknown := options.keys() - CASE_OPTIONS:
            raise TypeError(f"what_if has no {', '.join(sorted(unknown))}: its options are {', '.join(CASE_OPTIONS)}")
        wanted = cases_of(case_words(options), cases)
        return what_if(self.stored, self._scope(group, cluster, since, until), wanted, self.progress)

    def plan(
        self, group: str, members: int, *, cluster: str | None = None, since: Since = None, until: Until = None
    ) -> GroupPlan:
        """The group as it was at last, with up to so many members less and more."""
        from spark_jobs.show.what_if import planned

        return planned(self.stored, self._scope(group, cluster, since, until), members, self.progress)

    def rollout(
        self, group: str, *orders: str, cluster: str | None = None, since: Since = None, until: Until = None
    ) -> GroupRollout:
        """Return what the group's last rollout did, and would have done in these orders: "one-wave", "one-by-one",
        "new-first"; without one in all. Raises `CaseError` for another order.
        """
        from spark_jobs.show.what_if import rollout
        from spark_jobs.what_if.rollout import ORDERS

        scope = self._scope(group, cluster, since, until)
        return rollout(self.stored, scope, orders or [*ORDERS], self.progress)

    def size(
        self,
        group: str,
        *,
        utilization: float | None = 0.7,
        backlog: int | None = None,
        drained: float | None = None,
        load: float = 1.0,
        cluster: str | None = None,
        since: Since = None,
        until: Until = None,
    ) -> GroupSize:
        """The fewest members for each goal, with so many times the messages; of the last day if no time is given.

        The goals: that the busiest member does at most that share of what it can at the peak (0 to 1), never more
        messages behind, and drained within so many seconds.
        """
        from spark_jobs.show.what_if import sized
        from spark_jobs.what_if.size import Goals

        scope = self._scope(group, cluster, _a_day_or(since, until), until)
        goals = Goals(utilization, backlog, drained)
        return sized(self.stored, scope, goals, load, self.progress)

    def fleet_size(
        self,
        utilization: float,
        *,
        load: float = 1.0,
        spare: int = 1,
        cluster: str | None = None,
        since: Since = None,
        until: Until = None,
    ) -> FleetSize:
        """The members that keep each group's busiest one at that utilization (0 to 1), of which up to `spare` more are
        kept; default time: the last day. No verdict on a group with an open incident, or observed for less than half.
        """
        from spark_jobs.show.what_if import fleet_needs

        scope = self._scope(None, cluster, _a_day_or(since, until), until)
        return fleet_needs(self.stored, scope, utilization, load, spare, self.progress)

    def trends(self, group: str | None = None, *, cluster: str | None = None, days: int = 28) -> Trends:
        """How every group fared week by week, what got worse first: a row per group and week."""
        return trends_of(self.stored, Scope(None, cluster, group), days, self.progress)

    def metrics(self, group: str | None = None, *, cluster: str | None = None) -> CollectorRegistry:
        """Metrics for Prometheus: gauges of the newest steps of groups and clusters, and of open incidents."""
        from spark_jobs.show.metrics import metrics

        routes = self.configuration.routes
        return metrics(self.stored, Scope(None, cluster, group), routes, self.progress, self.clock())

    def report(
        self,
        group: str | None = None,
        *,
        cluster: str | None = None,
        since: Since = None,
        until: Until = None,
        detailed: int = 20,
    ) -> Report:
        """The page of the time, of the last day if none is given, with charts of the `detailed` worst groups."""
        from spark_jobs.show.report import report

        names = self._scope(group, cluster, _a_day_or(since, until), until)
        routes, share = self.configuration.routes, self._complete_share
        return Report(report(self.stored, names, self.progress, detailed, routes, self.clock(), share))

    def run(
        self,
        interval: Interval | str,
        config: Path | str | None = None,
        *,
        cluster: str | None = None,
        group: str | None = None,
        topic: str | None = None,
        scale: str | None = None,
        spark: SparkSession | None = None,
    ) -> RunRecord:
        """Audits whole steps and publishes them: the same run again gives the same tables. `config` and `spark` count
        in the place of those of the warehouse. A session that is given does not change. Without one, Spark is started
        and stays started, and from then on the times of this process are UTC.

        Raises `SetupError` where Spark, Java or Delta's jars are missing, or the session cannot audit, else as
        `pipeline.run.run` does.
        """
        from spark_jobs.pipeline.run_spec import RunSpec

        check_no_connect(spark)
        configuration = self.configuration if config is None else load(config)
        time = Interval.parse(interval) if isinstance(interval, str) else interval
        return self.audit(RunSpec(time, cluster, group, topic), configuration, scale, spark)[0]

    def audit(
        self,
        spec: RunSpec,
        configuration: Configuration | None = None,
        scale: str | None = None,
        spark: SparkSession | None = None,
    ) -> tuple[RunRecord, list[Incident]]:
        """`run`, with the incidents that were seen in its time, the newest first."""
        configuration = configuration or self.configuration
        configuration.grid.check_steps(spec.interval, self.clock())
        from spark_jobs.api.start import snapshots_of, spark_for
        from spark_jobs.pipeline.run import run
        from spark_jobs.runtime.borrowed import borrowed
        from spark_jobs.store.read.through_spark import stored_in
        from spark_jobs.store.warehouse import Warehouse

        warehouse, given = Warehouse.parse(self.location.location), spark or self.spark
        with ExitStack() as stack:
            if given is not None:
                own = stack.enter_context(borrowed(given))
            else:
                own = spark_for(self.location, scale, self.progress, snapshots_of(spec.interval))
            record = run(own, warehouse, spec, configuration, self.progress)
            folded = publish_incidents(stored_in(own, warehouse), configuration.routes, spec.interval)
        query = IncidentQuery(None, spec.cluster, spec.consumer_group)
        return record, [incident for incident in folded if is_wanted(incident, query)]

    def _scope(self, group: str | None, cluster: str | None, since: Since, until: Until) -> Scope:
        return Scope(self.time(since, until, cluster), cluster, group)

    def time(self, since: Since = None, until: Until = None, cluster: str | None = None) -> Interval | None:
        """The time of a question; None if nothing of it is given. Raises `IntervalError` for one in the future."""
        if since is None and until is None:
            return None
        if isinstance(since, timedelta):
            time = self.published.last(since, cluster) if until is None else Interval(_utc(until) - since, _utc(until))
        else:
            tables = self.published
            end = tables.last(tables.grid.length).end if until is None else _utc(until)
            start = min(group.first_step for group in tables.groups()) if since is None else _utc(since)
            time = Interval(start, end)
        check_begun(time, self.clock())
        return time


def _utc(moment: Moment) -> datetime:
    return parse_utc(moment) if isinstance(moment, str) else as_utc(moment)


def _a_day_or(since: Since, until: Until) -> Since:
    return _A_DAY if since is None and until is None else since


def _output(name: str) -> Table:
    known = {table.name: table for table in OUTPUTS}
    if name not in known:
        raise WarehouseError(f"no run publishes a table {name}: {did_you_mean(name, known) or ', '.join(known)}")
    return known[name]
