"""Read the source tables of one run, each at the version that the run has pinned."""

from __future__ import annotations

import logging
from dataclasses import replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemas import MEMBERSHIP_SNAPSHOTS, SOURCES, Table
from spark_jobs.domain.kernel.unseen import PROXIES_GROUP
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.pipeline.gather.gather import Sources
from spark_jobs.pipeline.publish.content import contents_of
from spark_jobs.pipeline.run_context import RunContext
from spark_jobs.store.spark_types import spark_schema
from spark_jobs.store.sql import literal

_LOG = logging.getLogger(__name__)
_OF_PROXIES = f"consumer_group = {literal(PROXIES_GROUP)}"


def during(interval: Interval, time: str) -> Column:
    """Return whether the time in the column of that name is in the interval, its end excluded."""
    return (F.col(time) >= F.lit(interval.start)) & (F.col(time) < F.lit(interval.end))


def read_sources(run: RunContext) -> Sources:
    """The snapshots of the run's read window, of its cluster and group; a missing optional table is empty."""
    return {table: _snapshots(run, table) for table in SOURCES}


def changed_sources(run: RunContext) -> list[str]:
    """Names of the source tables whose snapshots of the read window are not those any more that the run has pinned."""
    newest = {table.name: run.warehouse.version(run.spark, table) for table in SOURCES if table.name in run.versions}
    moved_on = [table for table in SOURCES if newest.get(table.name) != run.versions.get(table.name)]
    pinned, present = (
        contents_of({table: _snapshots(of, table) for table in moved_on}) for of in (run, replace(run, versions=newest))
    )
    return [table.name for table in moved_on if pinned[table] != present[table]]


def _snapshots(run: RunContext, table: Table) -> DataFrame:
    """Who the proxies are is read for every group: it tells whether one without connections is offline."""
    if table.name not in run.versions:
        _LOG.info("%s: there is no such table, the audit does without", table.name)
        return run.spark.createDataFrame([], spark_schema(table))
    frame = run.warehouse.read(run.spark, table, run.versions[table.name]).where(during(run.read_window, "captured_at"))
    for condition in run.spec.filters():
        column = condition.split(" ", 1)[0]
        if column in frame.columns:
            or_proxies = table is MEMBERSHIP_SNAPSHOTS and column == "consumer_group"
            frame = frame.where(f"{condition} OR {_OF_PROXIES}" if or_proxies else condition)
    return frame
