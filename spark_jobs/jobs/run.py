"""The main job: read the snapshots of whole steps, replay, find what was wrong, publish."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from schemas import AUDIT_RUNS, CLIENT_SNAPSHOTS, FINDINGS, REBALANCE_INTERVALS
from spark_jobs.config import Configuration
from spark_jobs.conflicts import unless_outrun
from spark_jobs.errors import QualityError
from spark_jobs.findings.catalog import RULES
from spark_jobs.jobs.audit import Progress, audit
from spark_jobs.jobs.check import Gate
from spark_jobs.jobs.sources import pinned_versions, read_sources
from spark_jobs.publish.claims import claim
from spark_jobs.publish.content import Published
from spark_jobs.publish.publisher import publish, stage
from spark_jobs.publish.request import RunRequest
from spark_jobs.replay.sources import Sources
from spark_jobs.replay.steps import StepWindow
from spark_jobs.warehouse import Warehouse

__all__ = ["RunRequest", "RunResult", "run"]


@dataclass(frozen=True)
class RunResult:
    """What a run published: its row of `audit_runs`, its findings as dicts, what the reader should know of what was
    not audited, and which expectations failed without keeping the run from being published.
    """

    run: dict[str, Any]
    findings: list[dict[str, Any]]
    warnings: list[str]
    quality_warnings: list[str]


def run(
    spark: SparkSession,
    warehouse: Warehouse,
    request: RunRequest,
    configuration: Configuration,
    progress: Progress = lambda _: None,
) -> RunResult:
    """Audit the request's steps and publish them; the same run again gives the same tables.

    Raises `IntervalError` off the grid, `WarehouseError` or `SchemaMismatchError` for sources that cannot be read,
    `PublishConflictError` where another run has the same steps, `QualityError` where a critical expectation fails:
    nothing is published then, and `audit_runs` says so.
    """
    configuration.grid.check_whole_steps(request.interval)
    run_id, versions = uuid.uuid4().hex, pinned_versions(spark, warehouse)
    asked = _asked(run_id, request, versions, configuration)
    window = StepWindow(request.interval, configuration.grid.length, configuration.warm_up, configuration.look_back)
    with claim(warehouse, request, run_id):
        gate = Gate(spark, warehouse, request, configuration, run_id)
        progress("checking the sources")
        try:
            sources = gate.sources(read_sources(spark, warehouse, versions, window.read, request))
            outputs = audit(sources, window, configuration, progress)
            progress("staging the results")
            staged = stage(spark, warehouse, request, outputs)
            progress("checking the results")
            gate.outputs(staged)
        except QualityError as error:
            _append(spark, warehouse, asked | _rejected(error))
            gate.record()
            raise
        missing = not_evaluated(sources)
        warnings = _warnings(staged[REBALANCE_INTERVALS], request, missing)
        found = [row.asDict(recursive=True) for row in staged[FINDINGS].orderBy("start", "finding_id").collect()]
        progress("publishing")
        tables = publish(spark, warehouse, request, staged, run_id)
        record = asked | _published(tables, missing, warnings + gate.warnings)
        _append(spark, warehouse, record)
        progress("writing down what the checks saw")
        gate.record()
    return RunResult(record, found, warnings, gate.warnings)


def not_evaluated(sources: Sources) -> list[str]:
    """Names of the rules that need an optional source which holds nothing of the run's time (or does not exist)."""
    empty = {CLIENT_SNAPSHOTS} if sources.clients.isEmpty() else set()
    return sorted(rule.name for rule in RULES if empty.intersection(rule.needs))


def _warnings(intervals: DataFrame, request: RunRequest, not_evaluated: list[str]) -> list[str]:
    """What the reader of the findings should know of what was not audited."""
    observed = intervals.where("status <> 'UNOBSERVED'")
    if observed.isEmpty():
        return [f"nothing was observed in {request.interval}: there are no snapshots, so silence says nothing"]
    skipped = (
        intervals.where("status = 'NOT_REPLAYABLE'")
        .groupBy("cluster", "consumer_group", "reason")
        .agg(F.array_join(F.sort_array(F.collect_set("topic")), ", ").alias("topics"))
        .orderBy("cluster", "consumer_group", "reason")
    )
    warnings = [
        f"{row.cluster}/{row.consumer_group} could not be replayed for {row.topics}: {row.reason}"
        for row in skipped.limit(20).collect()
    ]
    assumed = observed.where("strategy_source = 'DEFAULT' AND member_count > 0").select("cluster", "consumer_group")
    if groups := assumed.distinct().count():
        warnings.append(f"AVG was assumed for {groups} groups: nothing tells their strategy (see strategy_source)")
    if not_evaluated:
        warnings.append(f"not evaluated, as {CLIENT_SNAPSHOTS.name} holds nothing: {', '.join(not_evaluated)}")
    return warnings


def _code_version() -> str:
    try:
        return version("rebalance-audit")
    except PackageNotFoundError:
        return "not installed"


def _asked(
    run_id: str, request: RunRequest, versions: Mapping[str, int], configuration: Configuration
) -> dict[str, Any]:
    """What the run's row of `audit_runs` says before anything has come of it."""
    return {
        "run_id": run_id,
        "started_at": datetime.now(UTC),
        "interval_start": request.interval.start,
        "interval_end": request.interval.end,
        "step_seconds": int(configuration.grid.length.total_seconds()),
        "cluster": request.cluster,
        "consumer_group": request.consumer_group,
        "topic": request.topic,
        "source_versions": dict(versions),
        "configuration_hash": configuration.hash(),
        "configuration": configuration.canonical_json(),
        "code_version": _code_version(),
    }


def _rejected(error: QualityError) -> dict[str, Any]:
    nothing: dict[str, Any] = {"not_evaluated": [], "row_counts": {}, "content_hashes": {}, "published_versions": {}}
    return nothing | {"finished_at": datetime.now(UTC), "outcome": "rejected", "message": str(error)}


def _published(tables: Mapping[str, Published], not_evaluated: list[str], warnings: list[str]) -> dict[str, Any]:
    return {
        "finished_at": datetime.now(UTC),
        "not_evaluated": not_evaluated,
        "row_counts": {name: found.content.rows for name, found in tables.items()},
        "content_hashes": {name: found.content.hash for name, found in tables.items()},
        "published_versions": {name: found.version for name, found in tables.items()},
        "outcome": "published",
        "message": "; ".join(warnings) or None,
    }


def _append(spark: SparkSession, warehouse: Warehouse, record: Mapping[str, Any]) -> None:
    warehouse.create(spark, [AUDIT_RUNS])
    row = spark.createDataFrame([record], AUDIT_RUNS.schema)
    unless_outrun(lambda: warehouse.save(row.write.format("delta").mode("append"), AUDIT_RUNS), "record the run")
