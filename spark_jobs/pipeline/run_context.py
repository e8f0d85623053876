"""`RunContext`: what a run has while it works; and how it writes down what became of it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from types import MappingProxyType
from typing import Any, Self

from pyspark.sql import SparkSession

from schemas import AUDIT_RUNS, CAPTURE_CALLS, OPTIONAL_SOURCES, SIGHTINGS, SOURCES
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.pipeline.quality.drift import Usual, usual_values
from spark_jobs.pipeline.run_record import RunRecord
from spark_jobs.pipeline.run_spec import RunSpec
from spark_jobs.runtime.version import code_version
from spark_jobs.store.conflicts import retry_on_conflict
from spark_jobs.store.read.kept import check_kept, check_recorded
from spark_jobs.store.read.stored import Filter, StoredTables, tuples
from spark_jobs.store.read.through_spark import SparkTables, stored_in
from spark_jobs.store.spark_types import spark_schema
from spark_jobs.store.sql import literal
from spark_jobs.store.warehouse import Warehouse

#: Says what a command is doing now.
Progress = Callable[[str], None]
#: What a run has not published yet; the row of a rejected one keeps it.
_UNPUBLISHED: Mapping[str, Any] = {
    "not_evaluated": [],
    "row_counts": {},
    "content_hashes": {},
    "published_versions": {},
}


@dataclass(frozen=True)
class RunContext:
    """Input of every step of a run. `versions`: the Delta version of each source table, of `sightings` and of
    `capture_calls`, by name; a table that does not exist has none. `is_recorded`: `audit_runs` has a row of this run
    already, as a task that was rejected is run again.
    """

    spark: SparkSession
    warehouse: Warehouse
    spec: RunSpec
    configuration: Configuration
    run_id: str
    started_at: datetime
    versions: Mapping[str, int]
    progress: Progress = lambda _: None
    is_recorded: bool = False

    @classmethod
    def begin(
        cls,
        spark: SparkSession,
        warehouse: Warehouse,
        spec: RunSpec,
        configuration: Configuration,
        progress: Progress = lambda _: None,
    ) -> Self:
        """A new run, of the newest version of every source.

        Raises `IntervalError` off the grid and in the future, `WarehouseError` where a table is missing that is not
        optional, or where snapshots that the steps need were deleted, `UnknownNameError` for a cluster, group or topic
        that no snapshot names.
        """
        now = datetime.now(UTC)
        configuration.grid.check_steps(spec.interval, now)
        versions = {
            table.name: warehouse.version(spark, table)
            for table in (*SOURCES, SIGHTINGS, CAPTURE_CALLS)
            if table not in (*OPTIONAL_SOURCES, SIGHTINGS, CAPTURE_CALLS) or warehouse.exists(spark, table)
        }
        stored = stored_in(spark, warehouse)
        check_recorded(stored, spec.cluster, spec.consumer_group, spec.topic)
        check_kept(stored, spec.interval, configuration.look_back)
        return cls(spark, warehouse, spec, configuration, uuid.uuid4().hex, now, versions, progress)

    @classmethod
    def again(
        cls,
        spark: SparkSession,
        warehouse: Warehouse,
        record: RunRecord,
        configuration: Configuration,
        progress: Progress = lambda _: None,
    ) -> Self:
        """A run that has begun before, of the versions that it read then."""
        row = record.run
        identity = row["run_id"], row["started_at"].astimezone(UTC), row["source_versions"]
        return cls(spark, warehouse, record.spec, configuration, *identity, progress)

    def of_cluster(self, cluster: str) -> RunContext:
        """A run of one cluster, of the same versions; it has an id, and so a row of `audit_runs`, that is not this
        one's.
        """
        spec = replace(self.spec, cluster=cluster)
        return replace(self, spec=spec, run_id=uuid.uuid4().hex, is_recorded=False)

    @property
    def read_window(self) -> Interval:
        """The time whose snapshots are read: the steps, and the look-back of the first."""
        steps = self.spec.interval
        return Interval(steps.start - self.configuration.look_back, steps.end)

    @property
    def stored(self) -> StoredTables:
        """The tables of the warehouse as plain values."""
        return stored_in(self.spark, self.warehouse)

    @cached_property
    def usual(self) -> Usual | None:
        """Usual values in the steps; None for a run of some groups only, which is compared with nothing."""
        if not self.spec.covers_everything:
            return None
        return usual_values(self.stored, self.spec.interval, self.configuration.quality)

    def row(self, outcome: str, **columns: Any) -> dict[str, Any]:
        """Its row of `audit_runs`, with these columns of what it has published; empty without them."""
        spec = self.spec
        return {
            "run_id": self.run_id,
            "started_at": self.started_at,
            "interval_start": spec.interval.start,
            "interval_end": spec.interval.end,
            "step_seconds": int(self.configuration.grid.length.total_seconds()),
            "cluster": spec.cluster,
            "consumer_group": spec.consumer_group,
            "topic": spec.topic,
            "source_versions": dict(self.versions),
            "configuration_hash": self.configuration.hash(),
            "configuration": self.configuration.canonical_json(),
            "code_version": code_version(),
            "finished_at": datetime.now(UTC),
            **_UNPUBLISHED,
            "outcome": outcome,
            "message": None,
            **columns,
        }

    def write(self, row: Mapping[str, Any], options: Mapping[str, str] = MappingProxyType({})) -> None:
        """Adds the row to `audit_runs`, or puts it in place of what the same run wrote there before. `options`:
        Delta's.
        """
        if not self.is_recorded:
            SparkTables(self.spark, self.warehouse).append(AUDIT_RUNS, [row], options)
            return
        rows = self.spark.createDataFrame([dict(row)], spark_schema(AUDIT_RUNS))
        same_run = f"run_id = {literal(self.run_id)}"
        writer = rows.write.format("delta").mode("overwrite").option("replaceWhere", same_run).options(**options)
        retry_on_conflict(lambda: self.warehouse.save(writer, AUDIT_RUNS), "record the run")


def finished(spark: SparkSession, warehouse: Warehouse) -> datetime:
    """Now, or just after the newest run if the clock is behind it: readers go by the run that finished last."""
    stored, now = stored_in(spark, warehouse), datetime.now(UTC)
    if not stored.exists(AUDIT_RUNS):
        return now
    later = stored.read(AUDIT_RUNS, ["finished_at"], [Filter("finished_at", ">=", now)])
    moments: list[datetime] = [moment for (moment,) in tuples(later)]
    return max([now, *(moment + timedelta(microseconds=1) for moment in moments)])
