"""Read the source tables of one run, each at one version."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from schemas import MEMBERSHIP_SNAPSHOTS, OPTIONAL_SOURCES, SIGHTINGS, SOURCES, Table
from spark_jobs.domain.kernel.unseen import PROXIES_GROUP
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.pipeline.gather.sources import Sources
from spark_jobs.pipeline.publish.request import RunRequest
from spark_jobs.store.spark_types import spark_schema
from spark_jobs.store.sql import literal
from spark_jobs.store.warehouse import Warehouse

_LOG = logging.getLogger(__name__)
_OF_PROXIES = f"consumer_group = {literal(PROXIES_GROUP)}"


def pinned_versions(spark: SparkSession, warehouse: Warehouse) -> dict[str, int]:
    """The newest version of every source table, and of `sightings`: what a run reads from its first to its last look.

    Raises `WarehouseError` where a table is missing that cannot be done without.
    """
    return {
        table.name: warehouse.version(spark, table)
        for table in (*SOURCES, SIGHTINGS)
        if table not in (*OPTIONAL_SOURCES, SIGHTINGS) or warehouse.exists(spark, table)
    }


def during(interval: Interval, time: str) -> Column:
    """Whether the time in the column of that name is in the interval, its end excluded."""
    return (F.col(time) >= F.lit(interval.start)) & (F.col(time) < F.lit(interval.end))


def read_sources(
    spark: SparkSession, warehouse: Warehouse, versions: Mapping[str, int], window: Interval, request: RunRequest
) -> Sources:
    """The snapshots inside the window, of the request's cluster and group; a missing optional table is empty.

    Who the proxies are is read for every group: it tells whether one without connections is offline.
    """

    def read(table: Table) -> DataFrame:
        if table.name not in versions:
            _LOG.info("%s: there is no such table, the audit does without", table.name)
            return spark.createDataFrame([], spark_schema(table))
        frame = warehouse.read(spark, table, versions[table.name]).where(during(window, "captured_at"))
        for condition in request.filters():
            column = condition.split(" ", 1)[0]
            if column in frame.columns:
                or_proxies = table is MEMBERSHIP_SNAPSHOTS and column == "consumer_group"
                frame = frame.where(f"{condition} OR {_OF_PROXIES}" if or_proxies else condition)
        return frame

    memberships, routes, topics, offsets, clients = map(read, SOURCES)
    return Sources(memberships, routes, topics, offsets, clients)
