"""The main job: read the snapshots of whole steps, replay, find what was wrong, publish."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.config import Configuration
from spark_jobs.domain.incidents.team_routes import findings_with_teams
from spark_jobs.domain.model.mutes import untold
from spark_jobs.pipeline.audit import Progress, audit, window_of
from spark_jobs.pipeline.check import Gate
from spark_jobs.pipeline.outcome import publish_checked, rejected_if_closed
from spark_jobs.pipeline.publish.claims import claim
from spark_jobs.pipeline.publish.request import RunRequest
from spark_jobs.pipeline.record import asked, not_evaluated, what_was_not_audited
from spark_jobs.pipeline.sightings import EarlierHistory
from spark_jobs.pipeline.sources import pinned_versions, read_sources
from spark_jobs.store.warehouse import Warehouse

__all__ = ["RunRequest", "RunResult", "run", "told_severities"]


@dataclass(frozen=True)
class RunResult:
    """What a run published: its row of `audit_runs`, its findings as dicts with their `team`, what the reader should
    know of what was not audited, and which expectations failed without keeping the run from being published.
    """

    run: dict[str, Any]
    findings: list[dict[str, Any]]
    warnings: list[str]
    quality_warnings: list[str]


def told_severities(findings: Sequence[Mapping[str, Any]]) -> list[str]:
    """The severities of findings that somebody is told of: neither they are muted nor their roots."""
    left_out = untold((one["finding_id"], one["root_finding_id"], one["muted"]) for one in findings)
    return [one["severity"] for one in findings if one["finding_id"] not in left_out]


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
    asks = asked(run_id, datetime.now(UTC), request, versions, configuration)
    window = window_of(request, configuration)
    with claim(warehouse.folder(spark), request, run_id):
        gate = Gate(spark, warehouse, request, configuration, run_id)
        with rejected_if_closed(gate, asks):
            sources = read_sources(spark, warehouse, versions, window.read, request)
            found = audit(gate, sources, EarlierHistory(spark, warehouse, versions, request, configuration), progress)
            gate.outputs(found.counted.facts)
        outputs, missing = found.outputs(), not_evaluated(gate.empty_sources)
        warnings = what_was_not_audited(found.counted, request, missing)
        row = publish_checked(gate, outputs, asks, missing, warnings, progress)
    findings = findings_with_teams(configuration.routes, found.counted.findings)
    return RunResult(row, findings, warnings, gate.warnings)
