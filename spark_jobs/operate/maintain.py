"""Keep the warehouse's tables small and fast, and see that their constraints hold."""

import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from schemas import MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS, SIGHTINGS, SOURCES, TABLES, Table
from spark_jobs.errors import WarehouseError
from spark_jobs.ingest.sightings import merge_sightings, sightings_of_sources
from spark_jobs.operate import upkeep
from spark_jobs.pipeline.publish.turns import undo_unfinished
from spark_jobs.pipeline.run_context import Progress
from spark_jobs.store.conflicts import retry_on_conflict
from spark_jobs.store.delta_log import LocalLog
from spark_jobs.store.read.delta import DeltaTables, is_surely_reached
from spark_jobs.store.read.through_spark import readable_tables, stored_in
from spark_jobs.store.spark_types import keeps
from spark_jobs.store.staging import drop_staged, staged_times
from spark_jobs.store.warehouse import Warehouse

_LOG = logging.getLogger(__name__)
#: Younger files may belong to a commit that is being made; Delta refuses to remove them, too.
SHORTEST_RETENTION = timedelta(days=7)
#: A scheduled run publishes what it has staged soon after, and for so long says that it did where it is tried again.
_STAGED_FOR = timedelta(days=1)


def check_retention(retention: timedelta) -> None:
    """Raises `WarehouseError` for less than 7 days."""
    if retention < SHORTEST_RETENTION:
        raise WarehouseError(
            f"a retention of {retention.days} days is too short: at least {SHORTEST_RETENTION.days}, "
            "as younger files may be those of a run that is reading or writing"
        )


def maintain(
    spark: SparkSession, warehouse: Warehouse, retention: timedelta, progress: Progress = lambda _: None
) -> list[upkeep.Maintained]:
    """Compact files, remove old ones, and check the constraints, in every table.

    Versions that a run within the retention read or published stay readable, however old they are. Staged results that
    nothing touched for a day and claims of killed runs are removed; half-published steps are restored. Rows stay, and
    `sightings` gets missing ones. Raises `WarehouseError` for a retention of less than 7 days, without tables, or for
    missing constraints, with the rows that break them; `PublishConflictError` if other writers leave no gap.
    """
    check_retention(retention)
    since = datetime.now(UTC) - retention
    undo_unfinished(spark, warehouse)
    _remember_all(spark, warehouse, progress)
    tables = [table for table in TABLES if warehouse.exists(spark, table)] or [SOURCES[0]]
    oldest = upkeep.oldest_versions(stored_in(spark, warehouse), since)
    maintained = []
    for table in tables:
        progress(f"compacting {table.name}")
        days = upkeep.days_to_keep(_made(spark, warehouse, table, oldest.get(table.name)), retention)
        maintained.append(_maintained(spark, warehouse, table, days))
    for name, touched in staged_times(spark, warehouse).items():
        if touched < datetime.now(UTC) - _STAGED_FOR:
            _LOG.info("removing the staged %s, last touched on %s", name, touched)
            drop_staged(spark, warehouse, name)
    upkeep.drop_leavings(warehouse.folder(spark))
    progress("checking the constraints")
    if broken := [problem for table in tables for problem in _broken_constraints(spark, warehouse, table)]:
        raise WarehouseError("\n".join(broken))
    return maintained


def _remember_all(spark: SparkSession, warehouse: Warehouse, progress: Progress) -> None:
    """`ingest` keeps the sightings of what it loads; here come those of sources that others wrote, or it did once."""
    if is_surely_reached(warehouse) and upkeep.are_sightings_complete(DeltaTables(warehouse)):
        return
    if not all(warehouse.exists(spark, table) for table in (MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS)):
        return
    progress(f"bringing {SIGHTINGS.name} up to date")
    warehouse.create(spark, [SIGHTINGS])
    memberships, routes = (warehouse.read(spark, table) for table in (MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS))
    merge_sightings(spark, warehouse, sightings_of_sources(memberships, routes), F.lit(True))


def _made(spark: SparkSession, warehouse: Warehouse, table: Table, version: int | None) -> datetime | None:
    """When the oldest commit from this version on was made; None where there is none."""
    if version is None:
        return None
    if warehouse.local_path:
        return LocalLog(warehouse.local_path / table.name).made(version)
    commits = warehouse.delta_table(spark, table).history().where(F.col("version") >= version)
    row = commits.agg(F.min("timestamp").alias("made")).head()
    return row.made.astimezone(UTC) if row and row.made else None


def _upkeep(spark: SparkSession, warehouse: Warehouse, table: Table, days: int) -> upkeep.Upkeep:
    if is_surely_reached(warehouse):
        return upkeep.upkeep_of(DeltaTables(warehouse), table, days)
    detail = warehouse.detail(spark, table)
    return upkeep.Upkeep(
        warehouse.version(spark, table), detail["numFiles"], detail["sizeInBytes"], detail["properties"]
    )


def _maintained(spark: SparkSession, warehouse: Warehouse, table: Table, days: int) -> upkeep.Maintained:
    before = after = _upkeep(spark, warehouse, table, days)
    delta, wanted = warehouse.delta_table(spark, table), before.lacks(table, days)
    if wanted:
        warehouse.set_properties(spark, table, wanted)
    if before.compact:
        retry_on_conflict(lambda: delta.optimize().executeCompaction(), f"compact the files of {table.name}")
    if before.vacuum:
        retry_on_conflict(delta.vacuum, f"remove the old files of {table.name}")
    if wanted or before.compact or before.vacuum:
        after = _upkeep(spark, warehouse, table, days)
    return upkeep.Maintained.of(table, before, after, days)


def _broken_constraints(spark: SparkSession, warehouse: Warehouse, table: Table) -> Iterator[str]:
    """Sentences: missing or other constraints of the table, and how many rows break them. Delta enforces the others."""
    stored = readable_tables(warehouse, lambda: spark)
    wrong = upkeep.wrong_constraints(table, stored.properties(table))
    if not wrong:
        return
    breaking = (F.count_if(~keeps(table.checks[name])).alias(name) for name in wrong)
    row = warehouse.read(spark, table).agg(*breaking).head()
    assert row is not None  # an aggregate without groups has exactly one row
    for name, present in wrong.items():
        check = table.checks[name]
        yield f"{table.name}: the constraint {name} is {present or 'missing'}, and should be {check}"
        if row[name]:
            yield f"{table.name}: {row[name]} rows break the constraint {name}: {check}"
