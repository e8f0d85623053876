"""Keep the warehouse's tables small and fast, and see that their constraints hold."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from schemas import AUDIT_RUNS, MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS, SIGHTINGS, SOURCES, TABLES, Table
from spark_jobs.columns import keeps
from spark_jobs.conflicts import unless_outrun
from spark_jobs.errors import WarehouseError
from spark_jobs.ingest.sightings import remember, sightings_of_sources
from spark_jobs.jobs.audit import Progress
from spark_jobs.publish.claims import drop_dead_claims
from spark_jobs.publish.turns import undo_unfinished
from spark_jobs.sql import is_same_check, literal
from spark_jobs.warehouse import Warehouse

_LOG = logging.getLogger(__name__)
#: Younger files may belong to a commit that is being made; Delta refuses to remove them, too.
SHORTEST_RETENTION = timedelta(days=7)
#: A scheduled run publishes what it has staged soon after, and for so long says that it did where it is tried again.
_STAGED_FOR = timedelta(days=1)
#: Delta's own `delta.logRetentionDuration`, which must not be shorter than that of files.
_LOG_RETENTION = timedelta(days=30)


@dataclass(frozen=True)
class Maintained:
    """What became of one table: data files and their bytes in the newest version, the newest version before and after,
    and for how many days versions stay readable.
    """

    table: str
    files_before: int
    files_after: int
    bytes_before: int
    bytes_after: int
    version_before: int
    version_after: int
    retention_days: int


def check_retention(retention: timedelta) -> None:
    """Raises `WarehouseError` for less than 7 days."""
    if retention < SHORTEST_RETENTION:
        raise WarehouseError(
            f"a retention of {retention.days} days is too short: at least {SHORTEST_RETENTION.days}, "
            "as younger files may be those of a run that is reading or writing"
        )


def maintain(
    spark: SparkSession, warehouse: Warehouse, retention: timedelta, progress: Progress = lambda _: None
) -> list[Maintained]:
    """Puts small files together and removes old ones, in every table that is there; then checks the constraints.

    What a run that ended within the retention has read or published stays readable at the versions that `audit_runs`
    names: where such a version is older than the retention, its table keeps more. What scheduled runs have staged is
    removed if nothing touched it for a day, and so are the claims of killed runs; steps that one has half published are
    put back as they were. Other rows of all tables stay the same, but for `sightings`: it gets what the sources tell
    and it has not.

    Raises `WarehouseError` for a retention of less than 7 days, where there is no table at all, or where one lacks a
    constraint of its module in `schemas` or has rows that break one, naming all of them; `PublishConflictError` if
    other writers leave no gap.
    """
    check_retention(retention)
    since = datetime.now(UTC) - retention
    undo_unfinished(spark, warehouse)
    _remember_all(spark, warehouse, progress)
    tables = [table for table in TABLES if warehouse.exists(spark, table)] or [SOURCES[0]]
    oldest = _oldest_versions(spark, warehouse, since)
    maintained = []
    for table in tables:
        progress(f"compacting {table.name}")
        days = _days_to_keep(spark, warehouse, table, oldest.get(table.name), retention)
        maintained.append(_maintained(spark, warehouse, table, days))
    for name, touched in warehouse.stages(spark).items():
        if touched < datetime.now(UTC) - _STAGED_FOR:
            _LOG.info("removing the staged %s, last touched on %s", name, touched)
            warehouse.drop_stage(spark, name)
    drop_dead_claims(warehouse.folder(spark))
    progress("checking the constraints")
    if broken := [problem for table in tables for problem in _broken_constraints(spark, warehouse, table)]:
        raise WarehouseError("\n".join(broken))
    return maintained


def _remember_all(spark: SparkSession, warehouse: Warehouse, progress: Progress) -> None:
    """`ingest` keeps the sightings of what it loads; here come those of sources that others wrote, or it did once."""
    if not all(warehouse.exists(spark, table) for table in (MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS)):
        return
    progress(f"bringing {SIGHTINGS.name} up to date")
    warehouse.create(spark, [SIGHTINGS])
    memberships, routes = (warehouse.read(spark, table) for table in (MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS))
    remember(spark, warehouse, sightings_of_sources(memberships, routes), F.lit(True))


def _oldest_versions(spark: SparkSession, warehouse: Warehouse, since: datetime) -> dict[str, int]:
    """The oldest version of each table that a run which ended since then has read or published."""
    if not warehouse.exists(spark, AUDIT_RUNS):
        return {}
    runs = warehouse.read(spark, AUDIT_RUNS).where(F.col("finished_at") >= F.lit(since))
    versions = F.explode(F.concat(F.map_entries("source_versions"), F.map_entries("published_versions")))
    named = runs.select(versions.alias("of")).select("of.key", "of.value")
    return {row.key: row.oldest for row in named.groupBy("key").agg(F.min("value").alias("oldest")).collect()}


def _days_to_keep(
    spark: SparkSession, warehouse: Warehouse, table: Table, oldest: int | None, retention: timedelta
) -> int:
    """The retention, or the age of the commit of the oldest version to be kept if that is more, in whole days.

    A version's files are removed after it was made, so those that went so long ago are none of it. A version whose
    commit is gone from the log cannot be read any more.
    """
    if oldest is None:
        return math.ceil(retention / timedelta(days=1))
    commits = warehouse.delta_table(spark, table).history().where(F.col("version") >= oldest)
    row = commits.agg(F.min("timestamp").alias("made")).head()
    assert row is not None  # an aggregate without groups has exactly one row
    age = datetime.now(UTC) - row.made.replace(tzinfo=UTC) if row.made else retention
    return math.ceil(max(retention, age) / timedelta(days=1))


def _maintained(spark: SparkSession, warehouse: Warehouse, table: Table, days: int) -> Maintained:
    delta = warehouse.delta_table(spark, table)
    before, version = warehouse.detail(spark, table), warehouse.version(spark, table)
    # Delta takes the retention from the table only: it ignores the one that VACUUM is given.
    wanted = {
        "delta.logRetentionDuration": _duration(max(timedelta(days=days), _LOG_RETENTION)),
        "delta.deletedFileRetentionDuration": _duration(timedelta(days=days)),
    }
    if not wanted.items() <= before["properties"].items():
        properties = ", ".join(f"{literal(name)} = {literal(value)}" for name, value in wanted.items())
        statement = f"ALTER TABLE {warehouse.identifier(table.name)} SET TBLPROPERTIES ({properties})"
        unless_outrun(partial(spark.sql, statement), f"set the retention of {table.name}")
    unless_outrun(lambda: delta.optimize().executeCompaction(), f"compact the files of {table.name}")
    unless_outrun(delta.vacuum, f"remove the old files of {table.name}")
    after = warehouse.detail(spark, table)
    return Maintained(
        table.name,
        before["numFiles"],
        after["numFiles"],
        before["sizeInBytes"],
        after["sizeInBytes"],
        version,
        warehouse.version(spark, table),
        days,
    )


def _duration(length: timedelta) -> str:
    return f"interval {length.days} days"


def _broken_constraints(spark: SparkSession, warehouse: Warehouse, table: Table) -> Iterator[str]:
    """In words: the constraints of the table's module that Delta does not keep, or that rows break; one query."""
    if not table.checks:
        return
    properties = warehouse.detail(spark, table)["properties"]
    breaking = (F.count_if(~keeps(check)).alias(name) for name, check in table.checks.items())
    row = warehouse.read(spark, table).agg(*breaking).head()
    assert row is not None  # an aggregate without groups has exactly one row
    for name, check in table.checks.items():
        if not is_same_check(found := properties.get(f"delta.constraints.{name}"), check):
            yield f"{table.name}: the constraint {name} is {found or 'missing'}, and should be {check}"
        if row[name]:
            yield f"{table.name}: {row[name]} rows break the constraint {name}: {check}"
