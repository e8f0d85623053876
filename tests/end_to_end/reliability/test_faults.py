"""Disks, folders and permissions that fail in mid-run: one sentence, exit code 4, and the next run completes."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from benchmarks.fleet import Fleet
from benchmarks.snapshots import make
from schemas import FINDINGS
from spark_jobs.config import Configuration
from spark_jobs.pipeline import run_context
from spark_jobs.pipeline.run import RunSpec, run
from spark_jobs.store.warehouse import Warehouse
from tests.end_to_end.reliability.killing import Started, started
from tests.end_to_end.reliability.reader import published_steps
from tests.end_to_end.reliability.small_fleet import (
    EXIT_CODES,
    STEPS,
    Contents,
    Prepared,
    arguments,
    contents,
    prepare,
    quietly,
)

pytestmark = pytest.mark.reliability

_AS_ANY_USER = ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if os.getuid() == 0 else ()
#: Where a run stands when it is struck: the sources are read, nothing is published.
_EVALUATING = "checking and auditing every group"
_STARTS = "starting Spark"
#: How the lines begin that say how far a command is, of a step where it has several.
_PROGRESS = re.compile(
    r"([-0-9TZ:]+/[-0-9TZ:]+: )?"
    r"(checking paths and tables|loading |starting Spark|looking for late snapshots|bringing sightings up to date"
    r"|compacting |reading the snapshots|checking and auditing every group|checking what was counted|publishing"
    r"|recording the run)"
)
#: All that a command may say of a fault, beside its progress: the error, and how to go on or Java's own.
_LINES = 2
Undisturbed = Callable[[str], Contents]


@pytest.fixture(scope="module")
def prepared(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return prepare(spark, tmp_path_factory.mktemp("prepared"))


@pytest.fixture(scope="module")
def undisturbed(prepared: Prepared, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """The tables that an undisturbed command leaves."""

    @cache
    def left_by(command: str) -> Contents:
        warehouse = prepared.copy(command, tmp_path_factory.mktemp("undisturbed") / "warehouse")
        assert quietly(arguments(command, warehouse, prepared)) == EXIT_CODES[command]
        return contents(warehouse)

    return left_by


def mounted(folder: Path, *options: str) -> None:
    folder.mkdir(exist_ok=True)
    if subprocess.run(["mount", *options, str(folder)], check=False).returncode:
        pytest.skip("this user may mount nothing")


@contextmanager
def file_system(folder: Path, megabytes: int) -> Iterator[Path]:
    """One of this size, in this folder."""
    mounted(folder, "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 24 MB."""
    with file_system(tmp_path / "disk", 24) as folder:
        yield folder


def struck(
    warehouse: Warehouse,
    prepared: Prepared,
    folder: Path,
    strike: Callable[[], object],
    command: str = "run",
    when: str = _EVALUATING,
    program: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> str:
    """What a command says after the fault has come, which ends it with exit code 4."""
    with started(arguments(command, warehouse, prepared), folder, program, environment) as process:
        process.wait_for(when)
        before = len(process.said())
        strike()
        assert process.process.wait(300) == 4, process.said()
        return without_progress(process, before)


def without_progress(process: Started, before: int) -> str:
    said = process.said()[before:]
    own = [line for line in said.splitlines() if not _PROGRESS.match(line)]
    # Each of Spark's threads may say the same.
    assert len({line.partition(" ERROR ")[2] or line for line in own}) <= _LINES, said
    assert "this is a bug" not in said
    assert own, process.said()
    error = "\n".join(own)
    print(f"\n{error}")
    return error


def completes(warehouse: Warehouse, prepared: Prepared, expected: Contents, command: str = "run") -> None:
    assert quietly(arguments(command, warehouse, prepared)) == EXIT_CODES[command]
    assert contents(warehouse) == expected


def fill(disk: Path, spare: int) -> Path:
    """A file that leaves so many bytes of the disk."""
    filler, found = disk / "filler", os.statvfs(disk)
    with suppress(OSError), filler.open("wb") as file:
        file.write(b"x" * max(0, found.f_bavail * found.f_frsize - spare))
    return filler


@pytest.mark.parametrize(
    ("command", "when", "spare"),
    [
        ("run", _EVALUATING, 0),
        ("run", "publishing", 0),
        # Some tables are published.
        ("run", "publishing", 50_000),
        ("ingest", "loading ", 0),
        ("late", _EVALUATING, 0),
        ("maintain", _STARTS, 0),
    ],
)
def test_a_full_disk_leaves_nothing_half_and_the_command_completes_later(
    prepared: Prepared, undisturbed: Undisturbed, disk: Path, tmp_path: Path, command: str, when: str, spare: int
) -> None:
    warehouse = prepared.copy(command, disk / "warehouse")
    before = published_steps(warehouse.location)
    error = struck(warehouse, prepared, tmp_path, lambda: fill(disk, spare), command, when)
    assert "no space left" in error.lower()
    assert warehouse.location in error
    assert published_steps(warehouse.location) == before
    (disk / "filler").unlink()
    completes(warehouse, prepared, undisturbed(command), command)


def test_a_table_that_becomes_read_only_is_named_and_nothing_is_published_half(
    prepared: Prepared, undisturbed: Undisturbed, disk: Path, tmp_path: Path
) -> None:
    warehouse = prepared.copy("run", disk / "warehouse")
    before, table = published_steps(warehouse.location), disk / "warehouse" / FINDINGS.name
    mounted(table, "--bind", str(table))

    def strike() -> None:
        subprocess.run(["mount", "-o", "remount,bind,ro", str(table)], check=True)

    error = struck(warehouse, prepared, tmp_path, strike)
    assert f"findings could not be published: the warehouse {warehouse.location} ({table})" in error
    assert "read-only" in error
    assert published_steps(warehouse.location) == before
    subprocess.run(["umount", "--lazy", str(table)], check=True)
    completes(warehouse, prepared, undisturbed("run"))


def test_a_read_only_warehouse_is_an_error_that_says_so(prepared: Prepared, disk: Path, tmp_path: Path) -> None:
    warehouse = prepared.copy("run", disk / "warehouse")
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    error = struck(warehouse, prepared, tmp_path, lambda: None, when=_STARTS)
    assert "on a file system that is read-only" in error


@pytest.mark.parametrize("when", [_EVALUATING, "publishing"])
def test_a_warehouse_that_vanishes_is_named_and_completed_when_it_is_back(
    prepared: Prepared, undisturbed: Undisturbed, tmp_path: Path, when: str
) -> None:
    warehouse = prepared.copy("run", tmp_path / "warehouse")
    root, away = Path(warehouse.location), tmp_path / "away"
    before = published_steps(warehouse.location)
    with started(arguments("run", warehouse, prepared), tmp_path) as process:
        process.wait_for(when)
        said = len(process.said())
        root.rename(away)
        code = process.process.wait(300)
        error = without_progress(process, said)
    assert "is not there any more" in error
    assert warehouse.location in error
    assert code in (3, 4)
    shutil.rmtree(root, ignore_errors=True)
    away.rename(root)
    assert published_steps(warehouse.location) == before
    completes(warehouse, prepared, undisturbed("run"))


def test_a_warehouse_without_permission_to_write_is_named_and_completed_later(
    prepared: Prepared, undisturbed: Undisturbed, tmp_path: Path
) -> None:
    """Root, too, may not write where only others may, once it has dropped two capabilities."""
    warehouse = prepared.copy("run", tmp_path / "warehouse")
    before, table = published_steps(warehouse.location), tmp_path / "warehouse" / FINDINGS.name
    folders = [table, *(path for path in table.rglob("*") if path.is_dir())]

    def allow(mode: int) -> None:
        for folder in folders:
            folder.chmod(mode)

    error = struck(warehouse, prepared, tmp_path, lambda: allow(0o555), program=_AS_ANY_USER)
    assert f"findings could not be published: this user may not write in the warehouse {warehouse.location} (" in error
    assert published_steps(warehouse.location) == before
    allow(0o755)
    completes(warehouse, prepared, undisturbed("run"))


def test_a_clock_that_goes_back_an_hour_between_two_runs(
    spark: SparkSession, prepared: Prepared, undisturbed: Undisturbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readers go by the run that came last, not by the one whose clock was ahead."""
    warehouse = prepared.copy("run", tmp_path / "warehouse")

    class Ahead(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            return datetime.now(UTC) + timedelta(hours=1)

    with monkeypatch.context() as patch:
        patch.setattr(run_context, "datetime", Ahead)
        run(spark, warehouse, RunSpec(STEPS[0]), Configuration())
    ahead = published_steps(warehouse.location)
    run(spark, warehouse, RunSpec(STEPS[1]), Configuration())
    now = published_steps(warehouse.location)
    assert now[STEPS[0].start] == ahead[STEPS[0].start]
    assert now[STEPS[1].start] != ahead[STEPS[1].start]
    assert contents(warehouse) == undisturbed("run")


def test_java_without_enough_memory_is_an_error_that_says_so(spark: SparkSession, tmp_path: Path) -> None:
    """One topic of 20,000 queues, with the least memory that Spark takes: 1,500 groups of 16 queues need no more."""
    warehouse = Warehouse.parse(str(tmp_path / "warehouse"))
    fleet = Fleet(groups=1, hours=1, churn=0, duplicates=0, brokers=4, hosts=4, queues=20_000)
    make(spark, warehouse, fleet)
    command = ["run", "--warehouse", warehouse.location, "--interval", str(fleet.interval), "--json"]
    little = {"PYSPARK_SUBMIT_ARGS": "--driver-memory 512m pyspark-shell"}
    with started(command, tmp_path, environment=little) as process:
        assert process.process.wait(600) == 4, process.said()
        assert "Spark's Java process has not enough memory" in without_progress(process, 0)
    assert not warehouse.exists(spark, FINDINGS)
    assert quietly(command) == 0
