"""Published tables read without Spark: the same rows, no JVM, and so it stays."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from schemas import FINDINGS, MEMBERSHIP_SNAPSHOTS, NOTICES, OUTPUTS, SIGHTINGS, TABLES
from spark_jobs.domain.model.window import to_micros
from spark_jobs.operate.maintain import SHORTEST_RETENTION, maintain
from spark_jobs.show.incidents import IncidentQuery, published_incidents
from spark_jobs.show.status import statuses
from spark_jobs.store.read.delta import DeltaTables
from spark_jobs.store.read.published import published_tables
from spark_jobs.store.read.stored import Filter, rows
from spark_jobs.store.read.through_spark import SparkTables
from spark_jobs.store.warehouse import Warehouse
from tests.support.published import publish_hours
from tests.support.snapshots import load, membership
from tests.support.times import HOUR, at


@pytest.mark.slow
def test_spark_and_delta_rs_read_the_same_rows(spark: SparkSession, twins_hour: Warehouse) -> None:
    filters = [Filter("cluster", "=", "c"), Filter("step_start", ">=", HOUR.start), Filter("step_start", "<", HOUR.end)]
    filters += [Filter("consumer_group", "IN", ("g", "it's")), Filter("step_start", "<=", HOUR.end)]
    filters += [Filter("step_start", ">", HOUR.start.replace(year=2000))]
    for table in OUTPUTS:
        by_spark, by_delta = (
            sorted(rows(reader.read(table, table.columns, filters)), key=repr)
            for reader in (SparkTables(spark, twins_hour), DeltaTables(twins_hour))
        )
        assert by_spark, table.name
        assert by_delta == by_spark, table.name
    assert statuses(SparkTables(spark, twins_hour)) == statuses(DeltaTables(twins_hour))
    assert not SparkTables(spark, Warehouse.parse("/nowhere")).exists(FINDINGS)


def test_no_jvm_and_not_even_pyspark(twins_hour: Warehouse, tmp_path: Path) -> None:
    commands = [
        ["status", "--json"],
        ["runs", "--json"],
        ["clients", "c", "--json"],
        ["incidents", "--interval", str(HOUR), "--tz", "Europe/Berlin"],
        ["explain", "--group", "g", "--at", "2026-03-01T10:30", "--json"],
        ["notify", "--dry-run"],
        ["report", "--interval", str(HOUR), "--out", "report.html"],
    ]
    script = (
        "import json, sys\n"
        "from spark_jobs.cli.main import main\n"
        f"codes = [main([*command, '--warehouse', {twins_hour.location!r}]) for command in {commands}]\n"
        "heavy = [name for name in ('pyspark', 'delta', 'py4j') if name in sys.modules]\n"
        "print(json.dumps([codes, heavy]))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True, cwd=tmp_path)
    # The duplicates are an error of the group, which `status`, `incidents` and `explain` show.
    assert json.loads(done.stdout.splitlines()[-1]) == [[1, 0, 0, 1, 1, 0, 0], []]


@pytest.mark.slow
def test_every_table_stays_readable_without_spark_after_maintenance(spark: SparkSession, copied: Warehouse) -> None:
    """After maintenance, which brings the sightings, and after more commits than a log should hold without a
    checkpoint: Spark makes that with the tenth.
    """
    log = Path(copied.location, MEMBERSHIP_SNAPSHOTS.name, "_delta_log")
    for version in range(2, 10):
        empty = {"commitInfo": {"timestamp": 0, "operation": "WRITE", "operationParameters": {}}}
        (log / f"{version:020}.json").write_text(json.dumps(empty))
    load(spark, copied, {MEMBERSHIP_SNAPSHOTS: [membership(4000, "c1")]})
    maintain(spark, copied, SHORTEST_RETENTION)
    stored = DeltaTables(copied)
    for table in TABLES:
        if stored.exists(table):
            protocol = stored.open(table).protocol()
            assert (protocol.min_reader_version, protocol.reader_features) == (1, None), table.name
            assert stored.read(table, table.columns).num_rows == copied.read(spark, table).count(), table.name
    assert (log / "_last_checkpoint").exists()
    assert DeltaTable(str(log.parent)).version() >= 12
    # Two groups and a broker in one hour, and one of the groups in the next.
    assert stored.read(SIGHTINGS, SIGHTINGS.columns).num_rows == 4


def test_both_write_what_the_other_reads(spark: SparkSession, warehouse: Warehouse) -> None:
    """What delta-rs has made also after maintenance, which changes the table's properties."""
    by_spark, by_delta = SparkTables(spark, warehouse), DeltaTables(warehouse)
    warehouse.create(spark, [MEMBERSHIP_SNAPSHOTS])
    names = dict.fromkeys(("target", "cluster", "incident_id", "event", "severity", "rule", "headline"), "it's")
    times = dict.fromkeys(("opened_at", "last_seen_at", "audited_until", "sent_at"), HOUR.start)
    lists = {"consumer_groups": ["g"], "root_finding_ids": ["f1", "f2"]}
    row: dict[str, Any] = names | times | lists | {"resolved_at": None, "resolution": None}
    for first, second in ((by_delta, by_spark), (by_spark, by_delta)):
        first.append(NOTICES, [row])
        if first is by_delta:
            maintain(spark, warehouse, SHORTEST_RETENTION)
        second.append(NOTICES, [row, row])
        found = [rows(one.read(NOTICES, NOTICES.columns)) for one in (first, second)]
        assert found == [[{name: row[name] for name in NOTICES.columns}] * 3] * 2
        shutil.rmtree(Path(warehouse.location, NOTICES.name))


def test_both_read_when_topics_were_deleted(spark: SparkSession, tmp_path: Path) -> None:
    publish_hours(tmp_path, [0, 1, 2], offline=[1], deleted_at=6000, topic="t")
    warehouse = Warehouse.parse(str(tmp_path))
    for stored in (SparkTables(spark, warehouse), DeltaTables(warehouse)):
        (incident,) = published_incidents(published_tables(stored), IncidentQuery())
        assert (incident.resolved_at, incident.resolution) == (to_micros(at(6000)), "TOPIC_DELETED")
