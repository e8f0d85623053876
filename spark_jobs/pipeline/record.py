"""The row of `audit_runs` that a run leaves: rejected, or published."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import SparkSession

from schemas import AUDIT_RUNS
from spark_jobs.errors import QualityError
from spark_jobs.pipeline.audit_run import AuditRun
from spark_jobs.pipeline.publish.content import Published
from spark_jobs.store.conflicts import retry_on_conflict
from spark_jobs.store.read.stored import Filter, tuples
from spark_jobs.store.read.through_spark import SparkTables, stored_in
from spark_jobs.store.spark_types import spark_schema
from spark_jobs.store.sql import literal
from spark_jobs.store.warehouse import Warehouse


def write_rejected(run: AuditRun, error: QualityError) -> None:
    """Records that the run published nothing, and why."""
    nothing: dict[str, Any] = {"not_evaluated": [], "row_counts": {}, "content_hashes": {}, "published_versions": {}}
    outcome = {"finished_at": datetime.now(UTC), "outcome": "rejected", "message": str(error)}
    write(run, run.row() | nothing | outcome)


def published_row(
    run: AuditRun, tables: Mapping[str, Published], not_evaluated: list[str], warnings: list[str]
) -> dict[str, Any]:
    """What is to be recorded of a run whose tables, by name, are published."""
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


def write(run: AuditRun, row: Mapping[str, Any]) -> None:
    """Adds the row to `audit_runs`, or puts it in place of what the same run wrote there before."""
    if not run.is_recorded:
        SparkTables(run.spark, run.warehouse).append(AUDIT_RUNS, [row])
        return
    rows = run.spark.createDataFrame([row], spark_schema(AUDIT_RUNS))
    same_run = f"run_id = {literal(run.run_id)}"
    writer = rows.write.format("delta").mode("overwrite").option("replaceWhere", same_run)
    retry_on_conflict(lambda: run.warehouse.save(writer, AUDIT_RUNS), "record the run")
