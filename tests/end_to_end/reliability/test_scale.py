"""Histories that are not of a comfortable size, by the command line, in a process whose memory is watched."""

import json
import os
import sys
from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from benchmarks.fleet import START, Fleet
from benchmarks.process import Watched, watched
from benchmarks.snapshots import make
from schemas import AUDIT_RUNS, FINDINGS, GROUP_STATUS, SOURCES
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.store.warehouse import Warehouse
from tests.end_to_end.reliability.killing import users_environment

pytestmark = pytest.mark.reliability

GIB = 2**30
#: Memory that an hour takes at most, with its JVM of 2.5 GiB of heap: docs/performance.md.
MOST_GIB = 6


ONE_GROUP = Fleet(groups=1, hours=1, churn=0, duplicates=0, brokers=4, hosts=4)
#: A fleet, how many findings of a rule its hour has, and the groups that have findings.
SIZES = [
    (  # one in a hundred has two consumers with one client id
        Fleet(groups=5000, hours=1, churn=0, duplicates=0.01),
        {"DUPLICATE_CLIENT_ID": 50},
        {f"group-{number:04d}" for number in range(99, 5000, 100)},
    ),
    (  # 4,096 own one queue each
        replace(ONE_GROUP, fewest_members=5000, most_members=5000, queues=4096),
        {"IDLE_CONSUMER": 904},
        {"group-0000"},
    ),
    (replace(ONE_GROUP, queues=20_000), {}, set()),
]


def audited(command: str, warehouse: Warehouse, interval: Interval, *more: str) -> Watched:
    """The command over an interval, with the Java that users have."""
    line = [sys.executable, "-m", "spark_jobs.cli", command, "--warehouse", warehouse.location]
    return watched([*line, "--interval", str(interval), *more], users_environment())


@pytest.mark.parametrize(("fleet", "findings", "groups"), SIZES, ids=["5,000 groups", "5,000 members", "20,000 queues"])
def test_an_hour_of_a_large_history(
    fleet: Fleet,
    findings: dict[str, int],
    groups: set[str],
    spark: SparkSession,
    warehouse: Warehouse,
    capsys: pytest.CaptureFixture[str],
) -> None:
    make(spark, warehouse, fleet)
    ran = audited("run", warehouse, fleet.interval, "--json")
    with capsys.disabled():
        print(f"\n{fleet}: {ran.seconds:.0f} s, at most {ran.peak_bytes / GIB:.2f} GiB")
    assert ran.code in (0, 1, 2), ran.errors[-3000:]
    found = warehouse.read(spark, FINDINGS).select("rule", "consumer_group").collect()
    rules = Counter(row.rule for row in found)
    assert {rule: rules[rule] for rule in findings} == findings
    assert {row.consumer_group for row in found} == groups
    assert warehouse.read(spark, GROUP_STATUS).count() == fleet.groups
    assert ran.peak_bytes < MOST_GIB * GIB


def test_two_hours_that_nobody_recorded(spark: SparkSession, warehouse: Warehouse) -> None:
    fleet = Fleet(groups=3, hours=5, churn=0, duplicates=0)
    make(spark, warehouse, fleet)
    hole = Interval(START + timedelta(minutes=90), START + timedelta(minutes=210))
    for table in SOURCES:
        unseen = F.col("captured_at").between(hole.start, hole.end - timedelta(microseconds=1))
        warehouse.delta_table(spark, table).delete(unseen)
    ran = audited("run", warehouse, fleet.interval)
    assert ran.code == 1, ran.errors[-3000:]
    # Three rules would cry wolf: nobody left, nothing was given up, and nothing piled up.
    (incident,) = json.loads(audited("incidents", warehouse, fleet.interval, "--json").output)["incidents"]
    assert (incident["rule"], incident["severity"], len(incident["consumer_groups"])) == ("UNOBSERVED", "ERROR", 3)
    # A state counts for max_gap (60 s) after its snapshot, and each group is asked once in 20 s.
    opened, resolved = (datetime.fromisoformat(incident[name]) for name in ("opened_at", "resolved_at"))
    assert timedelta(seconds=40) <= opened - hole.start <= timedelta(seconds=60)
    assert timedelta(0) <= resolved - hole.end <= timedelta(seconds=20)
    # The hour in which there is no snapshot at all is named too: its groups are known from the hours before.
    found = (
        warehouse.read(spark, FINDINGS)
        .where("hour(started_at) = 2")
        .select("rule", "started_at", "ended_at")
        .distinct()
    )
    assert [tuple(row) for row in found.collect()] == [("UNOBSERVED", datetime(2026, 3, 1, 2), datetime(2026, 3, 1, 3))]


def test_a_month_takes_no_more_memory_at_its_end(
    spark: SparkSession, warehouse: Warehouse, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """DAYS of them in one process, in steps of HOURS."""
    hours = int(os.environ.get("HOURS", "12"))
    fleet = Fleet(groups=2, hours=24 * int(os.environ.get("DAYS", "30")), cadence_ms=60_000)
    make(spark, warehouse, fleet)
    settings = tmp_path / "settings.yaml"
    settings.write_text(f"step_seconds: {hours * 3600}\ncadence_seconds: 60\nmax_gap_seconds: 180\n", encoding="utf-8")
    ran = audited("backfill", warehouse, fleet.interval, "--jobs", "2", "--config", str(settings), "--json")
    assert ran.code in (0, 1, 2), ran.errors[-3000:]
    assert warehouse.read(spark, AUDIT_RUNS).where("outcome = 'published'").count() == fleet.hours // hours
    third = len(ran.bytes_held) // 3
    middle, last = max(ran.bytes_held[third : 2 * third]), max(ran.bytes_held[2 * third :])
    with capsys.disabled():
        print(f"\n{fleet.hours // hours} steps: {ran.seconds:.0f} s, {middle / GIB:.2f} GiB, then {last / GIB:.2f} GiB")
    assert last < 1.1 * middle
