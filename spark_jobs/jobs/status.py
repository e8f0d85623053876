"""Reads the newest published step of every group."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F

from schemas import GROUP_STATUS
from spark_jobs.domain.intervals import EVER
from spark_jobs.domain.severities import WORST_FIRST
from spark_jobs.publish.published import check_cluster, check_group, published_tables
from spark_jobs.warehouse import Warehouse


@dataclass(frozen=True)
class Statuses:
    """A row of `group_status` per group, those that need attention first; `newest_step`: of all groups together, None
    where no group was audited.
    """

    newest_step: datetime | None
    groups: list[dict[str, Any]]


def statuses(
    spark: SparkSession,
    warehouse: Warehouse,
    cluster: str | None = None,
    consumer_group: str | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Statuses:
    """The newest step of every group, or of those named; raises `NothingPublishedError` for names that nobody has."""
    tables = published_tables(spark, warehouse)
    progress("reading the newest step of every group")
    if consumer_group is not None:
        cluster = check_group(tables, EVER, cluster, consumer_group)
    everything = tables.read(GROUP_STATUS, EVER)
    per_group = Window.partitionBy("cluster", "consumer_group").orderBy(F.desc("step_start"))
    newest = everything.withColumn("age", F.row_number().over(per_group)).where("age = 1").drop("age")
    for name, value in (("cluster", cluster), ("consumer_group", consumer_group)):
        newest = newest.where(F.col(name) == F.lit(value)) if value is not None else newest
    (last,) = everything.agg(F.max("step_start")).collect()
    rows = [row.asDict(recursive=True) for row in newest.collect()]
    if cluster is not None and not rows:
        check_cluster(tables, cluster)
    groups = [row | {"step_start": row["step_start"].replace(tzinfo=UTC)} for row in rows]
    return Statuses(last[0].replace(tzinfo=UTC) if last[0] else None, in_order(groups))


def in_order(groups: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The worst severity first, then the largest backlog at the end of the step, unknown last, then by name."""

    def rank(group: dict[str, Any]) -> tuple[object, ...]:
        backlog = group["backlog_end"]
        severity = (*WORST_FIRST, None).index(group["worst_severity"])
        return severity, backlog is None, -(backlog or 0), group["consumer_group"], group["cluster"]

    return sorted(groups, key=rank)
