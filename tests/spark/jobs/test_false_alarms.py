"""Ordinary life raises no alarm: 100 healthy groups, each of which loses a member within the hour and gets it back.

Judged by the kernel: `tests/spark/recording/test_kernel.py` shows that a run publishes what it judges.
"""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from benchmarks.fleet import Fleet
from benchmarks.snapshots import snapshots
from tests.support.kernel import judged

FLEET = Fleet(groups=100, hours=1, churn=1.0, duplicates=0)


@pytest.mark.slow
def test_deploys_of_a_healthy_fleet_report_what_was_in_flight_and_raise_no_alarm(spark: SparkSession) -> None:
    steps = judged({table: frame.toArrow().to_pylist() for table, frame in snapshots(spark, FLEET)}, FLEET.interval)
    # What was in flight on the queues that moved is consumed again, which an operator may want to know.
    told = {(finding.severity, finding.rule) for step in steps for finding in step.findings}
    assert told == {("INFO", "REDELIVERY_EXPOSURE")}
    # Every group has rebalanced: the fleet is not simply standing still.
    topics = {(one.step.history.consumer_group, topic) for one in steps for topic in one.step.history.routes}
    assert len(topics) == 2 * FLEET.groups
    assert sum(len(one.step.intervals) for one in steps) >= 2 * len(topics)
