"""The published tables as a reader sees them: all at the versions of one run, so that they fit each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from schemas import AUDIT_RUNS, GROUP_STATUS, Table
from spark_jobs.domain.intervals import Interval, StepGrid, format_utc
from spark_jobs.domain.phrases import did_you_mean
from spark_jobs.errors import NothingPublishedError
from spark_jobs.publish.request import RunRequest
from spark_jobs.warehouse import Warehouse


@dataclass(frozen=True)
class PublishedTables:
    """The output tables at the Delta versions that the newest run left, and the grid of their steps."""

    spark: SparkSession
    warehouse: Warehouse
    versions: Mapping[str, int]
    grid: StepGrid

    def read(
        self, table: Table, interval: Interval, cluster: str | None = None, consumer_group: str | None = None
    ) -> DataFrame:
        """The table's rows of the steps that overlap the interval, of everything or of the names that are given."""
        frame = self.warehouse.read(self.spark, table, self.versions[table.name])
        of_interval = (F.col("step_start") >= F.lit(self.steps(interval).start)) & (
            F.col("step_start") < F.lit(interval.end)
        )
        for condition in RunRequest(interval, cluster, consumer_group).filters():
            frame = frame.where(condition)
        return frame.where(of_interval)

    def steps(self, interval: Interval) -> Interval:
        """The interval, widened to whole steps."""
        end = self.grid.floor(interval.end)
        return Interval(self.grid.floor(interval.start), end if end == interval.end else end + self.grid.length)

    def groups(self) -> DataFrame:
        """One row per (cluster, consumer group) that was ever audited."""
        status = self.warehouse.read(self.spark, GROUP_STATUS, self.versions[GROUP_STATUS.name])
        return status.groupBy("cluster", "consumer_group").agg(
            F.min("step_start").alias("first_step"), F.max("step_start").alias("last_step")
        )


def published_tables(spark: SparkSession, warehouse: Warehouse) -> PublishedTables:
    """What the newest published run left; raises `NothingPublishedError` where no run has published anything."""
    newest: Row | None = None
    if warehouse.exists(spark, AUDIT_RUNS):
        runs = warehouse.read(spark, AUDIT_RUNS).where("outcome = 'published'")
        newest = runs.orderBy(F.desc("finished_at"), "run_id").head()
    if newest is None:
        raise NothingPublishedError(
            f"nothing has been published in the warehouse {warehouse.location}: audit it first, with "
            "`rebalance-audit run --warehouse URI --interval START/END`"
        )
    return PublishedTables(
        spark, warehouse, newest.published_versions, StepGrid(timedelta(seconds=newest.step_seconds))
    )


def check_cluster(tables: PublishedTables, cluster: str) -> None:
    """Raises `NothingPublishedError`, naming those that were audited, if the cluster never was."""
    known = sorted(row.cluster for row in tables.groups().select("cluster").distinct().collect())
    if cluster not in known:
        raise NothingPublishedError(f"there is no cluster {cluster}: audited are {', '.join(known) or 'none'}")


def check_group(tables: PublishedTables, interval: Interval, cluster: str | None, consumer_group: str) -> str:
    """The cluster of a group that was audited in some step of the interval.

    Raises `NothingPublishedError` if there is none of that name (it names the nearest), if it was audited at other
    times only (it says which), or if the group is in several clusters and none was named.
    """
    found = tables.read(GROUP_STATUS, interval, cluster, consumer_group).select("cluster").distinct().collect()
    if len(found) == 1:
        return str(found[0].cluster)
    if found:
        clusters = ", ".join(sorted(row.cluster for row in found))
        raise NothingPublishedError(f"{consumer_group} is in several clusters ({clusters}): name one with --cluster")
    raise NothingPublishedError(
        _why_no_group(tables.groups().collect(), tables.steps(interval), cluster, consumer_group)
    )


def _why_no_group(groups: Iterable[Row], interval: Interval, cluster: str | None, consumer_group: str) -> str:
    groups = list(groups)
    same = [row for row in groups if row.consumer_group == consumer_group and cluster in (None, row.cluster)]
    if same:
        first, last = min(row.first_step for row in same), max(row.last_step for row in same)
        return (
            f"{consumer_group} was not audited in {interval}: its first audited step began at {format_utc(first)}, its "
            f"last at {format_utc(last)}"
        )
    elsewhere = sorted({row.cluster for row in groups if row.consumer_group == consumer_group})
    if elsewhere:
        return f"there is no cluster {cluster} with a group {consumer_group}: that group is in {', '.join(elsewhere)}"
    names = sorted({row.consumer_group for row in groups if cluster in (None, row.cluster)})
    where = "" if cluster is None else f" in the cluster {cluster}"
    hint = did_you_mean(consumer_group, names) or f"{len(names)} groups were audited{where}"
    return f"there is no consumer group {consumer_group}{where}: {hint}"
