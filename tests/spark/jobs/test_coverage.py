"""Runs of everything, of a cluster, of a group and of a topic: what each publishes of how much was observed."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from schemas import COVERAGE, SIGHTINGS, SOURCES, Table
from spark_jobs.cli.exit_codes import run_exit_code
from spark_jobs.config import Configuration
from spark_jobs.domain.coverage import Coverage, Seen
from spark_jobs.pipeline.run import RunRecord, RunSpec, run
from spark_jobs.show.coverage import coverage_of
from spark_jobs.show.trends import trends_of
from spark_jobs.store.read.delta import DeltaTables
from spark_jobs.store.read.published import Scope, published_tables
from spark_jobs.store.read.through_spark import SparkTables
from spark_jobs.store.warehouse import Warehouse
from tests.support.snapshots import healthy_group, load, sighting
from tests.support.stored import stored_rows
from tests.support.times import HOUR, at

CONFIGURATION = Configuration(cadence_seconds=60)
#: The recorder of the cluster `dead` takes its last snapshot 5 minutes after ten.
GROUPS = {("alive", "g"): 3600, ("alive", "h"): 3600, ("dead", "g"): 301}


def named(rows: list[dict[str, Any]], cluster: str, group: str) -> list[dict[str, Any]]:
    return [row | {"cluster": cluster} | ({"consumer_group": group} if "consumer_group" in row else {}) for row in rows]


@pytest.fixture
def warehouse(spark: SparkSession, tmp_path: Path) -> Warehouse:
    """A snapshot each minute from ten o'clock on."""
    rows: dict[Table, list[dict[str, Any]]] = {table: [] for table in (*SOURCES, SIGHTINGS)}
    for (cluster, group), until in GROUPS.items():
        for table, snapshots in healthy_group(range(0, until, 60), "c1", "c2").items():
            of_group = named(snapshots, cluster, group)
            rows[table] += [row for row in of_group if row not in rows[table]]  # of a topic once, for both groups
        rows[SIGHTINGS] += named([sighting(0, until - 60, consumer_group=group)], cluster, group)
    warehouse = Warehouse.parse(str(tmp_path / "warehouse"))
    warehouse.create(spark, [SIGHTINGS])
    load(spark, warehouse, rows)
    return warehouse


def audited(spark: SparkSession, warehouse: Warehouse, **names: str) -> RunRecord:
    return run(spark, warehouse, RunSpec(HOUR, **names), CONFIGURATION)


def published(warehouse: Warehouse) -> dict[tuple[str, str | None], tuple[float, float]]:
    """By cluster and group the seconds expected and observed."""
    return {
        (row["cluster"], row["consumer_group"]): (row["expected_seconds"], row["observed_seconds"])
        for row in stored_rows(warehouse, COVERAGE)
    }


def asked(warehouse: Warehouse) -> Coverage:
    return coverage_of(published_tables(DeltaTables(warehouse)), Scope(HOUR))


@pytest.mark.slow
def test_spark_reads_the_same(spark: SparkSession, warehouse: Warehouse) -> None:
    audited(spark, warehouse)
    by_spark, by_delta = SparkTables(spark, warehouse), DeltaTables(warehouse)
    for scope in (Scope(HOUR), Scope()):
        assert coverage_of(published_tables(by_spark), scope) == coverage_of(published_tables(by_delta), scope)
    assert trends_of(by_spark, Scope(), 7).groups == trends_of(by_delta, Scope(), 7).groups != ()


@pytest.mark.slow
def test_what_each_run_publishes(spark: SparkSession, warehouse: Warehouse) -> None:
    only_g = audited(spark, warehouse, cluster="alive", consumer_group="g")
    assert published(warehouse) == {("alive", "g"): (3600, 3600)}
    assert (run_exit_code(only_g, "ERROR"), only_g.coverage.is_whole) == (0, True)
    # Of what the run was not asked for, nothing is known.
    assert {(group.cluster, group.consumer_group): group.seen for group in asked(warehouse).groups} == {
        ("alive", "g"): Seen.WHOLE,
        ("alive", "h"): Seen.NOT_AUDITED,
        ("dead", "g"): Seen.NOT_AUDITED,
    }
    audited(spark, warehouse, cluster="alive")
    whole = {("alive", None): (3600, 3600), ("alive", "g"): (3600, 3600), ("alive", "h"): (3600, 3600)}
    assert published(warehouse) == whole
    assert [group.consumer_group for group in asked(warehouse).not_whole if group.cluster == "dead"] == ["g"]
    # One topic says nothing about whole groups, and takes nothing away.
    audited(spark, warehouse, topic="t")
    assert published(warehouse) == whole
    everything = audited(spark, warehouse)
    # The last snapshot of 300 s holds for three collection intervals.
    assert published(warehouse) == whole | {("dead", None): (3600, 480), ("dead", "g"): (3600, 480)}
    assert run_exit_code(everything, "ERROR") == 1
    assert run_exit_code(everything, "NEVER") == 2
    for answer in (everything.coverage, asked(warehouse)):
        assert answer.lacks() == [
            "Nothing was recorded of the cluster dead from 2026-03-01T10:08Z to 2026-03-01T11:00Z."
        ]
        assert answer.share == pytest.approx((1 + 1 + 480 / 3600) / 3)
    (row,) = (
        row for row in stored_rows(warehouse, COVERAGE) if (row["cluster"], row["consumer_group"]) == ("dead", "g")
    )
    assert (row["first_snapshot_at"], row["last_snapshot_at"]) == (at(0), at(300))
    assert [(each["started_at"], each["ended_at"], each["reason"]) for each in row["missing"]] == [
        (at(480), at(3600), "NO_SNAPSHOTS")
    ] * 3
