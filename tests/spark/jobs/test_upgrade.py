"""Warehouses that older versions wrote, brought up to date by `maintain --upgrade`, or refused."""

import json
import re
import tarfile
import time
from collections.abc import Iterable
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
    NOTICES,
    QUARANTINE,
    ROUTE_SNAPSHOTS,
    SIGHTINGS,
    STRATEGY_COMPARISON,
    TABLES,
    Table,
)
from schemas.differences import differences
from schemas.types import Struct, as_json
from spark_jobs.cli.main import main
from spark_jobs.operate.upgrade import upgrade
from spark_jobs.store.spark_types import in_columns_of, struct_type
from spark_jobs.store.warehouse import Warehouse
from tests.support.commands import ANSWERED

HOUR = "2026-11-21T02:00/2026-11-21T03:00"


#: By the code at commit c52dd86, before findings were muted and had roots: 150 seconds of the recording, audited.
OLD = Path(__file__).parents[2] / "data" / "warehouse_of_2026-11-22.tar.gz"


def young(member: tarfile.TarInfo, folder: str) -> tarfile.TarInfo | None:
    """A file of an archive as if it had been written now: no retention has run out."""
    found = tarfile.data_filter(member, folder)
    return None if found is None else found.replace(mtime=time.time())


@pytest.fixture
def old(tmp_path: Path) -> str:
    with tarfile.open(OLD) as packed:
        packed.extractall(tmp_path, filter=young)
        return str(tmp_path / packed.getnames()[0])


#: The old tables that are not as those of today.
DIFFERING = (
    *("membership_snapshots", "route_snapshots", "client_snapshots", "rebalance_intervals", "allocations"),
    *("group_status", "findings", "quarantine"),
)
RENAMED = [
    "column start is called started_at now",
    "column end is called ended_at now",
    "column evidence.parties is called evidence.conflicting_values now",
    "column evidence.queues.start is called evidence.queues.started_at now",
    "column evidence.queues.end is called evidence.queues.ended_at now",
]


def test_an_old_warehouse_is_refused_with_the_command_that_helps(old: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--warehouse", old, "--interval", HOUR]) == 3
    helps = f"`rebalance-audit maintain --upgrade --warehouse {old}` brings it up to date"
    told = rf"the table {old}/(\w+) is not as schemas/\1\.py says: (.*)\. It comes from an older version: {helps}\n"
    differs = {name: text.split("; ") for name, text in re.findall(told, capsys.readouterr().err)}
    assert tuple(differs) == DIFFERING
    lacking = ("client_id (string)", "held_since (timestamp)", "muted (string)", "root_finding_id (string)")
    assert differs["findings"] == [*RENAMED, *(f"column {name} is missing" for name in lacking)]
    assert "column request_modes[].pop_share_queue_num (int) is missing" in differs["membership_snapshots"]


@pytest.mark.slow
def test_an_old_warehouse_is_upgraded_and_read(
    spark: SparkSession, old: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where the upgrade is killed between the two commits that give a table its new names."""
    warehouse = Warehouse.parse(old)
    _make_former(spark, warehouse)
    for name, column, value in (("findings", "cause", "NOBODY_CONNECTED"), ("group_status", "limit", "NOBODY_ONLINE")):
        DeltaTable(f"{old}/{name}").update(
            {column: f"'{value}'"}, predicate=f"\"{column}\" IN ('NO_SNAPSHOTS', 'NO_BACKLOG')"
        )
    renamed = [table for table in TABLES if table.former and table not in (INCIDENTS, NOTICES)]
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
    assert [*map(str, upgrade(spark, warehouse))] == [
        *(f"findings: constraint {name} set" for name in ("known_severity", "span_not_empty", "inside_its_step")),
        "capture_calls: column fate is called outcome now",
        "quarantine: column key is called row_key now",
        *(f"{table}: created" for table in ("sightings", "coverage", "backlog", "incidents", "checkpoints", "notices")),
    ]
    assert upgrade(spark, warehouse) == []
    for table, (columns, values) in before.items():
        names = dict(zip(table.before_version_2.schema.names, table.schema.names, strict=True))
        now = warehouse.read(spark, table).orderBy(*table.key).select(*map(names.__getitem__, columns))
        assert [*map(tuple, now.collect())] == [tuple(map(_of_today, row)) for row in values], table.name
    check_tables(spark, warehouse, renamed)
    for table in renamed:
        fields = stored_schema(warehouse, table)["fields"]
        for field in fields:
            expression = field["metadata"].pop("delta.generationExpression", None)
            assert expression == table.generated.get(field["name"])
        assert fields == as_json(table.schema)["fields"]
        assert warehouse.detail(spark, table)["clusteringColumns"] == list(table.cluster_by)
    made = warehouse.delta_table(spark, FINDINGS).history().where("operation != 'WRITE'").collect()
    assert {row.userMetadata.partition(",")[0] for row in made if row.userMetadata} == {"maintain --upgrade"}
    # Tables of the old run, at its versions: what is not known of them is null.
    assert _answer(capsys, "incidents", old) == incidents != []
    assert main(["status", "--warehouse", old]) == 1  # of this old hour there are errors
    report = ["report", "--warehouse", old, "--interval", HOUR, "--group", "payment-service"]
    assert main([*report, "--out", str(tmp_path / "old.html")]) == 0


def stored_schema(warehouse: Warehouse, table: Table) -> Any:
    return json.loads(DeltaTable(f"{warehouse.location}/{table.name}").schema().to_json())


def check_tables(spark: SparkSession, warehouse: Warehouse, tables: Iterable[Table]) -> None:
    """They have the columns and the constraints of today."""
    for table in tables:
        assert [*differences(stored_schema(warehouse, table), table.schema)] == [], table.name
        properties = warehouse.detail(spark, table)["properties"]
        constraints = {name: text for name, text in properties.items() if "constraints" in name}
        assert constraints.keys() == {f"delta.constraints.{name}" for name in table.checks}
        # ADD CONSTRAINT puts other spaces between the words.
        words = ({"".join(text.split()) for text in texts.values()} for texts in (constraints, table.checks))
        assert len({*map(frozenset, words)}) == 1, table.name


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
    former = dict(zip(table.schema.names, table.before_version_2.schema.names, strict=True))
    return [former[name] for name in table.key]


def _answer(capsys: pytest.CaptureFixture[str], command: str, warehouse: str) -> Any:
    capsys.readouterr()
    assert main([command, "--warehouse", warehouse, "--json"]) in ANSWERED
    return json.loads(capsys.readouterr().out)[command]


@pytest.mark.slow
def test_maintain_upgrades_first_and_says_so_and_a_run_audits_the_tables(
    spark: SparkSession, old: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    warehouse = Warehouse.parse(old)
    before = {table for table in TABLES if Path(old, table.name).exists()}
    assert main(["maintain", "--upgrade", "--warehouse", old, "--json"]) == 0
    changes: dict[str, list[str]] = {}
    for one in json.loads(capsys.readouterr().out)["upgraded"]:
        changes.setdefault(one["table"], []).append(one["change"])
    assert changes.keys() == {*DIFFERING, "queue_progress"} | {table.name for table in TABLES if table not in before}
    assert changes["findings"] == [
        *RENAMED,
        *(f"column {name} added" for name in ("silenced_because", "root_finding_id", "active_since", "client_id")),
        *(f"constraint {name} set" for name in ("known_severity", "span_not_empty", "inside_its_step")),
    ]
    assert "column owned_queues.element.last_lock added" in changes["client_snapshots"]
    assert changes["queue_progress"] == [
        f"constraint {name} set" for name in ("known_lag_quality", "unknown_stays_unknown")
    ]
    assert changes["notices"] == ["created"]
    check_tables(spark, warehouse, TABLES)
    assert {row.hour.hour for row in warehouse.read(spark, SIGHTINGS).collect()} == {2}
    assert main(["maintain", "--upgrade", "--warehouse", old]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "All tables are up to date."
    # 2: without a configuration three groups cannot be replayed, which is a warning.
    assert main(["run", "--warehouse", old, "--interval", HOUR, "--fail-on", "never"]) == 2
    assert warehouse.read(spark, STRATEGY_COMPARISON).count() > 0
    assert main(["incidents", "--warehouse", old]) in ANSWERED
    assert main(["report", "--warehouse", old, "--interval", HOUR, "--out", str(tmp_path / "new.html")]) == 0


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
