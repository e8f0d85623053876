"""`maintain --forget-cluster`: later runs expect nothing of the cluster, and no earlier step is audited again."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from schemas import COVERAGE, FINDINGS, GROUP_STATUS, Table
from spark_jobs.cli.main import main
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.operate.late import is_nothing_late, late_steps
from spark_jobs.operate.maintain import maintain
from spark_jobs.operate.retention import forget_cluster, forgettable
from spark_jobs.pipeline.run import RunSpec, run
from spark_jobs.store.read.delta import DeltaTables
from spark_jobs.store.read.forgotten import forgotten_clusters
from spark_jobs.store.read.through_spark import SparkTables
from spark_jobs.store.warehouse import Warehouse
from tests.support.snapshots import healthy_group, load
from tests.support.stored import stored_rows
from tests.support.times import at
from tests.support.two_clusters import END, two_clusters

pytestmark = pytest.mark.slow

HOUR = 3600
#: In the third hour.
FORGOTTEN = END + 1800


@pytest.fixture(scope="module")
def warehouse(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """The cluster `b` was recorded for an hour and some minutes, `a` for four hours; two hours are audited."""
    warehouse = Warehouse.parse(str(tmp_path_factory.mktemp("forget") / "warehouse"))
    load(spark, warehouse, two_clusters())
    later = healthy_group(range(END, END + 2 * HOUR, 20), "c1", "c2")
    load(spark, warehouse, {table: [row | {"cluster": "a"} for row in rows] for table, rows in later.items()})
    maintain(spark, warehouse, timedelta(days=30))
    run(spark, warehouse, RunSpec(Interval(at(0), at(END))), Configuration())
    return warehouse


def of_b(warehouse: Warehouse, table: Table, hour: int) -> list[dict[str, Any]]:
    rows = stored_rows(warehouse, table)
    return [row for row in rows if (row["cluster"], row["step_start"]) == ("b", at(hour * HOUR))]


def test_later_runs_expect_nothing_of_it(
    spark: SparkSession, warehouse: Warehouse, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["maintain", "--warehouse", warehouse.location, "--forget-cluster", "b", "--dry-run"]
    assert main(command) == 0
    would = "would forget b: 1 group, newest snapshot 2026-03-01T11:05:40Z\n"
    assert capsys.readouterr().out == "No rows are older than they are kept.\n" + would
    stored = DeltaTables(warehouse)
    assert forgotten_clusters(stored) == {}

    cluster = replace(forgettable(stored, "b", at(END + 48 * HOUR)), forgotten_at=at(FORGOTTEN))
    forget_cluster(spark, warehouse, cluster)
    assert forgotten_clusters(stored) == forgotten_clusters(SparkTables(spark, warehouse)) == {"b": at(FORGOTTEN)}
    for hour in (2, 3):
        run(spark, warehouse, RunSpec(Interval(at(hour * HOUR), at((hour + 1) * HOUR))), Configuration())
    later = [of_b(warehouse, table, hour) for hour in (2, 3) for table in (COVERAGE, FINDINGS, GROUP_STATUS)]
    assert later == [[]] * 6
    audited = Interval(at(0), at(END + 2 * HOUR))
    assert is_nothing_late(DeltaTables(warehouse), Configuration(), audited)
    assert late_steps(spark, warehouse, Configuration(), audited) == []


def test_the_command_forgets(warehouse: Warehouse, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["maintain", "--warehouse", warehouse.location, "--json", "--forget-cluster"]
    assert main([*command, "b"]) == 0
    document = json.loads(capsys.readouterr().out)
    (forgotten,) = document["forgotten"]
    assert {**forgotten, "forgotten_at": None} == {
        "cluster": "b",
        "groups": 1,
        "newest_snapshot": "2026-03-01T11:05:40Z",
        "forgotten_at": None,
    }
    assert forgotten_clusters(DeltaTables(warehouse))["b"] > at(FORGOTTEN)
    assert "tables" in document
    assert main([*command, "bb"]) == 3
    assert "there is no cluster bb: did you mean b?" in capsys.readouterr().err
