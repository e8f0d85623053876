"""Warehouses that older versions wrote, brought up to date by `maintain --upgrade`, or refused."""

import json
import re
import tarfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable, Schema
from pyspark.sql import SparkSession

from schemas import (
    AUDIT_RUNS,
    CLIENT_SNAPSHOTS,
    FINDINGS,
    GROUP_STATUS,
    QUARANTINE,
    ROUTE_SNAPSHOTS,
    SIGHTINGS,
    STRATEGY_COMPARISON,
    TABLES,
    Table,
)
from schemas.differences import differences
from schemas.types import as_json
from spark_jobs.cli.main import main
from spark_jobs.operate.upgrade import upgrade
from spark_jobs.store.warehouse import Warehouse
from tests.support.commands import ANSWERED

HOUR = "2026-11-21T02:00/2026-11-21T03:00"


#: As version 2.0.0 left it: 150 seconds of the recording, audited.
OLD = Path(__file__).parents[2] / "data" / "warehouse_of_2.0.0.tar.gz"


def young(member: tarfile.TarInfo, folder: str) -> tarfile.TarInfo | None:
    """A file of an archive as if it had been written now: no retention has run out."""
    found = tarfile.data_filter(member, folder)
    return None if found is None else found.replace(mtime=time.time())


@pytest.fixture
def old(tmp_path: Path) -> str:
    with tarfile.open(OLD) as packed:
        packed.extractall(tmp_path, filter=young)
        return str(tmp_path / packed.getnames()[0])


#: What the old tables lack.
LACKING = {
    "group_status": ["backlog_max", "backlog_max_at", "unassigned_queue_seconds"],
    "quarantine": ["rejected_at"],
}
CREATED = ["coverage", "backlog", "checkpoints"]


def test_an_old_warehouse_is_refused_with_the_command_that_helps(old: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--warehouse", old, "--interval", HOUR]) == 3
    helps = f"`rebalance-audit maintain --upgrade --warehouse {old}` brings it up to date"
    told = rf"the table {old}/(\w+) is not as schemas/\1\.py says: (.*)\. It comes from an older version: {helps}\n"
    differs = {name: text.split("; ") for name, text in re.findall(told, capsys.readouterr().err)}
    assert {name: [text.split()[1] for text in texts] for name, texts in differs.items()} == LACKING
    assert differs["quarantine"] == ["column rejected_at (timestamp) is missing"]


@pytest.mark.slow
def test_missing_columns_and_constraints_are_added(spark: SparkSession, tmp_path: Path) -> None:
    """Columns inside of lists, too; constraints as the table of today has them."""
    _make(tmp_path, CLIENT_SNAPSHOTS, lacking=("last_lock",))
    _make(tmp_path, FINDINGS, lacking=("client_id",))
    warehouse = Warehouse.parse(str(tmp_path))
    changes = [*map(str, upgrade(spark, warehouse))]
    assert [change for change in changes if not change.endswith(": created")] == [
        "client_snapshots: column owned_queues.element.last_lock added",
        "findings: column client_id added",
        *(f"findings: constraint {name} set" for name in ("known_severity", "span_not_empty", "inside_its_step")),
    ]
    check_tables(spark, warehouse, TABLES)


@pytest.mark.slow
def test_an_old_warehouse_is_upgraded_and_read(
    spark: SparkSession, old: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    warehouse = Warehouse.parse(old)
    incidents = _answer(capsys, "incidents", old)
    added = [f"{table}: column {name} added" for table, names in LACKING.items() for name in names]
    assert [*map(str, upgrade(spark, warehouse))] == added + [f"{table}: created" for table in CREATED]
    assert upgrade(spark, warehouse) == []
    check_tables(spark, warehouse, TABLES)
    made = warehouse.delta_table(spark, GROUP_STATUS).history().where("operation = 'ADD COLUMNS'").collect()
    assert {row.userMetadata.partition(",")[0] for row in made} == {"maintain --upgrade"}
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


def _answer(capsys: pytest.CaptureFixture[str], command: str, warehouse: str) -> Any:
    capsys.readouterr()
    assert main([command, "--warehouse", warehouse, "--json"]) in ANSWERED
    return json.loads(capsys.readouterr().out)[command]


@pytest.mark.slow
def test_maintain_upgrades_first_and_says_so_and_a_run_audits_the_tables(
    spark: SparkSession, old: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    warehouse = Warehouse.parse(old)
    assert main(["maintain", "--upgrade", "--warehouse", old, "--json"]) == 0
    changes: dict[str, list[str]] = {}
    for one in json.loads(capsys.readouterr().out)["upgraded"]:
        changes.setdefault(one["table"], []).append(one["change"])
    added = {table: [f"column {name} added" for name in names] for table, names in LACKING.items()}
    assert changes == added | {table: ["created"] for table in CREATED}
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
    """The table without these columns, at the top, in a struct there or in the structs of a list."""
    schema = as_json(table.schema)
    for field in schema["fields"]:
        if isinstance(field["type"], dict):
            struct = field["type"]["elementType"] if field["type"]["type"] == "array" else field["type"]
            if isinstance(struct, dict) and struct["type"] == "struct":
                struct["fields"] = [nested for nested in struct["fields"] if nested["name"] not in lacking]
    schema["fields"] = [field for field in schema["fields"] if field["name"] not in lacking]
    DeltaTable.create(str(folder / table.name), Schema.from_json(json.dumps(schema)))
