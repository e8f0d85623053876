"""Audits a published run again, from the versions of its sources, to see whether the same comes out."""

from dataclasses import asdict, dataclass
from typing import Any

from pyspark.sql import SparkSession

from schemas import SOURCES
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.pipeline.check import check
from spark_jobs.pipeline.publish.content import NOTHING, contents_of
from spark_jobs.pipeline.quality.checks import raise_if_critical
from spark_jobs.pipeline.run import audit, in_memory, outputs_of
from spark_jobs.pipeline.run_context import Progress, RunContext
from spark_jobs.pipeline.run_record import RunRecord
from spark_jobs.runtime.version import code_version
from spark_jobs.store.read.published import published_run
from spark_jobs.store.read.through_spark import stored_in
from spark_jobs.store.warehouse import Warehouse


@dataclass(frozen=True)
class Verified:
    """The published and the new content of each table that differs, and the code versions then and now."""

    run_id: str
    interval: Interval
    differs: dict[str, dict[str, Any]]
    code_then: str
    code_now: str


def verify(spark: SparkSession, warehouse: Warehouse, run_id: str, progress: Progress = lambda _: None) -> Verified:
    """Audit a published run again, with its configuration and source versions; publish nothing. Raises
    `NothingPublishedError` for an unknown run, `WarehouseError` for a version that is gone, `QualityError` if the
    sources' gate is closed now.
    """
    published = RunRecord(published_run(stored_in(spark, warehouse), run_id))
    configuration = Configuration.model_validate_json(published.run["configuration"])
    context = RunContext.again(spark, warehouse, published, configuration, progress)
    evaluated, counted = audit(context, in_memory)
    raise_if_critical(check(context, SOURCES, counted.facts).results)
    progress("comparing")
    contents = {table.name: content for table, content in contents_of(outputs_of(context, evaluated, counted)).items()}
    differs = {
        name: {"published": asdict(then), "now": asdict(now)}
        for name, then in published.contents.items()
        if (now := contents.get(name, NOTHING)) != then
    }
    return Verified(run_id, published.spec.interval, differs, published.run["code_version"], code_version())
