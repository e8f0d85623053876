"""Delete the days of snapshots, of results, and of what was rejected, that are older than they are kept; and retire
clusters, of which no answer and no later run expects anything.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from types import MappingProxyType

from pyspark.sql import SparkSession

from schemas import (
    AUDIT_RUNS,
    CAPTURE_CALLS,
    CLIENT_STACKS,
    GROUP_STATUS,
    INCIDENTS,
    MEMBERSHIP_SNAPSHOTS,
    NOTICES,
    OUTPUTS,
    QUALITY_RESULTS,
    QUARANTINE,
    SIGHTINGS,
    SOURCES,
    Table,
)
from spark_jobs.domain.incidents.notices import BACK, REJECTED, RESOLVED, WITHDRAWN
from spark_jobs.domain.model.intervals import duration_text, format_utc
from spark_jobs.domain.phrases import count, did_you_mean
from spark_jobs.errors import NothingPublishedError, WarehouseError
from spark_jobs.pipeline.publish.turns import turn_without_run
from spark_jobs.pipeline.run_context import Progress
from spark_jobs.show.coverage import coverage_of
from spark_jobs.store.conflicts import retry_on_conflict
from spark_jobs.store.read.forgotten import property_of
from spark_jobs.store.read.kept import KEPT_SINCE, kept_since
from spark_jobs.store.read.published import Scope, published_tables
from spark_jobs.store.read.stored import Filter, StoredTables, tuples
from spark_jobs.store.read.through_spark import all_of, stored_in
from spark_jobs.store.warehouse import Warehouse

#: The times of each table's rows, all of which are before the day that is kept; the first is shown. An incident without
#: an end, and what older versions rejected at an unknown time, stay.
_OF_SNAPSHOTS = MappingProxyType(
    dict.fromkeys((*SOURCES, CAPTURE_CALLS, CLIENT_STACKS), ("captured_at",)) | {SIGHTINGS: ("hour",)}
)
_OF_RESULTS = MappingProxyType(
    dict.fromkeys((*OUTPUTS, QUALITY_RESULTS), ("step_start",))
    | {AUDIT_RUNS: ("interval_end", "finished_at"), INCIDENTS: ("resolved_at",), NOTICES: ("sent_at",)}
)
_OF_QUARANTINE = MappingProxyType({QUARANTINE: ("rejected_at",)})
_TIMES = _OF_SNAPSHOTS | _OF_RESULTS | _OF_QUARANTINE
#: Events of notifications that no other one follows.
_ENDS = frozenset((RESOLVED, WITHDRAWN, REJECTED, BACK))
#: No configuration lets a step remember sightings for longer: without them a step that is kept would change.
_LONGEST_MEMORY = timedelta(days=365)


@dataclass(frozen=True)
class Keep:
    """How long rows are kept, in whole days; None: for ever."""

    snapshots: timedelta | None = None
    results: timedelta | None = None
    quarantine: timedelta | None = None

    def since(self, now: datetime) -> dict[Table, datetime]:
        """Return midnight, UTC, from which on the rows of each table are kept; without those that are kept for ever."""
        today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        since: dict[Table, datetime] = {}
        of_tables = (self.snapshots, _OF_SNAPSHOTS), (self.results, _OF_RESULTS), (self.quarantine, _OF_QUARANTINE)
        for length, tables in of_tables:
            if length is not None:
                since |= dict.fromkeys(tables, today - length)
        if SIGHTINGS in since:
            since[SIGHTINGS] -= _LONGEST_MEMORY
        return since


@dataclass(frozen=True)
class ExpiredRows:
    """Rows of a table that are older than they are kept: number, first time, and the midnight (UTC) after them."""

    table: str
    rows: int
    first: datetime
    before: datetime

    def __str__(self) -> str:
        return f"{self.table}: {self.rows:,} rows, {format_utc(self.first)} to {format_utc(self.before)}"


def expired_rows(stored: StoredTables, keep: Keep, progress: Progress = lambda _: None) -> list[ExpiredRows]:
    """Count the rows that `delete_expired` deletes, per table. Raises `WarehouseError` if there is no table."""
    expired = []
    if not stored.exists(SOURCES[0]):
        raise stored.location.without(SOURCES[0])
    for table, before in keep.since(datetime.now(UTC)).items():
        if stored.exists(table):
            progress(f"counting old rows of {table.name}")
            number, first = stored.count(table, _TIMES[table][0], _expired(stored, table, before))
            if first is not None:
                expired.append(ExpiredRows(table.name, number, first, before))
    return expired


def _expired(stored: StoredTables, table: Table, before: datetime) -> list[Filter]:
    """The conditions of rows to be deleted; a notification of an incident that is still open stays."""
    conditions = [Filter(time, "<", before) for time in _TIMES[table]]
    return [*conditions, Filter("incident_id", "NOT IN", _followed(stored))] if table == NOTICES else conditions


def _followed(stored: StoredTables) -> list[str]:
    """The ids of which the newest notification to a target is not of an end."""
    newest = {
        (target, incident_id): event
        for _, target, incident_id, event in sorted(
            tuples(stored.read(NOTICES, ("sent_at", "target", "incident_id", "event")))
        )
    }
    return sorted({incident_id for (_, incident_id), event in newest.items() if event not in _ENDS})


def delete_expired(
    spark: SparkSession, warehouse: Warehouse, keep: Keep, progress: Progress = lambda _: None
) -> list[ExpiredRows]:
    """Delete whole days of rows that are older than they are kept, and return what was deleted.

    `membership_snapshots` and `group_status` first record since when rows are kept, so that no step with deleted
    snapshots is audited, even after an interruption. Runs wait meanwhile before they publish. Older versions stay
    readable as `maintain` keeps them. Raises as `expired_rows`, and `PublishConflictError` without a gap.
    """
    by_name = {rows.table: rows for rows in expired_rows(stored_in(spark, warehouse), keep, progress)}
    snapshots, results, quarantine = (
        {table: by_name[table.name] for table in tables if table.name in by_name}
        for tables in (_OF_SNAPSHOTS, _OF_RESULTS, _OF_QUARANTINE)
    )
    _delete(spark, warehouse, snapshots, progress, marked=MEMBERSHIP_SNAPSHOTS)
    if results:
        with turn_without_run(spark, warehouse):
            _delete(spark, warehouse, results, progress, marked=GROUP_STATUS)
    _delete(spark, warehouse, quarantine, progress)
    return [*by_name.values()]


def _delete(
    spark: SparkSession,
    warehouse: Warehouse,
    expired: Mapping[Table, ExpiredRows],
    progress: Progress,
    marked: Table | None = None,
) -> None:
    """Rows that were deleted once stay deleted, though more are kept now: a mark never goes back."""
    stored = stored_in(spark, warehouse)
    if expired and marked is not None:
        warehouse.create(spark, [marked])
        marks = (kept_since(stored, marked), *(rows.before for rows in expired.values()))
        warehouse.set_properties(spark, marked, {KEPT_SINCE: format_utc(max(filter(None, marks)))})
    for table, rows in expired.items():
        progress(f"deleting old rows of {table.name}")
        condition = all_of(_expired(stored, table, rows.before))
        delete = partial(warehouse.delta_table(spark, table).delete, condition)
        retry_on_conflict(delete, f"delete old rows of {table.name}")


#: A cluster with a younger snapshot is still recorded.
_SILENT_FOR = timedelta(days=1)


@dataclass(frozen=True)
class ForgottenCluster:
    """A cluster, how many groups of it were audited, its newest snapshot (None: unknown), and since when it is
    forgotten.
    """

    cluster: str
    groups: int
    newest_snapshot: datetime | None
    forgotten_at: datetime

    def __str__(self) -> str:
        newest = "unknown" if self.newest_snapshot is None else format_utc(self.newest_snapshot.replace(microsecond=0))
        return f"{self.cluster}: {count(self.groups, 'group')}, newest snapshot {newest}"


def forgettable(stored: StoredTables, cluster: str, now: datetime) -> ForgottenCluster:
    """The cluster as it is forgotten now. Raises `NothingPublishedError` for an unknown name, `WarehouseError`
    if snapshots of the cluster are still recorded, or without tables.
    """
    tables = published_tables(stored)
    groups = [group.cluster for group in tables.groups()]
    if cluster not in groups:
        hint = did_you_mean(cluster, set(groups)) or f"audited clusters: {', '.join(sorted(set(groups))) or 'none'}"
        raise NothingPublishedError(f"there is no cluster {cluster}: {hint}")
    audited = coverage_of(tables, Scope(None, cluster)).data_until
    newest = max(filter(None, (audited.get(cluster), _newest_sighting(stored, cluster, now))), default=None)
    if newest is not None and newest > now - _SILENT_FOR:
        raise WarehouseError(
            f"the cluster {cluster} is still recorded: its newest snapshot is {duration_text(now - newest)} old; stop "
            f"its recorder, and forget it {duration_text(_SILENT_FOR)} later"
        )
    return ForgottenCluster(cluster, groups.count(cluster), newest, now.replace(microsecond=0))


def _newest_sighting(stored: StoredTables, cluster: str, now: datetime) -> datetime | None:
    """The newest snapshot of the last days, audited or not."""
    if not stored.exists(SIGHTINGS):
        return None
    recent = [Filter("cluster", "=", cluster), Filter("hour", ">=", now - 2 * _SILENT_FOR)]
    return max((last for (last,) in tuples(stored.read(SIGHTINGS, ("last_at",), recent))), default=None)


def forget_cluster(spark: SparkSession, warehouse: Warehouse, forgotten: ForgottenCluster) -> None:
    """Record in a property of `group_status` since when the cluster is forgotten; no row changes. Runs wait meanwhile
    before they publish. Raises `PublishConflictError` if other writers leave no gap.
    """
    since = format_utc(forgotten.forgotten_at)
    with turn_without_run(spark, warehouse):
        warehouse.set_properties(spark, GROUP_STATUS, {property_of(forgotten.cluster): since})
