"""Days that are older than they are kept go, and what is left of them is neither audited again nor called late."""

import json
import logging
import shutil
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from schemas import (
    AUDIT_RUNS,
    GROUP_STATUS,
    INCIDENTS,
    MEMBERSHIP_SNAPSHOTS,
    NOTICES,
    OFFSET_SNAPSHOTS,
    OUTPUTS,
    QUARANTINE,
    SOURCES,
    Table,
)
from spark_jobs.cli.main import main
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.errors import WarehouseError
from spark_jobs.operate.late import is_nothing_late, late_steps
from spark_jobs.operate.retention import Keep, delete_expired, expired_rows
from spark_jobs.operate.upkeep import oldest_versions
from spark_jobs.pipeline.run import RunSpec, run
from spark_jobs.store.read.delta import DeltaTables
from spark_jobs.store.read.stored import Filter
from spark_jobs.store.read.through_spark import SparkTables
from spark_jobs.store.warehouse import Warehouse
from tests.support.snapshots import append, healthy_group, load, membership
from tests.support.stored import stored_rows
from tests.support.times import at

MIDNIGHT = datetime(2026, 3, 2, tzinfo=UTC)
#: Seconds after 2026-03-01T10:00: 22:00, midnight, and 02:00.
AT_22, AT_24, AT_26 = 12 * 3600, 14 * 3600, 16 * 3600
AUDITED = Interval.parse("2026-03-01T22:00/2026-03-02T02:00")
_CUTS = ("2026-03-01T23:00", "2026-03-02T00:00", "2026-03-02T01:00", "2026-03-02T02:00")
DELETED, CUT, KEPT = (Interval.parse(f"{start}/{end}") for start, end in pairwise(_CUTS))


def since_midnight() -> timedelta:
    """How long rows are kept, so that those from `MIDNIGHT` on are."""
    return datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - MIDNIGHT


def is_late_or_logged(
    spark: SparkSession, warehouse: Warehouse, caplog: pytest.LogCaptureFixture
) -> tuple[list[Interval], list[str]]:
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        return late_steps(spark, warehouse, Configuration(), AUDITED), caplog.messages


@pytest.fixture(scope="module")
def audited(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """Two hours of each of two days, audited in one run. Tests must not change it."""
    warehouse = Warehouse.parse(str(tmp_path_factory.mktemp("days") / "warehouse"))
    load(spark, warehouse, healthy_group(range(AT_22, AT_26, 20), "c1", "c2"))
    run(spark, warehouse, RunSpec(AUDITED), Configuration())
    return warehouse


@pytest.fixture
def warehouse(audited: Warehouse, tmp_path: Path) -> Warehouse:
    shutil.copytree(audited.location, tmp_path / "copy")
    return Warehouse.parse(str(tmp_path / "copy"))


@pytest.mark.slow
def test_days_older_than_the_retention_are_deleted_and_all_others_stay(
    spark: SparkSession, warehouse: Warehouse, capsys: pytest.CaptureFixture[str]
) -> None:
    by_delta = DeltaTables(warehouse)
    versions = {table: by_delta.version(table) for table in (*SOURCES, *OUTPUTS)}
    kept = {table: [row for row in stored_rows(warehouse, table) if row["step_start"] >= MIDNIGHT] for table in OUTPUTS}

    days = f"{since_midnight().days}d"
    of_both = ["--keep-snapshots", days, "--keep-results", days]
    assert main(["maintain", "--warehouse", warehouse.location, *of_both, "--dry-run", "--json"]) == 0
    answer = capsys.readouterr()
    assert "starting Spark" not in answer.err
    document: dict[str, Any] = json.loads(answer.out)
    by_table = {change["table"]: change for change in document["would_delete"]}
    times = {"first": "2026-03-01T22:00:00Z", "before": "2026-03-02T00:00:00Z"}
    assert by_table["offset_snapshots"] == {"table": "offset_snapshots", "rows": 360} | times
    assert by_table["group_status"]["rows"] == 2
    assert "topic_snapshots" not in by_table
    for stored in (by_delta, SparkTables(spark, warehouse)):
        for moment, counted in ((MIDNIGHT, (360, at(AT_22))), (at(0), (0, None))):
            before = [Filter("captured_at", "<", moment)]
            assert stored.count(OFFSET_SNAPSHOTS, "captured_at", before) == counted
    assert {table: by_delta.version(table) for table in versions} == versions

    deleted = delete_expired(spark, warehouse, Keep(since_midnight(), since_midnight()))
    counts = {name: change["rows"] for name, change in by_table.items()}
    assert {expired.table: expired.rows for expired in deleted} == counts
    assert str(deleted[0]) == "membership_snapshots: 360 rows, 2026-03-01T22:00Z to 2026-03-02T00:00Z"
    assert warehouse.read(spark, MEMBERSHIP_SNAPSHOTS).where("captured_at < TIMESTAMP '2026-03-02'").isEmpty()
    assert {table: stored_rows(warehouse, table) for table in OUTPUTS} == kept
    assert len(kept[GROUP_STATUS]) == 2


@pytest.mark.slow
def test_days_that_are_gone_are_neither_late_nor_audited_again(
    spark: SparkSession, warehouse: Warehouse, caplog: pytest.LogCaptureFixture
) -> None:
    assert late_steps(spark, warehouse, Configuration(), AUDITED) == []
    delete_expired(spark, warehouse, Keep(since_midnight(), since_midnight()))
    said = ["the steps before 2026-03-02T00:07Z stay as they are: `maintain` has deleted their snapshots or results"]
    assert is_late_or_logged(spark, warehouse, caplog) == ([], said)
    assert is_nothing_late(DeltaTables(warehouse), Configuration(), DELETED)
    load(spark, warehouse, {MEMBERSHIP_SNAPSHOTS: [membership(AT_24 + second, "late") for second in (-5, 5, 3605)]})
    assert is_late_or_logged(spark, warehouse, caplog) == ([KEPT], said)
    for step in (DELETED, CUT):
        with pytest.raises(WarehouseError, match="cannot be audited any more: it needs the snapshots from"):
            run(spark, warehouse, RunSpec(step), Configuration())
    run(spark, warehouse, RunSpec(KEPT), Configuration())

    again = delete_expired(spark, warehouse, Keep(snapshots=since_midnight() + timedelta(days=1)))
    assert again == []
    assert is_late_or_logged(spark, warehouse, caplog) == ([], said)


def test_runs_closed_incidents_their_notices_and_rejected_rows_are_deleted_as_results_are(
    spark: SparkSession, twins_hour: Warehouse, tmp_path: Path
) -> None:
    """Kept for 400 days. What is open stays, with its notices; so does a run of old steps that is young itself."""
    shutil.copytree(twins_hour.location, tmp_path / "copy")
    warehouse = Warehouse.parse(str(tmp_path / "copy"))
    old, young = (datetime.now(UTC) - timedelta(days=days) for days in (402, 399))
    run_row = next(iter(stored_rows(warehouse, AUDIT_RUNS)))
    runs = [
        run_row | {"run_id": name, "interval_end": end, "finished_at": finished}
        for name, end, finished in (("old", old, old), ("backfilled", old, young), ("young", young, young))
    ]
    incidents = [
        {"incident_id": name, "cluster": "c", "resolved_at": end}
        for name, end in (("closed", old), ("open", None), ("later", young))
    ]
    notices = [
        notice("closed", "opened", old),
        notice("closed", "resolved", old + timedelta(seconds=1)),
        notice("open", "opened", old),
        notice("open", "worse", old + timedelta(seconds=1)),
        notice("ended now", "opened", old),
        notice("ended now", "resolved", young),
        notice("missing", "missing", old),
        notice("rejected", "rejected", old),
    ]
    rejected = [
        {"quarantine_id": name, "reasons": ["r"], "rejected_at": at}
        for name, at in (("old", old), ("young", young), ("unknown", None))
    ]
    for table, made in ((AUDIT_RUNS, runs), (INCIDENTS, incidents), (NOTICES, notices), (QUARANTINE, rejected)):
        warehouse.create(spark, [table])
        append(spark, warehouse, table, *made)
    kept = timedelta(days=400)
    keep = Keep(results=kept, quarantine=kept)
    counted = {rows.table: rows.rows for rows in expired_rows(DeltaTables(warehouse), keep)}
    assert counted == {"audit_runs": 1, "incidents": 1, "notices": 4, "quarantine": 1}
    assert {rows.table: rows.rows for rows in expired_rows(SparkTables(spark, warehouse), keep)} == counted
    assert {rows.table: rows.rows for rows in delete_expired(spark, warehouse, keep)} == counted

    def left(table: Table, column: str) -> set[str]:
        return {row[column] for row in stored_rows(warehouse, table)}

    assert left(AUDIT_RUNS, "run_id") == {run_row["run_id"], "backfilled", "young"}
    assert left(INCIDENTS, "incident_id") >= {"open", "later"}
    assert "closed" not in left(INCIDENTS, "incident_id")
    told = sorted((row["incident_id"], row["event"]) for row in stored_rows(warehouse, NOTICES))
    assert told == [("ended now", "resolved"), ("missing", "missing"), ("open", "opened"), ("open", "worse")]
    assert left(QUARANTINE, "quarantine_id") == {"young", "unknown"}
    assert delete_expired(spark, warehouse, keep) == []


def notice(incident_id: str, event: str, sent_at: datetime) -> dict[str, Any]:
    """A notification as it was sent."""
    words = {"target": "t", "cluster": "c", "severity": "WARN", "rule": "R", "headline": "h"}
    times = dict.fromkeys(("opened_at", "last_seen_at", "audited_until", "sent_at"), sent_at)
    return words | times | {"incident_id": incident_id, "event": event, "consumer_groups": [], "root_finding_ids": []}


def test_readers_of_a_warehouse_whose_audits_stopped_keep_their_versions(
    spark: SparkSession, twins_hour: Warehouse
) -> None:
    """They read at the versions of the newest run, whenever that was."""
    in_a_year = datetime.now(UTC) + timedelta(days=365)
    assert oldest_versions(DeltaTables(twins_hour), in_a_year)["group_status"] == 1
