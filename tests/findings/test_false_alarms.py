"""Ordinary life raises no alarm: 500 healthy groups, each of which loses a member within the hour and gets it back."""

from __future__ import annotations

from collections import Counter

from pyspark.sql import SparkSession

from benchmarks.fleet import Fleet
from benchmarks.snapshots import make
from spark_jobs.config import Configuration
from spark_jobs.jobs.run import RunRequest, run
from spark_jobs.warehouse import Warehouse

FLEET = Fleet(groups=500, hours=1, churn=1.0, duplicates=0)


def test_deploys_of_a_healthy_fleet_are_no_finding(spark: SparkSession, warehouse: Warehouse) -> None:
    make(spark, warehouse, FLEET)
    result = run(spark, warehouse, RunRequest(FLEET.interval), Configuration())
    assert Counter(finding["rule"] for finding in result.findings) == {}
    # Every group has rebalanced: the fleet is not simply standing still.
    assert result.run["row_counts"]["rebalance_intervals"] >= 2 * 2 * FLEET.groups
