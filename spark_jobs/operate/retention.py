"""Delete the days of snapshots and of results that are older than they are kept."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from types import MappingProxyType

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from schemas import (
    CAPTURE_CALLS,
    GROUP_STATUS,
    MEMBERSHIP_SNAPSHOTS,
    OUTPUTS,
    QUALITY_RESULTS,
    SIGHTINGS,
    SOURCES,
    Table,
)
from spark_jobs.domain.model.intervals import format_utc
from spark_jobs.pipeline.publish.turns import turn_without_run
from spark_jobs.pipeline.run_context import Progress
from spark_jobs.store.conflicts import retry_on_conflict
from spark_jobs.store.read.kept import KEPT_SINCE, kept_since
from spark_jobs.store.read.stored import StoredTables
from spark_jobs.store.read.through_spark import stored_in
from spark_jobs.store.warehouse import Warehouse

#: The time of each table's rows, of those that go with the snapshots, and of those that go with the results.
_OF_SNAPSHOTS = MappingProxyType(dict.fromkeys((*SOURCES, CAPTURE_CALLS), "captured_at") | {SIGHTINGS: "hour"})
_OF_RESULTS = MappingProxyType(dict.fromkeys((*OUTPUTS, QUALITY_RESULTS), "step_start"))
_TIMES = _OF_SNAPSHOTS | _OF_RESULTS
#: No configuration lets a step remember sightings for longer: without them a step that is kept would change.
_LONGEST_MEMORY = timedelta(days=365)


@dataclass(frozen=True)
class Keep:
    """How long rows are kept, in whole days; None: for ever."""

    snapshots: timedelta | None = None
    results: timedelta | None = None

    def since(self, now: datetime) -> dict[Table, datetime]:
        """Return midnight, UTC, from which on the rows of each table are kept; without those that are kept for ever."""
        today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        since: dict[Table, datetime] = {}
        for length, tables in ((self.snapshots, _OF_SNAPSHOTS), (self.results, _OF_RESULTS)):
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
            number, first = stored.count_before(table, _TIMES[table], before)
            if first is not None:
                expired.append(ExpiredRows(table.name, number, first, before))
    return expired


def delete_expired(
    spark: SparkSession, warehouse: Warehouse, keep: Keep, progress: Progress = lambda _: None
) -> list[ExpiredRows]:
    """Delete whole days of rows that are older than they are kept, and return what was deleted.

    `membership_snapshots` and `group_status` first record since when rows are kept, so that no step with deleted
    snapshots is audited, even after an interruption. Runs wait meanwhile before they publish. Older versions stay
    readable as `maintain` keeps them. Raises as `expired_rows`, and `PublishConflictError` without a gap.
    """
    by_name = {rows.table: rows for rows in expired_rows(stored_in(spark, warehouse), keep, progress)}
    snapshots, results = (
        {table: by_name[table.name] for table in tables if table.name in by_name}
        for tables in (_OF_SNAPSHOTS, _OF_RESULTS)
    )
    _delete(spark, warehouse, MEMBERSHIP_SNAPSHOTS, snapshots, progress)
    if results:
        with turn_without_run(spark, warehouse):
            _delete(spark, warehouse, GROUP_STATUS, results, progress)
    return [*by_name.values()]


def _delete(
    spark: SparkSession, warehouse: Warehouse, marked: Table, expired: Mapping[Table, ExpiredRows], progress: Progress
) -> None:
    """Rows that were deleted once stay deleted, though more are kept now: a mark never goes back."""
    if not expired:
        return
    warehouse.create(spark, [marked])
    marks = (kept_since(stored_in(spark, warehouse), marked), *(rows.before for rows in expired.values()))
    warehouse.set_properties(spark, marked, {KEPT_SINCE: format_utc(max(filter(None, marks)))})
    for table, rows in expired.items():
        progress(f"deleting old rows of {table.name}")
        delete = partial(warehouse.delta_table(spark, table).delete, _is_before(table, rows.before))
        retry_on_conflict(delete, f"delete old rows of {table.name}")


def _is_before(table: Table, moment: datetime) -> Column:
    return F.col(_TIMES[table]) < F.lit(moment)
