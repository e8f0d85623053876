"""What a run's row of `audit_runs` says."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import SparkSession

from schemas import AUDIT_RUNS, CLIENT_SNAPSHOTS
from spark_jobs.config import Configuration
from spark_jobs.domain.rules.catalog import RULES
from spark_jobs.errors import QualityError
from spark_jobs.pipeline.gather.counted import Counted
from spark_jobs.pipeline.publish.content import Published
from spark_jobs.pipeline.publish.request import RunRequest
from spark_jobs.runtime.version import code_version
from spark_jobs.store.conflicts import unless_outrun
from spark_jobs.store.read.stored import Filter, tuples
from spark_jobs.store.read.through_spark import SparkTables, stored_in
from spark_jobs.store.spark_types import spark_schema
from spark_jobs.store.sql import literal
from spark_jobs.store.warehouse import Warehouse


def not_evaluated(empty_sources: Collection[str]) -> list[str]:
    """Names of the rules that need an optional source which holds nothing of the run's time (or does not exist)."""
    return sorted(rule.name for rule in RULES if not set(rule.needs).isdisjoint(empty_sources))


def what_was_not_audited(counted: Counted, request: RunRequest, not_evaluated: list[str]) -> list[str]:
    """What the reader of the findings should know of what was not audited."""
    if not counted.observed:
        return [
            f"nothing was observed in {request.interval}: there are no snapshots, so nothing is known about that time"
        ]
    warnings = [
        f"{cluster}/{group} could not be replayed for {', '.join(topics)}: {reason}"
        for cluster, group, reason, topics in counted.skipped
    ]
    if counted.assumed:
        warnings.append(
            f"AVG was assumed for {counted.assumed} groups, as neither clients nor configuration name their strategy "
            "(see strategy_source)"
        )
    if not_evaluated:
        warnings.append(f"not evaluated, as {CLIENT_SNAPSHOTS.name} has no rows: {', '.join(not_evaluated)}")
    return warnings


def asked(
    run_id: str,
    started_at: datetime,
    request: RunRequest,
    versions: Mapping[str, int],
    configuration: Configuration,
) -> dict[str, Any]:
    """What the run's row of `audit_runs` says before anything has come of it."""
    return {
        "run_id": run_id,
        "started_at": started_at,
        "interval_start": request.interval.start,
        "interval_end": request.interval.end,
        "step_seconds": int(configuration.grid.length.total_seconds()),
        "cluster": request.cluster,
        "consumer_group": request.consumer_group,
        "topic": request.topic,
        "source_versions": dict(versions),
        "configuration_hash": configuration.hash(),
        "configuration": configuration.canonical_json(),
        "code_version": code_version(),
    }


def rejected(error: QualityError) -> dict[str, Any]:
    """What it says besides when the gate was closed."""
    nothing: dict[str, Any] = {"not_evaluated": [], "row_counts": {}, "content_hashes": {}, "published_versions": {}}
    return nothing | {"finished_at": datetime.now(UTC), "outcome": "rejected", "message": str(error)}


def finished(spark: SparkSession, warehouse: Warehouse) -> datetime:
    """Now, or just after the newest run if the clock is behind it: readers go by the run that finished last."""
    stored, now = stored_in(spark, warehouse), datetime.now(UTC)
    if not stored.exists(AUDIT_RUNS):
        return now
    later = stored.read(AUDIT_RUNS, ["finished_at"], [Filter("finished_at", ">=", now)])
    moments: list[datetime] = [moment for (moment,) in tuples(later)]
    return max([now, *(moment + timedelta(microseconds=1) for moment in moments)])


def published(
    tables: Mapping[str, Published], not_evaluated: list[str], warnings: list[str], finished_at: datetime
) -> dict[str, Any]:
    """What it says besides when the tables are published, by table name."""
    return {
        "finished_at": finished_at,
        "not_evaluated": not_evaluated,
        "row_counts": {name: found.content.rows for name, found in tables.items()},
        "content_hashes": {name: found.content.hash for name, found in tables.items()},
        "published_versions": {name: found.version for name, found in tables.items()},
        "outcome": "published",
        "message": "; ".join(warnings) or None,
    }


def append(spark: SparkSession, warehouse: Warehouse, record: Mapping[str, Any]) -> None:
    """Appends the row to `audit_runs`."""
    SparkTables(spark, warehouse).append(AUDIT_RUNS, [record])


def replace(spark: SparkSession, warehouse: Warehouse, record: Mapping[str, Any]) -> None:
    """Writes the row to `audit_runs` in place of what the same run wrote there before."""
    rows = spark.createDataFrame([record], spark_schema(AUDIT_RUNS))
    same_run = f"run_id = {literal(record['run_id'])}"
    writer = rows.write.format("delta").mode("overwrite").option("replaceWhere", same_run)
    unless_outrun(lambda: warehouse.save(writer, AUDIT_RUNS), "record the run")
