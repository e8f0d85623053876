"""Checks of a run, and what follows: rows set aside, results recorded, or clusters rejected."""

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from expectations.suite import Severity
from schemas import QUALITY_RESULTS, QUARANTINE, SOURCES, Table
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.errors import QualityError
from spark_jobs.pipeline.gather.evaluated import rejected
from spark_jobs.pipeline.quality.checks import CheckResults, closed_clusters, failures, raise_if_critical
from spark_jobs.pipeline.quality.drift import Usual
from spark_jobs.pipeline.quality.facts import LEFT_OUT, Facts, clusters_in
from spark_jobs.pipeline.run_context import RunContext
from spark_jobs.store.conflicts import retry_on_conflict
from spark_jobs.store.parallel import run_in_parallel
from spark_jobs.store.read.through_spark import SparkTables
from spark_jobs.store.warehouse import Warehouse


def check(context: RunContext, tables: Iterable[Table], facts: Facts) -> CheckResults:
    """Results of the expectations of these tables over what was counted of them."""
    return validated(tables, context.spec.interval, context.configuration, context.usual, facts)


def validated(
    tables: Iterable[Table],
    interval: Interval,
    configuration: Configuration,
    usual: Usual | None,
    facts: Facts,
    unchanged: Mapping[Table, Mapping[datetime, bool]] = MappingProxyType({}),
) -> CheckResults:
    """Results of the `suites_of` the tables by Great Expectations. It takes seconds to import:
    `api.start.start_spark` imports it while Java starts.
    """
    from spark_jobs.pipeline.quality.suites import suites_of
    from spark_jobs.pipeline.quality.validation import validate

    return validate(suites_of(tables, interval, configuration, usual, unchanged), facts)


def gate(context: RunContext, tables: Iterable[Table], facts: Facts) -> tuple[CheckResults, frozenset[str]]:
    """The results of `check`, and the clusters that may not be published: there a critical expectation failed. Raises
    `QualityError` if these are all clusters of the run; `audit_runs` says rejected then.
    """
    checked, clusters = check(context, tables, facts), clusters_in(facts)
    closed = closed_clusters(checked.results, clusters)
    if closed >= clusters:
        reject(context, checked, closed)
    return checked, closed


def reject(
    context: RunContext, checked: CheckResults, closed: Collection[str], published: Collection[str] = ()
) -> None:
    """Raises `QualityError` if a critical expectation failed, after each closed cluster got its row of `audit_runs`.
    `published`: the other clusters of the run.
    """
    try:
        raise_if_critical(checked.results, published)
    except QualityError as error:
        first, *further = [*map(context.of_cluster, sorted(closed))] or [context]
        context.write(context.row("rejected", cluster=first.spec.cluster, message=str(error)))
        for own in further:
            own.write(own.row("rejected", message=str(error)))
        record_results(context.spark, context.warehouse, context.run_id, checked)
        raise


def quality_warnings(facts: Facts, checked: CheckResults) -> list[str]:
    """Sentences on rows that were set aside, and on expectations that failed without closing the gate."""
    aside = [f"{count} rows of {name} are in quarantine" for name, count in _left_out(facts).items()]
    return aside + failures(checked.results, Severity.WARNING)


def _left_out(facts: Facts) -> dict[str, int]:
    """The number of snapshots that were not used, by the name of their source; without sources that lost none."""
    counts = {table.name: sum(step[LEFT_OUT] for step in facts[table]) for table in SOURCES}
    return {name: count for name, count in counts.items() if count}


def set_rejected_aside(context: RunContext, evaluated: DataFrame, facts: Facts) -> None:
    """Inserts the snapshots into quarantine that were not used, unless they are there."""
    if not _left_out(facts):
        return
    context.warehouse.create(context.spark, [QUARANTINE])
    by_run = {"run_id": F.lit(context.run_id), "rejected_at": F.lit(datetime.now(UTC))}
    rows = rejected(evaluated).withColumns(by_run)
    same = F.col("t.quarantine_id") == F.col("s.quarantine_id")
    target = context.warehouse.delta_table(context.spark, QUARANTINE).alias("t")
    merge = target.merge(rows.alias("s"), same).whenNotMatchedInsertAll()
    retry_on_conflict(merge.execute, f"insert into {QUARANTINE.name}")


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
