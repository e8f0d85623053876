"""The main job: read the snapshots of whole steps, replay, find what was wrong, publish."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import SparkSession

from schemas import FINDINGS, REBALANCE_INTERVALS
from spark_jobs.config import Configuration
from spark_jobs.errors import QualityError
from spark_jobs.jobs.audit import Progress, audit, window_of
from spark_jobs.jobs.check import Gate
from spark_jobs.jobs.record import append, asked, not_evaluated, published, rejected, what_was_not_audited
from spark_jobs.jobs.sources import pinned_versions, read_sources
from spark_jobs.publish.claims import claim
from spark_jobs.publish.publisher import publish, stage, unstage
from spark_jobs.publish.request import RunRequest
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
    record = asked(run_id, datetime.now(UTC), request, versions, configuration)
    window = window_of(request, configuration)
    with claim(warehouse, request, run_id):
        gate = Gate(spark, warehouse, request, configuration, run_id)
        progress("checking the sources")
        try:
            sources = gate.sources(read_sources(spark, warehouse, versions, window.read, request))
            outputs = audit(sources, window, configuration, progress)
            progress("staging the results")
            staged = stage(spark, warehouse, request.key, request, outputs)
            progress("checking the results")
            gate.outputs(staged)
        except QualityError as error:
            append(spark, warehouse, record | rejected(error))
            gate.record()
            raise
        missing = not_evaluated(sources)
        warnings = what_was_not_audited(staged[REBALANCE_INTERVALS], request, missing)
        found = [row.asDict(recursive=True) for row in staged[FINDINGS].orderBy("start", "finding_id").collect()]
        progress("publishing")
        tables = publish(spark, warehouse, request, staged, run_id)
        record |= published(tables, missing, warnings + gate.warnings)
        append(spark, warehouse, record)
        unstage(spark, warehouse, request.key)
        progress("writing down what the checks saw")
        gate.record()
    return RunResult(record, found, warnings, gate.warnings)
