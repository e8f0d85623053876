"""The main job on small hand-written histories, and what it does with bad use."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from schemas import (
    ALLOCATIONS,
    AUDIT_RUNS,
    FINDINGS,
    MEMBERSHIP_SNAPSHOTS,
    OUTPUTS,
    QUALITY_RESULTS,
    REBALANCE_INTERVALS,
    ROUTE_SNAPSHOTS,
)
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.errors import (
    ExitCode,
    IntervalError,
    PublishConflictError,
    QualityError,
    SchemaMismatchError,
    WarehouseError,
)
from spark_jobs.pipeline.publish.claims import claim
from spark_jobs.pipeline.publish.content import content
from spark_jobs.pipeline.run import RunSpec, run
from spark_jobs.runtime.session import SMALL_SETTINGS
from spark_jobs.store.warehouse import Warehouse
from tests.support.snapshots import healthy_group, load
from tests.support.stored import stored_rows
from tests.support.times import HOUR, naive

REQUEST = RunSpec(HOUR)
EVERY_20_S = range(0, 600, 20)


def versions(spark: SparkSession, warehouse: Warehouse) -> dict[str, int]:
    return {table.name: warehouse.version(spark, table) for table in OUTPUTS}


@pytest.mark.usefixtures("tables")
def test_a_healthy_group_has_intervals_nothing_wrong_and_its_run_is_recorded(
    spark: SparkSession, warehouse: Warehouse
) -> None:
    load(spark, warehouse, healthy_group(EVERY_20_S, "c1", "c2"))
    result = run(spark, warehouse, REQUEST, Configuration())
    # The snapshots of 580 s are the last, and hold for one gap (3 × 20 s).
    (ended,) = result.findings
    assert (ended["rule"], ended["severity"]) == ("UNOBSERVED", "INFO")
    assert (ended["started_at"], ended["ended_at"]) == (naive(640), naive(3600))
    need_clients = [
        *("ALLOCATION_DRIFT", "CLIENT_HUNG", "CLOCK_DIFFERS", "FILTER_MATCHES_NOTHING", "FLOW_CONTROLLED"),
        *("GHOST_MEMBER", "LONG_PULL_INTERVAL"),
        *("NEAR_CAPACITY", "OFFSET_HELD_BACK", "ORDERLY_LOCK_MISSING", "SLOW_LISTENER"),
    ]
    assert result.warnings == [
        "AVG was assumed for 1 groups, as neither clients nor configuration name their strategy, and no client reports "
        "its queues (see strategy_source)",
        f"not evaluated, as client_snapshots has no rows: {', '.join(need_clients)}",
    ]
    rows = warehouse.read(spark, REBALANCE_INTERVALS).orderBy("interval_start").collect()
    assert [(row.interval_start, row.interval_end, row.status) for row in rows] == [
        (naive(0), naive(640), "REPLAYED"),
        (naive(640), naive(3600), "UNOBSERVED"),
    ]
    first = rows[0]
    assert (first.member_count, first.queue_count, first.unassigned_queues) == (2, 4, 0)
    assert first.strategy_source == "DEFAULT"
    owners = {
        row.queue_id: [owner.client_id for owner in row.owners] for row in warehouse.read(spark, ALLOCATIONS).collect()
    }
    assert owners == {0: ["c1"], 1: ["c1"], 2: ["c2"], 3: ["c2"]}
    (record,) = warehouse.read(spark, AUDIT_RUNS).collect()
    assert record.run_id == result.run["run_id"]
    assert record.source_versions["membership_snapshots"] == warehouse.version(spark, MEMBERSHIP_SNAPSHOTS)
    assert record.row_counts == {
        "rebalance_intervals": 2,
        "allocations": 4,
        "queue_progress": 4,
        "group_status": 1,
        "strategy_comparison": 3,
        "findings": 1,
        "coverage": 2,
        "backlog": 1,
    }
    assert record.content_hashes["allocations"] == content(warehouse.read(spark, ALLOCATIONS)).hash
    assert record.configuration_hash == Configuration().hash()
    assert record.not_evaluated == need_clients


@pytest.mark.usefixtures("tables")
def test_no_snapshots_is_unobserved_and_not_an_error(
    spark: SparkSession, warehouse: Warehouse, caplog: pytest.LogCaptureFixture
) -> None:
    """Of the group that was there the day before nothing is said, as there is no table of sightings."""
    load(spark, warehouse, healthy_group(EVERY_20_S, "c1"))
    result = run(spark, warehouse, RunSpec(Interval.parse("2026-03-02T10:00/2026-03-02T11:00")), Configuration())
    assert result.findings == []
    assert len(result.warnings) == 1
    assert "nothing was observed" in result.warnings[0]
    assert "there is no table sightings" in caplog.text


@pytest.mark.slow
@pytest.mark.parametrize(("group", "topic"), [pytest.param("other", None, marks=pytest.mark.slow), ("g", "t")])
def test_a_filtered_run_replaces_only_what_it_is_about(
    spark: SparkSession, copied: Warehouse, group: str, topic: str | None
) -> None:
    """Findings of a whole group are published with any of its topics."""
    intervals, found = (stored_rows(copied, table) for table in (REBALANCE_INTERVALS, FINDINGS))
    assert (len(intervals), len(found)) == (2, 4)
    result = run(spark, copied, RunSpec(HOUR, "c", group, topic), Configuration())
    assert result.run["row_counts"]["rebalance_intervals"] == 1
    assert stored_rows(copied, REBALANCE_INTERVALS) == intervals
    assert stored_rows(copied, FINDINGS) == found


@pytest.fixture
def compiling(spark: SparkSession) -> Iterator[SparkSession]:
    """Other tests let expressions be interpreted (`tests/conftest.py`)."""
    interpreted = {name: value for name, value in SMALL_SETTINGS.items() if "codegen" in name}
    for name in interpreted:
        spark.conf.unset(name)
    yield spark
    for name, value in interpreted.items():
        spark.conf.set(name, value)


@pytest.mark.slow
def test_compiled_expressions_publish_the_same(compiling: SparkSession, copied: Warehouse) -> None:
    before = {table: stored_rows(copied, table) for table in OUTPUTS}
    run(compiling, copied, REQUEST, Configuration())
    assert {table: stored_rows(copied, table) for table in OUTPUTS} == before


def test_an_interval_off_the_grid_names_the_whole_steps(spark: SparkSession, warehouse: Warehouse) -> None:
    request = RunSpec(Interval(HOUR.start, HOUR.end + timedelta(minutes=1)))
    with pytest.raises(IntervalError, match=r"whole steps around it are 2026-03-01T10:00Z/2026-03-01T12:00Z"):
        run(spark, warehouse, request, Configuration())


def test_a_missing_warehouse_says_how_to_load_one(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(WarehouseError, match=r"no table membership_snapshots .*`rebalance-audit ingest FILE"):
        run(spark, Warehouse.parse(str(tmp_path / "nothing")), REQUEST, Configuration())
    assert not (tmp_path / "nothing").exists()


def test_a_table_of_another_schema_lists_every_difference(spark: SparkSession, warehouse: Warehouse) -> None:
    load(spark, warehouse, healthy_group([], "c1"))
    name = warehouse.identifier(ROUTE_SNAPSHOTS.name)
    spark.sql(f"ALTER TABLE {name} ADD COLUMNS (color STRING, size INT)")
    with pytest.raises(SchemaMismatchError) as error:
        run(spark, warehouse, REQUEST, Configuration())
    assert "column color (string) is not known; column size (int) is not known" in str(error.value)


@pytest.mark.usefixtures("broken_intervals")
def test_a_rejected_run_publishes_nothing_and_says_why(spark: SparkSession, copied: Warehouse) -> None:
    before = {table: (copied.version(spark, table), stored_rows(copied, table)) for table in OUTPUTS}
    with pytest.raises(QualityError) as error:
        run(spark, copied, REQUEST, Configuration())
    assert error.value.exit_code == ExitCode.FINDINGS
    _, caught, *_ = str(error.value).splitlines()
    assert caught.startswith("rebalance_intervals: trigger_is_known failed")
    assert '"consumer_group":"g"' in str(error.value)
    assert {table: (copied.version(spark, table), stored_rows(copied, table)) for table in OUTPUTS} == before
    last, first = copied.read(spark, AUDIT_RUNS).orderBy(F.desc("started_at")).limit(2).collect()
    assert (first.outcome, last.outcome, last.row_counts) == ("published", "rejected", {})
    assert last.message == str(error.value)
    failed = copied.read(spark, QUALITY_RESULTS).where(f"run_id = '{last.run_id}' AND NOT success").collect()
    assert [(row.table_name, row.expectation, row.severity) for row in failed] == [
        ("rebalance_intervals", "trigger_is_known", "critical")
    ]


def test_steps_that_another_run_holds_are_refused_and_nothing_changes(
    spark: SparkSession, warehouse: Warehouse
) -> None:
    load(spark, warehouse, healthy_group([], "c1"))
    warehouse.create(spark, OUTPUTS)
    before = versions(spark, warehouse)
    with claim(warehouse, REQUEST, "first"), pytest.raises(PublishConflictError, match="run first is auditing"):
        run(spark, warehouse, REQUEST, Configuration())
    assert versions(spark, warehouse) == before
    assert not warehouse.exists(spark, AUDIT_RUNS)
