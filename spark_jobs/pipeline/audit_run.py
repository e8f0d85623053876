"""One run of the audit: what it audits, where, with which configuration, which versions of the sources it reads, and
the row of `audit_runs` that it leaves: rejected, or published.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Self

from pyspark.sql import SparkSession

from expectations.rows import CheckSettings
from schemas import AUDIT_RUNS, CAPTURE_CALLS, OPTIONAL_SOURCES, SIGHTINGS, SOURCES
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.errors import QualityError
from spark_jobs.pipeline.publish.content import Published
from spark_jobs.pipeline.publish.request import RunRequest
from spark_jobs.pipeline.quality.checks import settings_of
from spark_jobs.runtime.version import code_version
from spark_jobs.store.conflicts import retry_on_conflict
from spark_jobs.store.read.kept import check_kept
from spark_jobs.store.read.recorded import check_recorded
from spark_jobs.store.read.stored import Filter, tuples
from spark_jobs.store.read.through_spark import SparkTables, stored_in
from spark_jobs.store.spark_types import spark_schema
from spark_jobs.store.sql import literal
from spark_jobs.store.warehouse import Warehouse

#: Says what a command is doing now.
Progress = Callable[[str], None]


@dataclass(frozen=True)
class AuditRun:
    """Input of every step of a run. `versions`: the Delta version of each source table, of `sightings` and of
    `capture_calls`, by name; a table that does not exist has none.
    """

    spark: SparkSession
    warehouse: Warehouse
    request: RunRequest
    configuration: Configuration
    run_id: str
    started_at: datetime
    versions: Mapping[str, int]
    progress: Progress = lambda _: None
    #: Whether `audit_runs` has a row of this run already: a task that was rejected is run again.
    is_recorded: bool = False
    #: Whether it writes nothing, neither rows into quarantine nor pages: another run is compared with it.
    only_looks: bool = False

    @classmethod
    def begin(
        cls,
        spark: SparkSession,
        warehouse: Warehouse,
        request: RunRequest,
        configuration: Configuration,
        progress: Progress = lambda _: None,
    ) -> Self:
        """A new run, of the newest version of every source.

        Raises `IntervalError` off the grid and in the future, `WarehouseError` where a table is missing that is not
        optional, or where snapshots that the steps need were deleted, `UnknownNameError` for a cluster, group or topic
        that no snapshot names.
        """
        now = datetime.now(UTC)
        configuration.grid.check_steps(request.interval, now)
        versions = {
            table.name: warehouse.version(spark, table)
            for table in (*SOURCES, SIGHTINGS, CAPTURE_CALLS)
            if table not in (*OPTIONAL_SOURCES, SIGHTINGS, CAPTURE_CALLS) or warehouse.exists(spark, table)
        }
        stored = stored_in(spark, warehouse)
        check_recorded(stored, request.cluster, request.consumer_group, request.topic)
        check_kept(stored, request.interval, configuration.look_back)
        return cls(spark, warehouse, request, configuration, uuid.uuid4().hex, now, versions, progress)

    @property
    def read_window(self) -> Interval:
        """The time whose snapshots are read: the steps, and the look-back of the first."""
        steps = self.request.interval
        return Interval(steps.start - self.configuration.look_back, steps.end)

    @property
    def check_settings(self) -> CheckSettings:
        """Return what expectations know of the run."""
        return settings_of(self.request.interval, self.configuration, whole_groups=self.request.topic is None)

    def row(self) -> dict[str, Any]:
        """The columns of its row of `audit_runs` that are known from its beginning."""
        request = self.request
        return {
            "run_id": self.run_id,
            "started_at": self.started_at,
            "interval_start": request.interval.start,
            "interval_end": request.interval.end,
            "step_seconds": int(self.configuration.grid.length.total_seconds()),
            "cluster": request.cluster,
            "consumer_group": request.consumer_group,
            "topic": request.topic,
            "source_versions": dict(self.versions),
            "configuration_hash": self.configuration.hash(),
            "configuration": self.configuration.canonical_json(),
            "code_version": code_version(),
        }


def write_rejected(run: AuditRun, error: QualityError) -> None:
    """Records that the run published nothing, and why."""
    nothing: dict[str, Any] = {"not_evaluated": [], "row_counts": {}, "content_hashes": {}, "published_versions": {}}
    outcome = {"finished_at": datetime.now(UTC), "outcome": "rejected", "message": str(error)}
    write(run, run.row() | nothing | outcome)


def published_row(
    run: AuditRun, tables: Mapping[str, Published], not_evaluated: list[str], warnings: list[str]
) -> dict[str, Any]:
    """Return what is to be recorded of a run whose tables, by name, are published."""
    return run.row() | {
        "finished_at": finished(run.spark, run.warehouse),
        "not_evaluated": not_evaluated,
        "row_counts": {name: table.content.rows for name, table in tables.items()},
        "content_hashes": {name: table.content.hash for name, table in tables.items()},
        "published_versions": {name: table.version for name, table in tables.items()},
        "outcome": "published",
        "message": "; ".join(warnings) or None,
    }


def finished(spark: SparkSession, warehouse: Warehouse) -> datetime:
    """Now, or just after the newest run if the clock is behind it: readers go by the run that finished last."""
    stored, now = stored_in(spark, warehouse), datetime.now(UTC)
    if not stored.exists(AUDIT_RUNS):
        return now
    later = stored.read(AUDIT_RUNS, ["finished_at"], [Filter("finished_at", ">=", now)])
    moments: list[datetime] = [moment for (moment,) in tuples(later)]
    return max([now, *(moment + timedelta(microseconds=1) for moment in moments)])


def write(run: AuditRun, row: Mapping[str, Any], options: Mapping[str, str] = MappingProxyType({})) -> None:
    """Adds the row to `audit_runs`, or puts it in place of what the same run wrote there before. `options`: Delta's."""
    if not run.is_recorded:
        SparkTables(run.spark, run.warehouse).append(AUDIT_RUNS, [row], options)
        return
    rows = run.spark.createDataFrame([row], spark_schema(AUDIT_RUNS))
    same_run = f"run_id = {literal(run.run_id)}"
    writer = rows.write.format("delta").mode("overwrite").option("replaceWhere", same_run).options(**options)
    retry_on_conflict(lambda: run.warehouse.save(writer, AUDIT_RUNS), "record the run")
