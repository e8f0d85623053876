"""Audits a published run again, from the versions of its sources, to see whether the same comes out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from schemas import AUDIT_RUNS
from spark_jobs.config import Configuration
from spark_jobs.domain.intervals import Interval
from spark_jobs.errors import NothingPublishedError
from spark_jobs.jobs.audit import Progress, audit, window_of
from spark_jobs.jobs.check import Gate
from spark_jobs.jobs.sightings import Past
from spark_jobs.jobs.sources import read_sources
from spark_jobs.publish.content import NOTHING, contents_of
from spark_jobs.publish.request import RunRequest
from spark_jobs.publish.runs import utc
from spark_jobs.version import code_version
from spark_jobs.warehouse import Warehouse


@dataclass(frozen=True)
class Verified:
    """What a run published and what came out now, as rows and content hash of each table that differs; the versions of
    the code then and now.
    """

    run_id: str
    interval: str
    differs: dict[str, dict[str, Any]]
    code_then: str
    code_now: str


def verify(spark: SparkSession, warehouse: Warehouse, run_id: str, progress: Progress = lambda _: None) -> Verified:
    """Audits a published run's steps again, with its configuration and from the versions that it read; publishes
    nothing.

    Raises `NothingPublishedError` where no such run has published anything, `WarehouseError` where a version of a
    source is not there any more, `QualityError` where the gate of the sources is closed now.
    """
    asked = warehouse.read(spark, AUDIT_RUNS).where(F.col("run_id") == F.lit(run_id)).where("outcome = 'published'")
    run = next(iter(asked.collect()), None)
    if run is None:
        raise NothingPublishedError(
            f"no run {run_id} has published anything in {warehouse.location}: audit_runs names those that have"
        )
    interval = Interval(utc(run.interval_start), utc(run.interval_end))
    request = RunRequest(interval, run.cluster, run.consumer_group, run.topic)
    configuration = Configuration.model_validate_json(run.configuration)
    gate = Gate(spark, warehouse, request, configuration, run_id)
    window = window_of(request, configuration)
    sources = read_sources(spark, warehouse, run.source_versions, window.read, request)
    past = Past(spark, warehouse, run.source_versions, request, configuration)
    outputs = audit(gate, sources, past, progress).outputs()
    progress("comparing")
    found = contents_of(outputs)
    now = {table.name: content for table, content in found.items()}
    differs = {}
    for name, rows in run.row_counts.items():
        content = now.get(name, NOTHING)
        if (content.rows, content.hash) != (rows, run.content_hashes[name]):
            told = {"rows": rows, "hash": run.content_hashes[name]}
            differs[name] = {"published": told, "now": {"rows": content.rows, "hash": content.hash}}
    return Verified(run_id, str(interval), differs, run.code_version, code_version())
