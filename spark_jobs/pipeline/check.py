"""Checks of a run, and their symptoms: rows set aside, results recorded, or the run rejected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from schemas import QUALITY_RESULTS, QUARANTINE, SOURCES, Table
from spark_jobs.errors import QualityError
from spark_jobs.pipeline.audit_run import AuditRun, write_rejected
from spark_jobs.pipeline.gather.judged import rejected
from spark_jobs.pipeline.quality.checks import Check, CheckResults, checks_of, raise_if_critical
from spark_jobs.pipeline.quality.drift import Usual, usual_values
from spark_jobs.pipeline.quality.facts import LEFT_OUT, ROWS, Facts
from spark_jobs.store.conflicts import retry_on_conflict
from spark_jobs.store.parallel import run_in_parallel
from spark_jobs.store.read.through_spark import SparkTables, stored_in
from spark_jobs.store.warehouse import Warehouse


def usual_of(run: AuditRun) -> Usual | None:
    """Return what is usual in the steps of the run; None for a run of some groups only, which is compared with
    nothing.
    """
    if not run.request.covers_everything:
        return None
    return usual_values(stored_in(run.spark, run.warehouse), run.request.interval, run.configuration.quality)


def check(run: AuditRun, tables: Iterable[Table], facts: Facts, usual: Usual | None) -> CheckResults:
    """Return what the expectations of these tables see in what was counted of them."""
    return validated(checks_of(tables, run.request.interval, run.configuration, usual), facts)


def validated(checks: Sequence[Check], facts: Facts) -> CheckResults:
    """Return what Great Expectations makes of the checks. It takes seconds to import: `api.start.start_spark` imports
    it while Java starts.
    """
    from spark_jobs.pipeline.quality.validation import validate

    return validate(checks, facts)


def set_rejected_aside(run: AuditRun, packed: DataFrame, facts: Facts) -> dict[str, int]:
    """Inserts the snapshots into quarantine that were not used, unless they are there; how many, by source table."""
    left_out = {table.name: sum(step[LEFT_OUT] for step in facts[table]) for table in SOURCES}
    if any(left_out.values()) and not run.only_looks:
        run.warehouse.create(run.spark, [QUARANTINE])
        rows = rejected(packed).withColumn("run_id", F.lit(run.run_id))
        same = F.col("t.quarantine_id") == F.col("s.quarantine_id")
        target = run.warehouse.delta_table(run.spark, QUARANTINE).alias("t")
        merge = target.merge(rows.alias("s"), same).whenNotMatchedInsertAll()
        retry_on_conflict(merge.execute, f"insert into {QUARANTINE.name}")
    return {name: count for name, count in left_out.items() if count}


def unused_sources(facts: Facts) -> set[str]:
    """Names of the source tables that have no row that can be used."""
    return {table.name for table in SOURCES if all(step[ROWS] == step[LEFT_OUT] for step in facts[table])}


def reject_if_critical(run: AuditRun, checked: CheckResults) -> None:
    """Raises `QualityError` where a critical expectation failed; `audit_runs` says rejected then."""
    try:
        raise_if_critical(checked.results)
    except QualityError as error:
        write_rejected(run, error)
        record_results(run.spark, run.warehouse, run.run_id, checked)
        raise


def record_results(spark: SparkSession, warehouse: Warehouse, run_id: str, checked: CheckResults) -> Path | None:
    """Appends what the checks of a run saw to `quality_results` and writes the pages, both at once; their index."""
    key = {"run_id": run_id, "checked_at": datetime.now(UTC)}
    rows = [key | result._asdict() for result in checked.results]
    _, index = run_in_parallel(
        lambda: SparkTables(spark, warehouse).append(QUALITY_RESULTS, rows),
        lambda: _write_pages(warehouse, run_id, checked),
    )
    return index


def _write_pages(warehouse: Warehouse, run_id: str, checked: CheckResults) -> Path | None:
    """Alongside the tables; not where the warehouse is no local folder."""
    from spark_jobs.pipeline.quality.validation import write_pages

    return write_pages(checked, run_id, warehouse.local_path / "_quality") if warehouse.local_path else None
