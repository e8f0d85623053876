"""One audit as two tasks, each a process of its own that a scheduler starts, retries and runs again.

They are the steps of `run`, cut where the evaluated rows are kept: `audit` stages them, and `publish` reads them back.
Run again, `audit` stages again and `publish` has nothing to do; out of turn, or while another process does a task of
the run, it refuses.
"""

import hashlib
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from schemas import AUDIT_RUNS, SOURCES
from spark_jobs.config import Configuration
from spark_jobs.errors import WarehouseError
from spark_jobs.pipeline.check import gate, quality_warnings, set_rejected_aside
from spark_jobs.pipeline.publish.claims import claim, claim_task
from spark_jobs.pipeline.quality.counted import counted_in
from spark_jobs.pipeline.run import audit, publish_evaluated
from spark_jobs.pipeline.run_context import Progress, RunContext
from spark_jobs.pipeline.run_record import RunRecord
from spark_jobs.pipeline.run_spec import RunSpec
from spark_jobs.pipeline.sources import changed_sources
from spark_jobs.store.read.stored import Filter, rows
from spark_jobs.store.spark_types import spark_schema
from spark_jobs.store.staging import drop_staged, stage, staged
from spark_jobs.store.warehouse import Warehouse


def staging_of(name: str, spec: RunSpec) -> str:
    """Under which name the tasks of a scheduled run stage, by the scheduler's `name` for it: no other run of the same
    steps has it.
    """
    return hashlib.sha256(f"{name}\n{spec.as_json()}".encode()).hexdigest()[:16]


def audit_task(
    spark: SparkSession,
    warehouse: Warehouse,
    spec: RunSpec,
    configuration: Configuration,
    name: str,
    progress: Progress = lambda _: None,
) -> RunRecord:
    """Begin a run: audit, set rows aside that break a rule, check the sources, and stage the evaluated rows.

    Raises `QualityError` if every cluster has too many of those rows: `audit_runs` then says rejected;
    `PublishConflictError` while another process does a task of the run.
    """
    staging = staging_of(name, spec)
    with claim_task(warehouse.folder(spark), name, staging):
        drop_staged(spark, warehouse, f"{staging}_audited")
        return _audit(RunContext.begin(spark, warehouse, spec, configuration, progress), staging)


def publish_task(
    spark: SparkSession,
    warehouse: Warehouse,
    spec: RunSpec,
    configuration: Configuration,
    name: str,
    progress: Progress = lambda _: None,
) -> RunRecord:
    """Check the staged rows, and replace the run's steps in the tables by them; run again, return the same row.
    Snapshots of the steps that came or changed since the task `audit` are audited first.

    Raises `QualityError` if a critical expectation fails: `audit_runs` says rejected of the clusters in which it does,
    and nothing of these is published;
    `PublishConflictError` where another run is publishing the same steps, or another process does a task of the run;
    `WarehouseError` where the task `audit` has staged nothing, or had another configuration.
    """
    staging = staging_of(name, spec)
    with claim_task(warehouse.folder(spark), name, staging):
        (row,) = rows(_staged(spark, warehouse, spec, name, "audited").toArrow())
        begun = RunRecord(row, observed=row.pop("observed"))
        if begun.run["configuration_hash"] != configuration.hash():
            raise WarehouseError(
                f"run {name} was audited with another configuration than this one: run its task audit again"
            )
        context = RunContext.again(spark, warehouse, begun, configuration, progress)
        record = _recorded(context)
        if record is None or record.run["outcome"] != "published":
            why = []
            if changed := changed_sources(context):
                why = [f"audited again, as {' and '.join(changed)} changed since the task audit"]
                progress(why[0])
                begun = _audit(RunContext.begin(spark, warehouse, spec, configuration, progress), staging)
                context = RunContext.again(spark, warehouse, begun, configuration, progress)
            is_recorded = record is not None and not why
            record = _publish(replace(context, is_recorded=is_recorded), name, begun.observed)
            record = replace(record, warnings=[*why, *record.warnings])
        drop_staged(spark, warehouse, f"{staging}_results")
        return record


def _audit(context: RunContext, staging: str) -> RunRecord:
    """Audits and stages; the record is there when everything is, and only then."""
    spark, warehouse = context.spark, context.warehouse
    evaluated, counted = audit(context, lambda frame: stage(spark, warehouse, f"{staging}_results", frame))
    set_rejected_aside(context, evaluated, counted.facts)
    checked, _ = gate(context, SOURCES, counted.facts)
    warnings = quality_warnings(counted.facts, checked)
    record = RunRecord(context.row("staged"), quality_warnings=warnings, observed=counted.observed)
    row = spark.createDataFrame([record.run], spark_schema(AUDIT_RUNS)).withColumn("observed", F.lit(record.observed))
    stage(spark, warehouse, f"{staging}_audited", row.coalesce(1))
    return record


def _staged(spark: SparkSession, warehouse: Warehouse, spec: RunSpec, name: str, part: str) -> DataFrame:
    """The rows that the task `audit` has staged; raises `WarehouseError` if there are none."""
    frame = staged(spark, warehouse, f"{staging_of(name, spec)}_{part}")
    if frame is None:
        raise WarehouseError(f"the task audit of run {name} has staged nothing for {spec.interval}: run it first")
    return frame


def _recorded(context: RunContext) -> RunRecord | None:
    """Return the run as `audit_runs` has it; None where it has none."""
    stored, same_run = context.stored, [Filter("run_id", "=", context.run_id)]
    recorded = rows(stored.read(AUDIT_RUNS, AUDIT_RUNS.columns, same_run)) if stored.exists(AUDIT_RUNS) else []
    return RunRecord(recorded[0]) if recorded else None


def _publish(context: RunContext, name: str, observed: bool) -> RunRecord:
    """Checks and publishes the staged rows."""
    with claim(context.warehouse.folder(context.spark), context.spec, context.run_id) as claimed:
        context.progress("checking what was counted")
        evaluated = _staged(context.spark, context.warehouse, context.spec, name, "results")
        counted = counted_in(evaluated, context.spec.check_settings(context.configuration))
        if not observed:
            counted = counted.without_outputs()
        return publish_evaluated(context, evaluated, counted, claimed)
