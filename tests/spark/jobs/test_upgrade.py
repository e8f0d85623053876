"""Warehouses that older versions wrote, brought up to date by `maintain --upgrade`, or refused."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable, Schema
from pyspark.sql import SparkSession

from schemas import (
    AUDIT_RUNS,
    CAPTURE_CALLS,
    FINDINGS,
    INCIDENTS,
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
from spark_jobs.store.spark_types import in_columns_of, struct_type
from spark_jobs.store.warehouse import Warehouse
from tests.spark.jobs.old_warehouses import BEFORE_MUTES, unpack
from tests.support.snapshots import load, membership

HOUR = "2026-11-21T02:00/2026-11-21T03:00"


def columns_added(table: str, names: str) -> list[Upgraded]:
    return [Upgraded(table, f"column {name} added") for name in names.split()]


def columns_renamed(table: str) -> list[Upgraded]:
    return [Upgraded(table, f"column {old} is called {new} now") for old, new in RENAMED.get(table, ())]


def constraints_set(table: str, names: str) -> list[Upgraded]:
    return [Upgraded(table, f"constraint {name} set") for name in names.split()]


#: (before version 2, now), of the columns that the old tables have.
RENAMED = {
    table: [(old, new) for pair in pairs.split() for old, _, new in [pair.partition(">")]]
    for table, pairs in {
        "rebalance_intervals": "trigger>trigger_type triggers.trigger>triggers.trigger_type least_moves>minimum_moves",
        "group_status": "members>member_count queues>queue_count owned_once>queues_with_one_owner "
        "owned_twice>double_owned_queues owned_never>unassigned_queues in_rate>produced_messages_per_second "
        "out_rate>consumed_messages_per_second limit>bottleneck busiest_share>busiest_member_queues "
        "share_after>busiest_member_queues_with_one_more",
        "findings": "start>started_at end>ended_at evidence.parties>evidence.conflicting_values "
        "evidence.queues.start>evidence.queues.started_at evidence.queues.end>evidence.queues.ended_at",
        "quarantine": "key>row_key",
        "capture_calls": "fate>outcome",
        "strategy_comparison": "queues>queue_count least_moves>minimum_moves",
    }.items()
}
CHANGES = [
    *columns_added("membership_snapshots", "listed request_modes"),
    Upgraded("membership_snapshots", "constraint known_message_model set"),
    *columns_added("route_snapshots", "addresses is_static message_type listed name_servers"),
    *columns_added("client_snapshots", "in_group consume_batch_size pull_batch_size pull_interval_ms"),
    *columns_added("client_snapshots", "pull_threshold_for_queue pull_threshold_size_for_queue consume_max_span"),
    *columns_added("client_snapshots", "consume_timeout_minutes owned_queues.element.last_lock lock_refused"),
    *columns_renamed("rebalance_intervals"),
    *columns_added("rebalance_intervals", "strategy_alternatives observed_virtual_nodes observed_rooms"),
    *constraints_set("rebalance_intervals", "interval_not_empty inside_its_step known_status reason_unless_replayed"),
    *columns_added("allocations", "settled_at"),
    *constraints_set("queue_progress", "known_lag_quality unknown_stays_unknown"),
    *columns_renamed("group_status"),
    *columns_added("group_status", "lag_quality utilization busiest_utilization busiest_member"),
    *columns_added("group_status", "busiest_bottleneck headroom_messages_per_second"),
    *columns_added(
        "group_status",
        "catches_up catch_up_seconds retention_left_seconds deleted_at deleted_topics backlog_is_minimum",
    ),
    *constraints_set("group_status", "known_severity counts_not_negative every_queue_counted"),
    *columns_renamed("findings"),
    *columns_added("findings", "silenced_because root_finding_id active_since client_id"),
    *constraints_set("findings", "known_severity span_not_empty inside_its_step"),
    *columns_renamed("quarantine"),
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
    "quarantine": "",
}


def missing(columns: str) -> list[str]:
    return [f"column {column} is missing" for column in columns.split(", ") if column]


@pytest.fixture
def old(tmp_path: Path) -> str:
    return str(unpack(BEFORE_MUTES, tmp_path))


def test_an_old_warehouse_is_refused_with_the_command_that_helps(old: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--warehouse", old, "--interval", HOUR]) == 3
    lines = [line.removeprefix("rebalance-audit: ") for line in capsys.readouterr().err.splitlines()]
    helps = f"`rebalance-audit maintain --upgrade --warehouse {old}` brings it up to date"
    assert [line for line in lines if line.startswith("the table")] == [
        f"the table {old}/{table} is not as schemas/{table}.py says: "
        f"{'; '.join((*(change.change for change in columns_renamed(table)), *missing(columns)))}. "
        f"It comes from an older version: {helps}"
        for table, columns in LACKING.items()
    ]


def test_an_old_warehouse_is_upgraded_read_and_audited(
    spark: SparkSession, old: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where the upgrade is killed between the two commits that give a table its new names."""
    warehouse = Warehouse.parse(old)
    _make_former(spark, warehouse)
    for name, column, value in (("findings", "cause", "NOBODY_CONNECTED"), ("group_status", "limit", "NOBODY_ONLINE")):
        DeltaTable(f"{old}/{name}").update(
            {column: f"'{value}'"}, predicate=f"\"{column}\" IN ('NO_SNAPSHOTS', 'NO_BACKLOG')"
        )
    renamed = [table for table in TABLES if table.name in RENAMED]
    rows = {table: spark.read.format("delta").load(f"{old}/{table.name}").orderBy(*_key(table)) for table in renamed}
    before = {table: ([*frame.columns], frame.collect()) for table, frame in rows.items()}
    incidents = _answer(capsys, "incidents", old)

    def killed(step: str) -> None:
        if step == "copying the rows of findings":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        upgrade(spark, warehouse, killed)
    assert _answer(capsys, "incidents", old) == incidents
    assert main(["run", "--warehouse", old, "--interval", HOUR]) == 3
    assert "schemas/findings.py says: column client_id (string) is missing" in capsys.readouterr().err
    assert upgrade(spark, warehouse) == [
        *constraints_set("findings", "known_severity span_not_empty inside_its_step"),
        *columns_renamed("capture_calls"),
        *columns_renamed("quarantine"),
        *(Upgraded(table, "created") for table in ("sightings", "incidents", "notices")),
    ]
    assert upgrade(spark, warehouse) == []
    for table, (columns, values) in before.items():
        names = dict(RENAMED[table.name])
        now = warehouse.read(spark, table).orderBy(*table.key).select(*(names.get(name, name) for name in columns))
        assert [*map(tuple, now.collect())] == [tuple(map(_of_today, row)) for row in values], table.name
        stored = json.loads(DeltaTable(f"{old}/{table.name}").schema().to_json())
        for field in stored["fields"]:
            expression = field["metadata"].pop("delta.generationExpression", None)
            assert expression == table.generated.get(field["name"])
        assert stored["fields"] == as_json(table.schema)["fields"]
        assert warehouse.detail(spark, table)["clusteringColumns"] == list(table.cluster_by)
    made = warehouse.delta_table(spark, FINDINGS).history().where("operation != 'WRITE'").collect()
    assert {row.userMetadata.partition(",")[0] for row in made if row.userMetadata} == {"maintain --upgrade"}
    # Tables of the old run, at its versions: what is not known of them is null.
    assert _answer(capsys, "incidents", old) == incidents != []
    assert main(["status", "--warehouse", old]) == 0
    report = ["report", "--warehouse", old, "--interval", HOUR, "--group", "payment-service"]
    assert main([*report, "--out", str(tmp_path / "old.html")]) == 0
    # 2: without a configuration three groups cannot be replayed, which is a warning.
    assert main(["run", "--warehouse", old, "--interval", HOUR, "--fail-on", "never"]) == 2
    assert warehouse.read(spark, STRATEGY_COMPARISON).count() > 0
    assert main(["incidents", "--warehouse", old]) == 0
    assert main([*report, "--out", str(tmp_path / "new.html")]) == 0


def _of_today(value: Any) -> Any:
    return "NO_MEMBERS" if value in ("NOBODY_CONNECTED", "NOBODY_ONLINE") else value


def test_incidents_of_version_1_have_the_causes_of_today(spark: SparkSession) -> None:
    part = {"cause": "NOBODY_ASKS", "subject": "TWINS", "causes": [{"cause": "TWINS"}, {"cause": None}]}
    row = {
        "incident_id": "i",
        "cluster": "c",
        "cause": "TWINS",
        "causes": ["NOBODY_CONNECTED", "RESET"],
        "roots": [part],
    }
    frame = spark.createDataFrame([row], struct_type(INCIDENTS.before_version_2.schema))
    (now,) = in_columns_of(INCIDENTS, frame).select("cause", "causes", "root_causes", "symptoms").collect()
    (root,) = now.root_causes
    assert (now.cause, now.causes, now.symptoms) == ("DUPLICATE_CLIENT_ID", ["NO_MEMBERS", "RESET"], None)
    assert (root.cause, root.subject) == ("NOT_CONSUMED", "TWINS")
    assert [span.cause for span in root.cause_spans] == ["DUPLICATE_CLIENT_ID", None]


def _make_former(spark: SparkSession, warehouse: Warehouse) -> None:
    """Tables of version 1.0 that the old warehouse lacks: one that is clustered, with a generated column, and one whose
    columns all have values.
    """
    call = ("c", "broker-a", "stats", "g", datetime(2026, 11, 21, 2), "TIMED_OUT", 3000, None)
    compared = (datetime(2026, 11, 21, 1), "c", "g", "t", "AVG", 1, 4, 0, 0, 1.0, 3, 2)
    for table, row in ((CAPTURE_CALLS, call), (STRATEGY_COMPARISON, compared)):
        former = replace(table.before_version_2, checks={}, key=())
        warehouse.create(spark, [former])
        schema = struct_type(Struct(*(former.schema[name] for name in former.columns)))
        warehouse.save(spark.createDataFrame([row], schema).write.format("delta").mode("append"), former)


def _key(table: Table) -> list[str]:
    former = {new: old for old, new in RENAMED[table.name]}
    return [former.get(name, name) for name in table.key]


def _answer(capsys: pytest.CaptureFixture[str], command: str, warehouse: str) -> Any:
    capsys.readouterr()
    assert main([command, "--warehouse", warehouse, "--json"]) == 0
    return json.loads(capsys.readouterr().out)[command]


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
    _make(tmp_path, FINDINGS, lacking=("silenced_because", "root_finding_id", "measures"))
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
