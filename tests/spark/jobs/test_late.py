"""Which published steps would read other rows now. A step reads from 420 s before it: warm-up 360 s, gap 60 s."""

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from schemas import AUDIT_RUNS, CLIENT_SNAPSHOTS, MEMBERSHIP_SNAPSHOTS, REBALANCE_INTERVALS, SIGHTINGS, SOURCES, Table
from spark_jobs.cli.main import main
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.errors import ConfigurationError, IntervalError
from spark_jobs.operate import late
from spark_jobs.operate.late import StepsByVersion, late_steps, with_other_sightings
from spark_jobs.pipeline.publish.claims import claim
from spark_jobs.pipeline.publish.content import content_of_steps
from spark_jobs.pipeline.run import RunSpec, run
from spark_jobs.store.read.through_spark import SparkTables
from spark_jobs.store.warehouse import Warehouse
from tests.support.snapshots import append, healthy_group, load, membership
from tests.support.times import at

pytestmark = pytest.mark.slow

TEN, ELEVEN, TWELVE = (Interval.parse(f"2026-03-01T{hour}:00/2026-03-01T{hour + 1}:00") for hour in (10, 11, 12))
AUDITED = Interval(TEN.start, TWELVE.end)
DAY = Interval.parse("2026-03-01/2026-03-02")
CONFIGURATION = Configuration()
HOUR, LOOK_BACK = 3600, 420


@pytest.fixture(scope="module")
def audited(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """Three hours with ten recorded minutes each, audited in one run. Tests must not change it."""
    warehouse = Warehouse.parse(str(tmp_path_factory.mktemp("late") / "warehouse"))
    times = [start + second for start in (0, HOUR, 2 * HOUR) for second in range(0, 600, 20)]
    load(spark, warehouse, healthy_group(times, "c1", "c2"))
    run(spark, warehouse, RunSpec(AUDITED), CONFIGURATION)
    return warehouse


@pytest.fixture
def copied(audited: Warehouse, warehouse: Warehouse) -> Warehouse:
    """The same, to be changed."""
    shutil.copytree(audited.location, warehouse.location)
    return warehouse


def late_in_day(spark: SparkSession, warehouse: Warehouse) -> list[Interval]:
    return late_steps(spark, warehouse, CONFIGURATION, DAY)


def add(spark: SparkSession, warehouse: Warehouse, *seconds: float) -> None:
    load(spark, warehouse, {MEMBERSHIP_SNAPSHOTS: [membership(second, "c1") for second in seconds]})


def client(seconds: float) -> dict[Table, list[dict[str, Any]]]:
    """One that did not answer."""
    key = {"cluster": "c", "consumer_group": "g", "client_id": "c1", "captured_at": at(seconds)}
    return {CLIENT_SNAPSHOTS: [dict.fromkeys(CLIENT_SNAPSHOTS.columns) | key | {"answered": False}]}


def present(spark: SparkSession, warehouse: Warehouse) -> Column:
    versions = {table.name: warehouse.version(spark, table) for table in SOURCES}
    return F.create_map(
        *(part for name, version in versions.items() for part in (F.lit(name), F.lit(version).cast("long")))
    )


def add_run(spark: SparkSession, warehouse: Warehouse, **values: Any) -> None:
    """Another row of `audit_runs`: the first, a minute later, with these values."""
    first = warehouse.read(spark, AUDIT_RUNS).orderBy("finished_at").limit(1)
    later = first.withColumn("finished_at", F.expr("finished_at + INTERVAL 1 MINUTE"))
    row = later.withColumns({name: F.lit(value) for name, value in values.items()}).localCheckpoint()
    warehouse.save(row.write.format("delta").mode("append"), AUDIT_RUNS)


def remove_earlier_versions(spark: SparkSession, warehouse: Warehouse, table: Table) -> None:
    warehouse.delta_table(spark, table).optimize().executeCompaction()
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    warehouse.delta_table(spark, table).vacuum(0)
    spark.conf.unset("spark.databricks.delta.retentionDurationCheck.enabled")


def test_nothing_is_late_after_a_run_and_nothing_is_read_to_see_it(
    spark: SparkSession, copied: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late, "content_of_steps", None)
    assert late_in_day(spark, copied) == []
    for table in SOURCES:
        copied.delta_table(spark, table).optimize().executeCompaction()
    copied.delta_table(spark, MEMBERSHIP_SNAPSHOTS).vacuum()
    newest = copied.delta_table(spark, MEMBERSHIP_SNAPSHOTS).history(3).select("operation").collect()
    assert [row.operation for row in newest] == ["VACUUM END", "VACUUM START", "OPTIMIZE"]
    assert late_in_day(spark, copied) == []


@pytest.mark.parametrize(
    ("seconds", "late"),
    [
        (HOUR + 1800, [ELEVEN]),
        (2 * HOUR - LOOK_BACK - 1, [ELEVEN]),
        (2 * HOUR - LOOK_BACK, [ELEVEN, TWELVE]),
        (-LOOK_BACK, [TEN]),
        (-LOOK_BACK - 1, []),
        (3 * HOUR, []),
    ],
)
def test_a_snapshot_makes_the_steps_late_that_read_it(
    spark: SparkSession, copied: Warehouse, seconds: float, late: list[Interval]
) -> None:
    add(spark, copied, seconds)
    assert late_in_day(spark, copied) == late


def test_rows_that_changed_or_went_are_late_too(spark: SparkSession, copied: Warehouse) -> None:
    name = copied.identifier(MEMBERSHIP_SNAPSHOTS.name)
    spark.sql(f"DELETE FROM {name} WHERE captured_at = TIMESTAMP '2026-03-01 10:00:20'")
    spark.sql(f"UPDATE {name} SET consume_type = 'X' WHERE captured_at = TIMESTAMP '2026-03-01 12:00:20'")
    assert late_in_day(spark, copied) == [TEN, TWELVE]
    assert late_steps(spark, copied, CONFIGURATION, ELEVEN) == []


def test_a_table_that_was_not_there_is_late_where_it_has_rows(spark: SparkSession, copied: Warehouse) -> None:
    without = F.expr("map_filter(source_versions, (name, version) -> name <> 'client_snapshots')")
    rows = copied.read(spark, AUDIT_RUNS).withColumn("source_versions", without).localCheckpoint()
    copied.save(rows.write.format("delta").mode("overwrite"), AUDIT_RUNS)
    assert late_in_day(spark, copied) == []
    load(spark, copied, client(HOUR + 100))
    assert late_in_day(spark, copied) == [ELEVEN]


def test_the_last_run_of_everything_counts(spark: SparkSession, copied: Warehouse) -> None:
    add(spark, copied, 100, 2 * HOUR + 100)
    versions = present(spark, copied)
    add_run(spark, copied, run_id="of one group", consumer_group="g", source_versions=versions)
    add_run(spark, copied, run_id="rejected", outcome="rejected", source_versions=versions)
    assert late_in_day(spark, copied) == [TEN, TWELVE]
    add_run(spark, copied, run_id="again", interval_end=TEN.end, source_versions=versions)
    assert late_in_day(spark, copied) == [TWELVE]


def test_the_age_of_a_version_does_not_matter(spark: SparkSession, copied: Warehouse) -> None:
    """By itself Delta refuses to read a version of a week ago that is not the newest, though all of it is there."""
    log = Path(copied.location) / MEMBERSHIP_SNAPSHOTS.name / "_delta_log"
    for place, commit in enumerate(sorted(log.glob("*.json"))):
        month_ago = time.time() - 30 * 86400 + place
        os.utime(commit, (month_ago, month_ago))
    add(spark, copied, 100)
    assert late_in_day(spark, copied) == [TEN]


def test_a_version_that_is_gone_makes_its_steps_late(
    spark: SparkSession, copied: Warehouse, caplog: pytest.LogCaptureFixture
) -> None:
    remove_earlier_versions(spark, copied, MEMBERSHIP_SNAPSHOTS)
    add_run(spark, copied, run_id="later", interval_start=TWELVE.start, source_versions=present(spark, copied))
    add(spark, copied, 100)
    assert late_in_day(spark, copied) == [TEN, ELEVEN]
    assert "membership_snapshots: version 1 is gone, the steps that read it count as late" in caplog.text


def test_sightings_are_compared_where_only_spark_reads_them(
    spark: SparkSession, warehouse: Warehouse, caplog: pytest.LogCaptureFixture
) -> None:
    """`tests/unit/read/test_late_sightings.py` has the cases. Steps of versions 1 and 2; 2 says what 3 does."""
    warehouse.create(spark, [SIGHTINGS])
    for group in ("g", "h"):
        row = {"cluster": "c", "consumer_group": group, "hour": at(-HOUR), "first_at": at(-HOUR), "last_at": at(-HOUR)}
        append(spark, warehouse, SIGHTINGS, row)
    stored = SparkTables(spark, warehouse)
    steps: StepsByVersion = {1: [TEN], 2: [ELEVEN]}
    assert with_other_sightings(stored, CONFIGURATION, steps, 2) == {TEN}
    remove_earlier_versions(spark, warehouse, SIGHTINGS)
    assert with_other_sightings(stored, CONFIGURATION, steps, warehouse.version(spark, SIGHTINGS)) == {TEN, ELEVEN}
    assert "sightings: version 2 is gone, the steps that read it count as late" in caplog.text


def test_late_steps_are_audited_again_and_one_that_fails_does_not_keep_the_others_back(
    spark: SparkSession, copied: Warehouse, capsys: pytest.CaptureFixture[str]
) -> None:
    add(spark, copied, 110, HOUR + 310)
    before = content_of_steps(copied.read(spark, REBALANCE_INTERVALS))
    command = ["late", "--warehouse", copied.location, "--interval", str(DAY), "--json"]
    with claim(copied, RunSpec(TEN), "other"):
        assert main(command) == 4
    ten, eleven = json.loads(capsys.readouterr().out)["late"]
    assert ten["step"] == "2026-03-01T10:00:00Z/2026-03-01T11:00:00Z"
    assert ten["error"].startswith(f"run other is auditing {TEN} in this warehouse")
    assert (eleven["step"], eleven["run"]["interval_start"]) == (
        "2026-03-01T11:00:00Z/2026-03-01T12:00:00Z",
        "2026-03-01T11:00:00Z",
    )
    assert late_in_day(spark, copied) == [TEN]
    after = content_of_steps(copied.read(spark, REBALANCE_INTERVALS))
    assert [start for start in before if before[start] != after[start]] == [ELEVEN.start]
    # c1 and c2, c1 alone from 310 s to 320 s, both again, and from 640 s nobody looked.
    assert (before[ELEVEN.start].rows, after[ELEVEN.start].rows) == (2, 4)


def test_a_command_that_finds_no_late_step_says_so(
    spark: SparkSession, audited: Warehouse, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["late", "--warehouse", audited.location, "--interval", str(DAY)]) == 0
    assert "0 published steps of 2026-03-01T00:00Z/2026-03-02T00:00Z were late." in capsys.readouterr().out
    assert late_steps(spark, Warehouse.parse(str(tmp_path)), CONFIGURATION, DAY) == []
    with pytest.raises(IntervalError, match="off the grid"):
        late_steps(spark, audited, CONFIGURATION, Interval.parse("2026-03-01T10:00/2026-03-01T10:30"))
    with pytest.raises(ConfigurationError, match="was audited in steps of 3600 s"):
        late_steps(spark, audited, Configuration(step_seconds=300), DAY)
