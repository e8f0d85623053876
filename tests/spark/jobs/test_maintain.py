"""Old files go, small ones are put together, and what the last runs have read or published stays readable."""

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from schemas import ALLOCATIONS, FINDINGS, MEMBERSHIP_SNAPSHOTS, OUTPUTS, SOURCES, TABLES, Table
from spark_jobs.cli.commands.maintain import show_maintained
from spark_jobs.cli.main import main
from spark_jobs.config import Configuration
from spark_jobs.errors import WarehouseError
from spark_jobs.operate.late import late_steps
from spark_jobs.operate.maintain import maintain
from spark_jobs.operate.upkeep import Maintained, days_to_keep, nothing_to_maintain, upkeep_of
from spark_jobs.pipeline.publish.claims import claim
from spark_jobs.pipeline.publish.content import Content, content
from spark_jobs.pipeline.run import RunSpec, run
from spark_jobs.store.delta_log import LocalLog
from spark_jobs.store.location import Location
from spark_jobs.store.read.delta import DeltaTables
from spark_jobs.store.warehouse import Warehouse
from tests.support.consoles import cells, shown
from tests.support.snapshots import append, healthy_group, load, membership
from tests.support.stored import arrow_table
from tests.support.times import HOUR, at

pytestmark = pytest.mark.slow

MONTH = timedelta(days=30)


def age(path: Path, days: float) -> None:
    then = time.time() - days * 86400
    os.utime(path, (then, then))


def age_commits(warehouse: Warehouse, table: Table, days: float) -> None:
    """As if all commits so far had been made so many days ago, a second after one another."""
    for place, commit in enumerate(sorted((Path(warehouse.location) / table.name / "_delta_log").glob("*.json"))):
        age(commit, days - place / 86400)


def contents(spark: SparkSession, warehouse: Warehouse, versions: dict[str, int]) -> dict[str, Content]:
    return {
        table.name: content(warehouse.read(spark, table, versions[table.name]).select(*table.columns))
        for table in (*SOURCES, *OUTPUTS)
    }


def test_the_rows_stay_and_so_do_the_versions_of_the_last_runs(spark: SparkSession, warehouse: Warehouse) -> None:
    """Memberships were last written 40 days before the run."""
    for start in (0, 200, 400):
        load(spark, warehouse, healthy_group(range(start, start + 200, 20), "c1", "c2"))
    age_commits(warehouse, MEMBERSHIP_SNAPSHOTS, 40)
    record = run(spark, warehouse, RunSpec(HOUR), Configuration()).run
    versions = record["source_versions"] | record["published_versions"]
    before = contents(spark, warehouse, versions)
    assert before["membership_snapshots"].rows == 30
    stray = Path(warehouse.location) / ALLOCATIONS.name / "part-of-nothing.parquet"
    stray.write_bytes(b"left behind by a writer that was killed")
    age(stray, 31)

    by_name = {table.table: table for table in maintain(spark, warehouse, MONTH)}
    assert list(by_name) == [table.name for table in TABLES if warehouse.exists(spark, table)]
    assert not stray.exists()
    memberships, allocations = by_name["membership_snapshots"], by_name["allocations"]
    assert (memberships.files_before > 1, memberships.files_after) == (True, 1)
    assert (memberships.retention_days, allocations.retention_days) == (41, 30)
    assert (memberships.version_before, memberships.version_after) == (3, 5)  # properties, OPTIMIZE
    assert allocations.version_after == allocations.version_before + 3  # properties, VACUUM twice
    assert contents(spark, warehouse, versions) == before
    newest = {table.name: warehouse.version(spark, table) for table in (*SOURCES, *OUTPUTS)}
    assert contents(spark, warehouse, newest) == before
    assert late_steps(spark, warehouse, Configuration(), HOUR) == []


@pytest.fixture
def small(spark: SparkSession, warehouse: Warehouse) -> Warehouse:
    """Two tables that have constraints."""
    warehouse.create(spark, [MEMBERSHIP_SNAPSHOTS, ALLOCATIONS])
    append(spark, warehouse, MEMBERSHIP_SNAPSHOTS, membership(0, "c1"), membership(20))
    return warehouse


def test_every_constraint_that_is_missing_or_broken_is_named(
    spark: SparkSession, small: Warehouse, capsys: pytest.CaptureFixture[str]
) -> None:
    for table, name in ((MEMBERSHIP_SNAPSHOTS, "known_message_model"), (ALLOCATIONS, "unassigned_has_a_cause")):
        spark.sql(f"ALTER TABLE {small.identifier(table.name)} DROP CONSTRAINT {name}")
    spark.sql(f"UPDATE {small.identifier('membership_snapshots')} SET message_model = 'SHOUTING'")
    assert main(["maintain", "--warehouse", small.location, "--json"]) == 3
    out, err = capsys.readouterr()
    check = "message_model IS NULL OR message_model IN ('CLUSTERING', 'BROADCASTING', 'LITE_SELECTIVE')"
    assert out == ""
    assert [line for line in err.splitlines() if "constraint " in line] == [
        "rebalance-audit: membership_snapshots: the constraint known_message_model is missing, and should be " + check,
        "rebalance-audit: membership_snapshots: 2 rows break the constraint known_message_model: " + check,
        "rebalance-audit: allocations: the constraint unassigned_has_a_cause is missing, and should be "
        "(size(owners) = 0) = (unassigned_cause IS NOT NULL)",
    ]


def test_what_killed_runs_left_behind_goes_and_what_is_in_use_stays(spark: SparkSession, warehouse: Warehouse) -> None:
    root = Path(warehouse.location)
    warehouse.create(spark, [MEMBERSHIP_SNAPSHOTS])
    for name, days in (("dead_findings", 1.1), ("young_findings", 0.9), ("written_findings", 1.1)):
        (root / "_staging" / name).mkdir(parents=True)
        part = root / "_staging" / name / "part.parquet"
        part.write_bytes(b"")
        age(part, 0.5 if name == "written_findings" else days)
        age(part.parent, days)
    with claim(warehouse, RunSpec(HOUR), "alive") as held:
        alive = root / "_claims" / f"{held.name}.json"
        shutil.copy(alive, root / "_claims" / "run-dead.json")
        maintain(spark, warehouse, MONTH)
        files = ["all.lock", f"{held.name}.java", alive.name]
        assert sorted(path.name for path in (root / "_claims").iterdir()) == files
    assert sorted(path.name for path in (root / "_staging").iterdir()) == ["written_findings", "young_findings"]


def test_less_than_a_week_is_refused_and_so_is_no_warehouse(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["maintain", "--warehouse", str(tmp_path), "--retention-days", "6"]) == 3
    assert capsys.readouterr().err.endswith(
        "rebalance-audit: a retention of 6 days is too short: at least 7, "
        "as younger files may be those of a run that is reading or writing\n"
    )
    with pytest.raises(WarehouseError, match="a retention of 6 days is too short"):
        maintain(spark, Warehouse.parse(str(tmp_path)), timedelta(days=6))
    with pytest.raises(WarehouseError, match="there is no table membership_snapshots"):
        maintain(spark, Warehouse.parse(str(tmp_path)), MONTH)


def test_the_second_time_nothing_is_to_be_done_and_no_java_is_needed(spark: SparkSession, small: Warehouse) -> None:
    first = maintain(spark, small, MONTH)
    left = [as_left(maintained) for maintained in first]
    assert nothing_to_maintain(DeltaTables(small), MONTH) == left == maintain(spark, small, MONTH)
    command = [sys.executable, "-m", "spark_jobs.cli", "maintain", "--warehouse", small.location, "--json"]
    environment = os.environ | {"JAVA_HOME": "/nowhere"}
    answer = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert json.loads(answer.stdout)["tables"] == [*map(asdict, left)]


def as_left(maintained: Maintained) -> Maintained:
    files, size, version = maintained.files_after, maintained.bytes_after, maintained.version_after
    return replace(maintained, files_before=files, bytes_before=size, version_before=version)


def test_whatever_is_to_be_done_is_seen_without_spark(spark: SparkSession, small: Warehouse) -> None:
    root = Path(small.location)
    maintain(spark, small, MONTH)
    assert nothing_to_maintain(DeltaTables(small), MONTH)
    assert nothing_to_maintain(DeltaTables(small), timedelta(days=40)) is None  # other properties

    stray = root / ALLOCATIONS.name / "step_start=2026-03-01 10%3A00%3A00" / "part-of-nothing.parquet"
    stray.parent.mkdir()
    stray.write_bytes(b"left behind by a writer that was killed")
    age(stray, 29)
    assert nothing_to_maintain(DeltaTables(small), MONTH)
    age(stray, 31)
    assert nothing_to_maintain(DeltaTables(small), MONTH) is None
    stray.unlink()

    for folder, name in (("_staging/of_a_run", "part.parquet"), ("_claims", "killed.note")):
        (root / folder).mkdir(parents=True, exist_ok=True)
        (root / folder / name).write_bytes(b"")
        assert nothing_to_maintain(DeltaTables(small), MONTH) is None
        (root / folder / name).unlink()
    (root / "_staging" / "of_a_run").rmdir()
    assert nothing_to_maintain(DeltaTables(small), MONTH)

    append(spark, small, MEMBERSHIP_SNAPSHOTS, membership(40))
    assert nothing_to_maintain(DeltaTables(small), MONTH) is None
    changed = [table.table for table in maintain(spark, small, MONTH) if table.version_after > table.version_before]
    assert changed == [MEMBERSHIP_SNAPSHOTS.name]
    spark.sql(f"ALTER TABLE {small.identifier(ALLOCATIONS.name)} DROP CONSTRAINT unassigned_has_a_cause")
    assert nothing_to_maintain(DeltaTables(small), MONTH) is None


def test_a_file_per_step_is_not_to_be_compacted_and_two_are(tmp_path: Path) -> None:
    for hour, files in ((0, 1), (1, 1), (1, 2)):
        write_deltalake(
            tmp_path / FINDINGS.name,
            arrow_table(FINDINGS, [{"step_start": at(3600 * hour)}]),
            mode="append",
            partition_by=["step_start"],
        )
        assert upkeep_of(DeltaTables(Location.parse(str(tmp_path))), FINDINGS, 30).compact is (files > 1)


def test_files_that_went_longer_ago_than_they_are_kept_are_seen(spark: SparkSession, small: Warehouse) -> None:
    """As many days as the version that a run has read is old, where that is more."""
    tables = DeltaTables(small)
    maintain(spark, small, MONTH)
    spark.sql(f"DELETE FROM {small.identifier(MEMBERSHIP_SNAPSHOTS.name)}")
    assert not upkeep_of(tables, MEMBERSHIP_SNAPSHOTS, 30).vacuum
    log = LocalLog(Path(small.location) / MEMBERSHIP_SNAPSHOTS.name)
    age_commits(small, MEMBERSHIP_SNAPSHOTS, 40)
    made = [log.made(version) for version in (0, 1, log.version(), log.version() + 1)]
    ages = [made and round((datetime.now(UTC) - made) / timedelta(days=1), 3) for made in made]
    assert ages == [40, 40, 40, None]
    assert days_to_keep(made[0], MONTH) == 41
    assert days_to_keep(None, MONTH) == 30


MAINTAINED = Maintained("allocations", 12, 3, 4_200_000, 3_900_000, 7, 11, 30)


def test_maintained_tables_are_lines_where_nobody_watches_and_a_table_on_a_terminal() -> None:
    assert shown(lambda console: show_maintained(console, [MAINTAINED]), 40) == [
        "allocations files=12→3 MB=4.2→3.9 version=7→11 days_kept=30",
        "1 tables maintained; their constraints hold.",
    ]
    rows = cells(lambda console: show_maintained(console, [MAINTAINED]))
    assert ["allocations", "12→3", "4.2→3.9", "7→11", "30"] in rows


def test_a_command_leaves_neither_java_nor_its_files(small: Warehouse, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    command = [sys.executable, "-m", "spark_jobs.cli", "maintain", "--warehouse", small.location, "--verbose"]
    environment = os.environ | {"TMPDIR": str(scratch)}
    answer = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert "Spark is started for small work: 0.0 MB" in answer.stderr
    assert answer.stdout.endswith("2 tables maintained; their constraints hold.\n")
    assert [path.name for path in scratch.iterdir() if path.is_dir()] == []
    commands = [str(process.info["cmdline"]) for process in psutil.process_iter(["cmdline"])]
    assert [command for command in commands if str(scratch) in command] == []
