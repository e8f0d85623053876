"""Auditing the recording in one run, step by step in any order, in parallel, or again after a kill: one content.

`make test` does the first and the last to a small history (`tests/jobs/test_cutting_law.py`), and cuts the recording by
the kernel (`test_kernel.py`).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from schemas import AUDIT_RUNS, OUTPUTS
from spark_jobs.config import Configuration
from spark_jobs.config.file import load
from spark_jobs.domain.model.intervals import Interval, StepGrid
from spark_jobs.pipeline.publish.content import Content, content_of_steps
from spark_jobs.pipeline.run import RunRequest, run
from spark_jobs.store.warehouse import Warehouse
from tests.jobs.test_cutting_law import kill_when, start_audit, wait_for_commit
from tests.recording.conftest import CONFIGURATION, EXAMPLE, RECORDING

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(RECORDING != EXAMPLE, reason="the steps are those of the recording of the project"),
]

#: A quarter of an hour with twins that appear and stay, a group that goes offline, one that flaps, and a scale-out.
WHOLE = Interval.parse("2026-11-21T02:05/2026-11-21T02:20")
STEPS = list(StepGrid(timedelta(minutes=5)).steps(WHOLE))
FIRST_HALF, SECOND_HALF = Interval(WHOLE.start, STEPS[0].end), Interval(STEPS[1].start, WHOLE.end)
Contents = dict[str, dict[datetime, Content]]


@pytest.fixture(scope="module")
def configuration_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("configuration") / "five-minutes.yaml"
    path.write_text("step_seconds: 300\n" + CONFIGURATION.read_text(encoding="utf-8"), encoding="utf-8")
    return path


def copied_sources(recorded: Warehouse, folder: Path) -> Warehouse:
    """A copy of the recording's source tables, without any output."""
    assert recorded.local_path is not None
    outputs = (table.name for table in OUTPUTS)
    of_runs = ("audit_runs", "quality_results", "_staging", "_claims", "_quality")
    shutil.copytree(recorded.local_path, folder, ignore=shutil.ignore_patterns(*outputs, *of_runs))
    return Warehouse.parse(str(folder))


@pytest.fixture
def unaudited(recorded: Warehouse, tmp_path: Path) -> Warehouse:
    return copied_sources(recorded, tmp_path / "copy")


def contents(spark: SparkSession, warehouse: Warehouse, versions: Mapping[str, int] | None = None) -> Contents:
    """Of every output table its steps, now or at these versions."""
    at_version = versions or {}
    read = {table: warehouse.read(spark, table, at_version.get(table.name)) for table in OUTPUTS}
    return {table.name: content_of_steps(frame) for table, frame in read.items()}


def audit(spark: SparkSession, warehouse: Warehouse, configuration: Path, intervals: Iterable[Interval]) -> Contents:
    for interval in intervals:
        run(spark, warehouse, RunRequest(interval), load(configuration))
    return contents(spark, warehouse)


@pytest.fixture(scope="module")
def in_one_run(
    spark: SparkSession, recorded: Warehouse, configuration_file: Path, tmp_path_factory: pytest.TempPathFactory
) -> Contents:
    warehouse = copied_sources(recorded, tmp_path_factory.mktemp("whole") / "warehouse")
    found = audit(spark, warehouse, configuration_file, [WHOLE])
    assert all(found.values())
    return found


def test_step_by_step_in_any_order(
    spark: SparkSession, unaudited: Warehouse, configuration_file: Path, in_one_run: Contents
) -> None:
    last, first, middle = STEPS[2], STEPS[0], STEPS[1]
    assert audit(spark, unaudited, configuration_file, [last, first, middle]) == in_one_run


def test_two_processes_at_once(
    spark: SparkSession, unaudited: Warehouse, configuration_file: Path, in_one_run: Contents
) -> None:
    both = [start_audit(unaudited, configuration_file, half) for half in (FIRST_HALF, SECOND_HALF)]
    said = [process.communicate(timeout=600)[1] for process in both]
    assert [process.returncode for process in both] == [1, 1], said  # both halves hold findings at ERROR
    assert contents(spark, unaudited) == in_one_run


def test_killed_while_publishing_then_run_again(
    spark: SparkSession,
    unaudited: Warehouse,
    configuration_file: Path,
    in_one_run: Contents,
) -> None:
    unaudited.create(spark, OUTPUTS)
    # Its commits: made, this one.
    one_is_published = partial(wait_for_commit, unaudited, OUTPUTS[0], 1)
    kill_when(start_audit(unaudited, configuration_file, WHOLE), "publishing", one_is_published)
    half_done = contents(spark, unaudited)
    assert half_done[OUTPUTS[0].name] == in_one_run[OUTPUTS[0].name]
    assert half_done != in_one_run
    assert not unaudited.exists(spark, AUDIT_RUNS)
    assert audit(spark, unaudited, configuration_file, [WHOLE]) == in_one_run
    assert unaudited.local_path is not None
    assert list(unaudited.local_path.glob("_staging/*")) == []
    whoever_reads_goes_by_the_runs(spark, unaudited, in_one_run)


def test_killed_before_and_after_publishing_and_audited_twice(
    spark: SparkSession,
    unaudited: Warehouse,
    configuration_file: Path,
    in_one_run: Contents,
) -> None:
    kill_when(start_audit(unaudited, configuration_file, WHOLE), "checking what was counted")
    assert not any(unaudited.exists(spark, table) for table in (*OUTPUTS, AUDIT_RUNS))
    # Something older stands there, audited without the configuration, which the next killed run replaces.
    older = run(spark, unaudited, RunRequest(WHOLE), Configuration(step_seconds=300)).run["published_versions"]
    as_it_was = contents(spark, unaudited)
    kill_when(start_audit(unaudited, configuration_file, WHOLE), "recording the results of the checks")
    assert contents(spark, unaudited) == in_one_run
    # No row of `audit_runs` names it, so whoever publishes next puts back what it replaced.
    second = STEPS[1]
    assert audit(spark, unaudited, configuration_file, [second, second]) == {
        name: {**steps, second.start: in_one_run[name][second.start]} for name, steps in as_it_was.items()
    }
    assert audit(spark, unaudited, configuration_file, [WHOLE]) == in_one_run
    assert contents(spark, unaudited, older) == as_it_was


def whoever_reads_goes_by_the_runs(spark: SparkSession, warehouse: Warehouse, expected: Contents) -> None:
    """At the versions that the only published run names, all tables are of that run; killed runs name none."""
    (published,) = warehouse.read(spark, AUDIT_RUNS).where("outcome = 'published'").collect()
    assert contents(spark, warehouse, published.published_versions) == expected
