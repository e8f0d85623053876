"""A history of two steps, audited in one run, step by step backwards, in parallel, or again after a kill: one content.

`tests/spark/recording/test_kernel.py` cuts the recording, by the kernel.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from schemas import AUDIT_RUNS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, OUTPUTS, ROUTE_SNAPSHOTS, Table
from spark_jobs.config import Configuration
from spark_jobs.config.file import load as configured
from spark_jobs.config.model import GroupEntry
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.pipeline.run import RunSpec, run
from spark_jobs.store.read.delta import DeltaTables
from spark_jobs.store.read.stored import rows
from spark_jobs.store.warehouse import Warehouse
from tests.support.snapshots import load, membership, offsets, route
from tests.support.times import at

FIRST, SECOND = Interval(at(0), at(600)), Interval(at(600), at(1200))
WHOLE = Interval(FIRST.start, SECOND.end)
Contents = dict[str, list[dict[str, Any]]]


def history() -> dict[Table, list[dict[str, Any]]]:
    """Twins across the border of the steps: meanwhile nobody consumes the third of four queues."""
    times, twins = range(0, 1200, 20), range(500, 800)
    members = {second: ("a", "a", "b") if second in twins else ("a", "b", "c") for second in times}

    def sample(second: int, queue: int) -> tuple[int, int, int]:
        return 100 + second, 100 + (500 if queue == 2 and second in twins else second), 1

    return {
        MEMBERSHIP_SNAPSHOTS: [membership(second, *members[second]) for second in times],
        ROUTE_SNAPSHOTS: [route(second, 4) for second in times],
        OFFSET_SNAPSHOTS: [offsets(second, *(sample(second, queue) for queue in range(4))) for second in times],
    }


@pytest.fixture(scope="module")
def configuration(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("configuration") / "ten-minutes.yaml"
    path.write_text("step_seconds: 600\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def loaded(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """The history without any audit; tests must not change it."""
    warehouse = Warehouse.parse(str(tmp_path_factory.mktemp("cut") / "warehouse"))
    load(spark, warehouse, history())
    return warehouse


@pytest.fixture(scope="module")
def in_one_run(
    spark: SparkSession, loaded: Warehouse, configuration: Path, tmp_path_factory: pytest.TempPathFactory
) -> Contents:
    found = audit(spark, copy_of(loaded, tmp_path_factory.mktemp("whole") / "copy"), configuration, WHOLE)
    assert all(found.values())
    return found


@pytest.fixture
def unaudited(loaded: Warehouse, tmp_path: Path) -> Warehouse:
    return copy_of(loaded, tmp_path / "copy")


def copy_of(warehouse: Warehouse, folder: Path) -> Warehouse:
    shutil.copytree(warehouse.location, folder)
    return Warehouse.parse(str(folder))


def audit(spark: SparkSession, warehouse: Warehouse, configuration: Path, *intervals: Interval) -> Contents:
    for interval in intervals:
        run(spark, warehouse, RunSpec(interval), configured(configuration))
    return contents(warehouse)


def contents(warehouse: Warehouse, versions: Mapping[str, int] | None = None) -> Contents:
    """The rows of every output table, now or at these versions."""
    tables, at_version = DeltaTables(warehouse), versions or {}
    read = {table: tables.read(table, table.columns, version=at_version.get(table.name)) for table in OUTPUTS}
    return {table.name: sorted(rows(found), key=repr) for table, found in read.items()}


def start_audit(warehouse: Warehouse, configuration: Path, interval: Interval) -> subprocess.Popen[str]:
    """The command line's own process, its progress on stderr."""
    command = [sys.executable, "-m", "spark_jobs.cli", "run", "--warehouse", warehouse.location]
    options = ["--interval", str(interval), "--config", str(configuration), "--json"]
    return subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def wait_for_commit(warehouse: Warehouse, table: Table, number: int) -> None:
    """Until the table has its commit of that number: its publish is done, the next one's is not."""
    assert warehouse.local_path is not None
    commit = warehouse.local_path / table.name / "_delta_log" / f"{number:020}.json"
    while not commit.exists():
        time.sleep(0.01)


def kill_when(process: subprocess.Popen[str], says: str, then: Callable[[], None] = lambda: None) -> None:
    """SIGKILL once the process says what it is doing, and after that `then` has come back."""
    assert process.stderr is not None
    assert any(line.startswith(says) for line in process.stderr)
    then()
    process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.mark.slow
def test_steps_audited_backwards_publish_what_one_run_does(
    spark: SparkSession, unaudited: Warehouse, configuration: Path, in_one_run: Contents
) -> None:
    assert audit(spark, unaudited, configuration, SECOND, FIRST) == in_one_run


@pytest.mark.slow
def test_a_run_killed_while_it_publishes_is_completed_by_the_next(
    spark: SparkSession, unaudited: Warehouse, configuration: Path, in_one_run: Contents
) -> None:
    unaudited.create(spark, OUTPUTS)
    # Its commits: made, this one.
    one_is_published = partial(wait_for_commit, unaudited, OUTPUTS[0], 1)
    kill_when(start_audit(unaudited, configuration, WHOLE), "publishing", one_is_published)
    half_done = contents(unaudited)
    assert half_done[OUTPUTS[0].name] == in_one_run[OUTPUTS[0].name]
    assert half_done != in_one_run
    assert not unaudited.exists(spark, AUDIT_RUNS)
    assert audit(spark, unaudited, configuration, WHOLE) == in_one_run
    assert list(Path(unaudited.location).glob("_staging/*")) == []
    # Whoever reads goes by the runs: at the versions that the only published one names, all tables are of that run.
    runs = rows(DeltaTables(unaudited).read(AUDIT_RUNS, ["outcome", "published_versions"]))
    (versions,) = [one["published_versions"] for one in runs if one["outcome"] == "published"]
    assert contents(unaudited, versions) == in_one_run


@pytest.mark.slow
def test_two_processes_at_once_publish_what_one_run_does(
    spark: SparkSession, unaudited: Warehouse, configuration: Path, in_one_run: Contents
) -> None:
    both = [start_audit(unaudited, configuration, step) for step in (FIRST, SECOND)]
    messages = [process.communicate(timeout=600)[1] for process in both]
    # The twins' 100 s of the first step may be a stale connection's; in the second they are an ERROR.
    assert [process.returncode for process in both] == [0, 1], messages
    assert contents(unaudited) == in_one_run


@pytest.mark.slow
def test_runs_killed_before_and_after_publishing_leave_what_the_last_whole_run_publishes(
    spark: SparkSession, unaudited: Warehouse, configuration: Path, in_one_run: Contents
) -> None:
    kill_when(start_audit(unaudited, configuration, WHOLE), "checking what was counted")
    assert not any(unaudited.exists(spark, table) for table in (*OUTPUTS, AUDIT_RUNS))
    # Something older stands there, audited with another strategy, which the next killed run replaces.
    circle = Configuration(step_seconds=600, groups=(GroupEntry(cluster="c", strategy="AVG_BY_CIRCLE"),))
    older = run(spark, unaudited, RunSpec(WHOLE), circle).run["published_versions"]
    replaced = contents(unaudited)
    kill_when(start_audit(unaudited, configuration, WHOLE), "recording the run")
    assert contents(unaudited) == in_one_run
    # No row of `audit_runs` names it, so whoever publishes next puts back what it replaced.
    found = audit(spark, unaudited, configuration, SECOND, SECOND)
    for name, of_table in found.items():
        assert of_step(FIRST, of_table) == of_step(FIRST, replaced[name])
        assert of_step(SECOND, of_table) == of_step(SECOND, in_one_run[name])
    assert found != in_one_run
    assert audit(spark, unaudited, configuration, WHOLE) == in_one_run
    assert contents(unaudited, older) == replaced


def of_step(step: Interval, of_table: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in of_table if row["step_start"] == step.start]
