"""Ordinary life raises no alarm: 100 healthy groups, each of which loses a member within the hour and gets it back."""

from __future__ import annotations

from pyspark.sql import SparkSession

from benchmarks.fleet import Fleet
from benchmarks.snapshots import make
from spark_jobs.config import Configuration
from spark_jobs.jobs.run import RunRequest, run
from spark_jobs.warehouse import Warehouse

FLEET = Fleet(groups=100, hours=1, churn=1.0, duplicates=0)


def test_deploys_of_a_healthy_fleet_tell_what_was_in_flight_and_raise_no_alarm(
    spark: SparkSession, warehouse: Warehouse
) -> None:
    make(spark, warehouse, FLEET)
    result = run(spark, warehouse, RunRequest(FLEET.interval), Configuration())
    # What was in flight on the queues that moved is consumed again, which an operator may want to know.
    assert {(finding["severity"], finding["rule"]) for finding in result.findings} == {("INFO", "REDELIVERY_EXPOSURE")}
    # Every group has rebalanced: the fleet is not simply standing still.
    assert result.run["row_counts"]["rebalance_intervals"] >= 2 * 2 * FLEET.groups
