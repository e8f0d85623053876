"""Warehouses that older versions wrote, brought up to date by `maintain --upgrade`, or refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from deltalake import DeltaTable, Schema
from pyspark.sql import SparkSession

from schemas import (
    AUDIT_RUNS,
    FINDINGS,
    MEMBERSHIP_SNAPSHOTS,
    QUARANTINE,
    ROUTE_SNAPSHOTS,
    SIGHTINGS,
    STRATEGY_COMPARISON,
    TABLES,
    Table,
)
from schemas.types import Struct, as_json
from spark_jobs.cli.main import main
from spark_jobs.operate.upgrade import Upgraded, upgrade
from spark_jobs.store.warehouse import Warehouse
from tests.spark.jobs.old_warehouses import BEFORE_MUTES, unpack
from tests.support.snapshots import load, membership

HOUR = "2026-11-21T02:00/2026-11-21T03:00"


def columns_added(table: str, names: str) -> list[Upgraded]:
    return [Upgraded(table, f"column {name} added") for name in names.split()]


CHANGES = [
    *columns_added("membership_snapshots", "listed request_modes"),
    Upgraded("membership_snapshots", "constraint known_message_model set"),
    *columns_added("route_snapshots", "addresses is_static message_type listed name_servers"),
    *columns_added("client_snapshots", "in_group consume_batch_size pull_batch_size pull_interval_ms"),
    *columns_added("client_snapshots", "pull_threshold_for_queue pull_threshold_size_for_queue consume_max_span"),
    *columns_added("client_snapshots", "consume_timeout_minutes owned_queues.element.last_lock lock_refused"),
    *columns_added("rebalance_intervals", "strategy_alternatives observed_virtual_nodes observed_rooms"),
    *columns_added("allocations", "settled_at"),
    Upgraded("queue_progress", "constraint known_lag_quality set"),
    Upgraded("queue_progress", "constraint unknown_stays_unknown set"),
    *columns_added("group_status", "lag_quality utilisation busiest_utilisation busiest_member busiest_limit headroom"),
    *columns_added(
        "group_status",
        "catches_up catch_up_seconds retention_left_seconds deleted_at deleted_topics backlog_is_minimum",
    ),
    *columns_added("findings", "muted root_finding_id held_since client_id"),
    *(
        Upgraded(table, "created")
        for table in ("sightings", "strategy_comparison", "incidents", "capture_calls", "notices")
    ),
]
#: Columns that the old tables lack.
LACKING = {
    "membership_snapshots": "listed (boolean), request_modes[].mode (string), "
    "request_modes[].pop_share_queue_num (int), request_modes[].topic (string)",
    "route_snapshots": "addresses[].address (string), addresses[].broker_id (bigint), "
    "addresses[].broker_name (string), is_static (boolean), listed (boolean), message_type (string), "
    "name_servers[].address (string), name_servers[].broker_name (string), name_servers[].perm (int), "
    "name_servers[].read_queue_nums (int), name_servers[].write_queue_nums (int)",
    "client_snapshots": "consume_batch_size (int), consume_max_span (int), consume_timeout_minutes (bigint), "
    "in_group (boolean), lock_refused[].broker_name (string), lock_refused[].queue_id (int), "
    "lock_refused[].topic (string), owned_queues[].last_lock (bigint), pull_batch_size (int), "
    "pull_interval_ms (int), pull_threshold_for_queue (int), pull_threshold_size_for_queue (int)",
    "rebalance_intervals": "observed_rooms[] (string), observed_virtual_nodes (int), strategy_alternatives[] (string)",
    "allocations": "settled_at (timestamp)",
    "group_status": "backlog_is_minimum (boolean), busiest_limit (string), busiest_member (string), "
    "busiest_utilisation (double), "
    "catch_up_seconds (double), catches_up (boolean), deleted_at (timestamp), deleted_topics[].deleted_at (timestamp), "
    "deleted_topics[].topic (string), headroom (double), lag_quality (string), "
    "retention_left_seconds (double), utilisation (double)",
    "findings": "client_id (string), held_since (timestamp), muted (string), root_finding_id (string)",
}


@pytest.fixture
def old(tmp_path: Path) -> str:
    return str(unpack(BEFORE_MUTES, tmp_path))


def test_an_old_warehouse_is_refused_with_the_command_that_helps(old: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--warehouse", old, "--interval", HOUR]) == 3
    lines = [line.removeprefix("rebalance-audit: ") for line in capsys.readouterr().err.splitlines()]
    helps = f"`rebalance-audit maintain --upgrade --warehouse {old}` adds what is missing"
    assert [line for line in lines if line.startswith("the table")] == [
        f"the table {old}/{table} is not as schemas/{table}.py says: "
        f"{'; '.join(f'column {column} is missing' for column in columns.split(', '))}. "
        f"It comes from an older version: {helps}"
        for table, columns in LACKING.items()
    ]


def test_an_old_warehouse_is_upgraded_read_and_audited(
    spark: SparkSession, old: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    warehouse = Warehouse.parse(old)
    assert upgrade(spark, warehouse) == CHANGES
    assert upgrade(spark, warehouse) == []
    marks = warehouse.delta_table(spark, FINDINGS).history().where("operation = 'ADD COLUMNS'").collect()
    assert [row.userMetadata.partition(",")[0] for row in marks] == ["maintain --upgrade"]
    # Tables of the old run, at its versions: what is not known of them is null.
    assert main(["incidents", "--warehouse", old, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["incidents"]
    assert main(["status", "--warehouse", old]) == 0
    assert main(["report", "--warehouse", old, "--interval", HOUR, "--out", str(tmp_path / "old.html")]) == 0
    # 2: without a configuration three groups cannot be replayed, which is a warning.
    assert main(["run", "--warehouse", old, "--interval", HOUR, "--fail-on", "never"]) == 2
    assert warehouse.read(spark, STRATEGY_COMPARISON).count() > 0
    assert main(["incidents", "--warehouse", old]) == 0
    assert main(["report", "--warehouse", old, "--interval", HOUR, "--out", str(tmp_path / "new.html")]) == 0


@pytest.mark.slow
def test_maintain_upgrades_first_and_says_so(spark: SparkSession, old: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["maintain", "--upgrade", "--warehouse", old, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["upgraded"] == [vars(change) for change in CHANGES]
    assert {row.hour.hour for row in Warehouse.parse(old).read(spark, SIGHTINGS).collect()} == {2}
    assert main(["maintain", "--upgrade", "--warehouse", old]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "All tables are up to date."


def test_what_no_upgrade_can_help_is_refused_before_anything_changes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tables as the code at commit 6314e1a made them, the first that published anything."""
    _make(tmp_path, AUDIT_RUNS, lacking=("not_evaluated", "published_versions"))
    _make(tmp_path, FINDINGS, lacking=("muted", "root_finding_id", "measures"))
    _make(tmp_path, ROUTE_SNAPSHOTS, lacking=("queues",))
    _make(tmp_path, QUARANTINE, lacking=("run_id",))
    before = sorted(tmp_path.rglob("*"))
    assert main(["maintain", "--upgrade", "--warehouse", str(tmp_path)]) == 3
    lines = [line for line in capsys.readouterr().err.splitlines() if "the table" in line]
    lost = "Nothing can bring it up to date: "
    again = "`rebalance-audit maintain --upgrade` creates it again"
    move = f"{lost}move it away; {again}, and `rebalance-audit backfill` fills "
    assert [line.partition(f"{tmp_path}/")[2].partition(" says: ")[2] for line in lines] == [
        "column queues[].broker_name (string) is missing; column queues[].perm (int) is missing; "
        "column queues[].read_queue_nums (int) is missing; column queues[].write_queue_nums (int) is missing. "
        f"{lost}point --warehouse at another one, and load the recordings there with `ingest`",
        "column evidence.measures[].name (string) is missing; column evidence.measures[].value (double) is missing. "
        f"{move}it from the snapshots",
        "column not_evaluated[] (string) is missing; column published_versions{} (bigint) is missing. "
        f"{move}it from the snapshots",
    ]
    assert sorted(tmp_path.rglob("*")) == before


def _make(folder: Path, table: Table, lacking: tuple[str, ...]) -> None:
    """The table without these columns, at the top or in a struct there."""
    schema = as_json(table.schema)
    for field in schema["fields"]:
        if isinstance(field["type"], dict) and field["type"]["type"] == "struct":
            field["type"]["fields"] = [nested for nested in field["type"]["fields"] if nested["name"] not in lacking]
    schema["fields"] = [field for field in schema["fields"] if field["name"] not in lacking]
    DeltaTable.create(str(folder / table.name), Schema.from_json(json.dumps(schema)))


@pytest.mark.slow
def test_constraints_come_to_say_what_they_say_today(spark: SparkSession, warehouse: Warehouse) -> None:
    """As far as rows keep them; columns are no reason to lose what is known."""
    fields = [field for field in MEMBERSHIP_SNAPSHOTS.schema if field.name != "request_modes"]
    strict = {"known_message_model": "message_model IN ('CLUSTERING', 'BROADCASTING')"}
    before = replace(MEMBERSHIP_SNAPSHOTS, schema=Struct(*fields), checks=strict)
    of_a_group_or_a_broker = {"of_a_group_or_a_broker": "(topic IS NULL) = (broker_name IS NULL)"}
    without_number = Struct(*(field for field in SIGHTINGS.schema if field.name != "read_queue_nums"))
    sightings = replace(SIGHTINGS, schema=without_number, checks={**SIGHTINGS.checks, **of_a_group_or_a_broker})
    warehouse.create(spark, [before, sightings])
    done = upgrade(spark, warehouse)
    assert done[:4] == [
        Upgraded("membership_snapshots", "column request_modes added"),
        Upgraded("membership_snapshots", "constraint known_message_model set"),
        Upgraded("sightings", "column read_queue_nums added"),
        Upgraded("sightings", "constraint of_a_group_or_a_broker set"),
    ]
    others = [table.name for table in TABLES if table not in (MEMBERSHIP_SNAPSHOTS, SIGHTINGS)]
    assert [change.table for change in done[4:]] == others
    properties = warehouse.detail(spark, MEMBERSHIP_SNAPSHOTS)["properties"]
    # As ADD CONSTRAINT spaces it.
    assert properties["delta.constraints.known_message_model"] == (
        "message_model IS NULL OR message_model IN ( 'CLUSTERING' , 'BROADCASTING' , 'LITE_SELECTIVE' )"
    )
    load(spark, warehouse, {MEMBERSHIP_SNAPSHOTS: [{**membership(0, "c1"), "message_model": None}]})
    read = warehouse.read(spark, MEMBERSHIP_SNAPSHOTS)
    assert [(row.message_model, row.request_modes) for row in read.collect()] == [(None, None)]
    assert warehouse.read(spark, MEMBERSHIP_SNAPSHOTS, version=0).columns == read.columns
    assert upgrade(spark, warehouse) == []
