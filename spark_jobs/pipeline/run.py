"""The main job: read the snapshots of whole steps, replay, find what was wrong, publish.

`run` is the list of its steps; `tasks` does the same in two processes.
"""

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from schemas import COVERAGE, OUTPUTS, SOURCES, Table
from spark_jobs.config import Configuration
from spark_jobs.domain.coverage import Asked, Coverage, Known, coverage
from spark_jobs.domain.incidents.team_routes import findings_with_teams
from spark_jobs.domain.model.window import to_micros
from spark_jobs.pipeline.check import gate, quality_warnings, record_results, reject, set_rejected_aside
from spark_jobs.pipeline.gather.evaluated import evaluated_steps, unpacked
from spark_jobs.pipeline.publish.claims import Claimed, claim
from spark_jobs.pipeline.publish.publisher import publish
from spark_jobs.pipeline.publish.rows import coverage_rows
from spark_jobs.pipeline.publish.turns import Turn, publishing
from spark_jobs.pipeline.quality.counted import Counted, counted_in
from spark_jobs.pipeline.quality.facts import clusters_in
from spark_jobs.pipeline.run_context import Progress, RunContext, finished
from spark_jobs.pipeline.run_record import RunRecord, reported_severities
from spark_jobs.pipeline.run_spec import RunSpec
from spark_jobs.pipeline.sources import gathered_by
from spark_jobs.store.parallel import in_background
from spark_jobs.store.spark_types import spark_schema
from spark_jobs.store.warehouse import Warehouse

__all__ = ["RunRecord", "RunSpec", "audit", "publish_evaluated", "run"]

_LOG = logging.getLogger(__name__)


def run(
    spark: SparkSession,
    warehouse: Warehouse,
    spec: RunSpec,
    configuration: Configuration,
    progress: Progress = lambda _: None,
) -> RunRecord:
    """Audit the steps of the spec and publish them; the same run again gives the same tables.

    Raises `IntervalError` off the grid, `WarehouseError` or `SchemaMismatchError` for sources that cannot be read,
    `PublishConflictError` where another run has the same steps, `QualityError` where a critical expectation fails: then
    nothing is published of the clusters in which it does, and `audit_runs` says so.
    """
    context = RunContext.begin(spark, warehouse, spec, configuration, progress)
    with claim(warehouse.folder(spark), spec, context.run_id) as claimed:
        evaluated, counted = audit(context, in_memory)
        set_rejected_aside(context, evaluated, counted.facts)
        return publish_evaluated(context, evaluated, counted, claimed)


def in_memory(frame: DataFrame) -> DataFrame:
    """The frame, kept by the executors."""
    return frame.localCheckpoint()


def audit(context: RunContext, keep: Callable[[DataFrame], DataFrame]) -> tuple[DataFrame, Counted]:
    """Read, fold, gather, check and evaluate every group in one pass over the sources: the rows of every output table
    (`exchange.RESULTS`), and what was counted of them. `keep` makes the rows stay, as they are or as what was written
    of them.
    """
    context.progress("reading the snapshots")
    gathered = gathered_by(context)
    context.progress("checking and auditing every group")
    evaluated = keep(evaluated_steps(gathered, context.spec, context.configuration))
    _LOG.info("%s: audited", context.spec.interval)
    context.progress("checking what was counted")
    counted = counted_in(evaluated, context.spec.check_settings(context.configuration))
    if len(counted.unused_sources) == len(SOURCES) and not len(gathered.beside["consumer_group"].drop_null()):
        counted = counted.without_outputs()
    return evaluated, counted


def publish_evaluated(context: RunContext, evaluated: DataFrame, counted: Counted, claimed: Claimed) -> RunRecord:
    """Check what was counted, publish the evaluated rows, and record the run and the results of its checks. `claimed`:
    the run's `claim`.

    Raises `QualityError` if a critical expectation fails, after the clusters in which none did are published;
    `WarehouseError`, `PublishConflictError` or `PublishError` where they cannot be published.
    """
    checked, closed = gate(context, (*SOURCES, *OUTPUTS), counted.facts)
    warnings, of_quality = counted.not_audited(context.spec.interval), quality_warnings(counted.facts, checked)
    context.progress("publishing")
    if closed:
        published = sorted(clusters_in(counted.facts) - closed)
        _publish_clusters(context, evaluated, counted, published, claimed)
        reject(context, checked, closed, published)
    recording = in_background(lambda: record_results(context.spark, context.warehouse, context.run_id, checked))
    turn_of_run = publishing(context.spark, context.warehouse, context.spec, context.run_id, claimed)
    with turn_of_run as turn, recording:
        row = _published(context, evaluated, counted, warnings + of_quality, turn)
    findings = findings_with_teams(context.configuration.routes, counted.findings)
    severities, covered = reported_severities(findings), _coverage(context, counted)
    return RunRecord(row, findings, severities, warnings, of_quality, counted.observed, covered)


def _coverage(context: RunContext, counted: Counted) -> Coverage:
    """Of the groups that were audited; a cluster of which one group was is not silent where that is."""
    spec, grid = context.spec, context.configuration.grid
    length = grid.length // timedelta(microseconds=1)
    question = Asked([to_micros(step.start) for step in grid.steps(spec.interval)], length, spec.consumer_group)
    covered = coverage(question, Known([*counted.groups, *counted.clusters]), context.configuration.complete_share)
    return covered if spec.covers_clusters else replace(covered, silent=())


def _publish_clusters(
    context: RunContext, evaluated: DataFrame, counted: Counted, clusters: Iterable[str], claimed: Claimed
) -> None:
    """Publish each of these clusters as a run of this cluster."""
    for cluster in clusters:
        own, of_cluster = context.of_cluster(cluster), counted.of_cluster(cluster)
        with publishing(own.spark, own.warehouse, own.spec, own.run_id, claimed) as turn:
            rows, warnings = evaluated.where(F.col("cluster") == cluster), of_cluster.not_audited(own.spec.interval)
            _published(own, rows, of_cluster, warnings, turn)


def outputs_of(context: RunContext, evaluated: DataFrame, counted: Counted) -> dict[Table, DataFrame]:
    """The rows of the output tables that have some; those of clusters if all their groups were audited."""
    outputs = {table: unpacked(evaluated, table) for table in OUTPUTS if counted.facts[table]}
    if counted.clusters and context.spec.covers_clusters:
        rows = context.spark.createDataFrame(coverage_rows(counted.clusters), spark_schema(COVERAGE))
        outputs[COVERAGE] = outputs[COVERAGE].unionByName(rows)
    return outputs


def _published(
    context: RunContext, evaluated: DataFrame, counted: Counted, warnings: list[str], turn: Turn
) -> dict[str, Any]:
    """The row of `audit_runs`, written when every table is."""
    spark, warehouse, spec = context.spark, context.warehouse, context.spec
    one_step = spec.interval.end - spec.interval.start == context.configuration.grid.length
    tables = publish(
        spark, warehouse, spec, outputs_of(context, evaluated, counted), context.run_id, turn=turn, one_step=one_step
    )
    row = context.row(
        "published",
        finished_at=finished(spark, warehouse),
        not_evaluated=counted.not_evaluated,
        row_counts={name: table.content.rows for name, table in tables.items()},
        content_hashes={name: table.content.hash for name, table in tables.items()},
        published_versions={name: table.version for name, table in tables.items()},
        message="; ".join(warnings) or None,
    )
    context.progress("recording the run")
    turn.check()  # nor is a run recorded in a place from which the warehouse has vanished
    context.write(row, turn.options())
    return row
