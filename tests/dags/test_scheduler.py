"""A real scheduler backfills the DAG: several runs at once, a Spark that is killed, a run that is cleared."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest
from pyspark.sql import SparkSession

from schemas import OUTPUTS
from spark_jobs.config import Configuration
from spark_jobs.domain.intervals import Interval
from spark_jobs.jobs.run import RunRequest, run
from spark_jobs.publish.content import content
from spark_jobs.warehouse import Warehouse
from tests.dags.conftest import Airflow
from tests.jobs.test_tasks import history

pytestmark = pytest.mark.slow

DAG = "rebalance_audit_hourly"
THREE_HOURS = Interval.parse("2026-03-01T10:00/2026-03-01T13:00")
#: Airflow names a run of a backfill after the end of its interval.
RUNS = [f"backfill__2026-03-01T{hour}:00:00+00:00" for hour in (11, 12, 13)]
_LAUNCHER = "org.apache.spark.launcher.Main"


def free_port() -> str:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return str(listening.getsockname()[1])


@pytest.fixture
def scheduler(airflow: Airflow, warehouse: Warehouse, tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Airflow's processes, until the test ends; runs commands beside them, and gives what they print."""
    port = free_port()
    variables = {"warehouse": warehouse.location, "spark_conf": json.dumps({"spark.driver.memory": "1g"})}
    environment = airflow.environment(variables) | {
        # Its processes write to one SQLite file: they wait for each other.
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{airflow.home}/airflow.db?timeout=120",
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
        "AIRFLOW__CORE__PARALLELISM": "2",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://localhost:{port}/execution/",
        "AIRFLOW__API__PORT": port,
        "AIRFLOW__API_AUTH__JWT_SECRET": "secret of a test " * 4,
        "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": free_port(),
        "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": free_port(),
    }

    def command(*words: str) -> str:
        said = subprocess.run(
            [sys.executable, "-m", "airflow", *words],
            env=environment,
            cwd=airflow.home,
            check=False,
            capture_output=True,
            text=True,
        )
        assert said.returncode == 0, said.stdout + said.stderr
        return said.stdout

    with (tmp_path / "standalone.log").open("w") as log:
        running = subprocess.Popen(
            [sys.executable, "-m", "airflow", "standalone"],
            env=environment,
            cwd=airflow.home,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        yield command
        os.killpg(running.pid, signal.SIGTERM)
        running.wait(60)


def until(holds: Callable[[], bool], minutes: float = 30) -> None:
    """Waits until it holds; an assertion in it that fails is not final before the time is over."""
    end = time.monotonic() + minutes * 60
    while not _holds(holds, last=time.monotonic() > end):
        time.sleep(5)


def _holds(holds: Callable[[], bool], *, last: bool) -> bool:
    try:
        found = holds()
    except AssertionError:
        if last:
            raise
        return False
    assert found or not last, "not in time"
    return found


def states(command: Callable[..., str], run_id: str) -> dict[str, str]:
    """The state of each task of a run."""
    found = json.loads(command("tasks", "states-for-dag-run", DAG, run_id, "--output", "json").splitlines()[-1])
    return {row["task_id"]: row["state"] for row in found}


def succeeded(command: Callable[..., str], run_id: str) -> bool:
    found = states(command, run_id)
    assert "failed" not in found.values(), found
    return set(found.values()) == {"success"}


def spark_of(warehouse: Warehouse, task: str) -> list[psutil.Process]:
    """The Java processes that do the task on the warehouse, not those that only work out how to start one."""
    wanted = {"task", task, f"--warehouse={warehouse.location}"}
    return [
        one
        for one in psutil.process_iter()
        if one.name() == "java" and wanted <= (words := set(one.cmdline())) and _LAUNCHER not in words
    ]


def hashes(spark: SparkSession, warehouse: Warehouse) -> dict[str, str]:
    """Of the three hours: Airflow also runs the DAG for the hour that has just ended."""
    request = RunRequest(THREE_HOURS)
    return {t.name: content(warehouse.read(spark, t).where(request.replaces(t))).hash for t in OUTPUTS}


def test_a_backfill_in_parallel_a_killed_spark_and_a_cleared_run_leave_the_tables_of_one_run(
    spark: SparkSession, warehouse: Warehouse, tmp_path: Path, scheduler: Callable[..., str]
) -> None:
    history(spark, warehouse, broken_rows=0, hours=3)
    copy = Warehouse.parse(str(tmp_path / "copy"))
    shutil.copytree(warehouse.location, copy.location)
    expected = run(spark, copy, RunRequest(THREE_HOURS), Configuration()).run["content_hashes"]

    until(lambda: bool(scheduler("dags", "unpause", DAG)), minutes=5)
    dates = ("--from-date", "2026-03-01T10:00:00+00:00", "--to-date", "2026-03-01T12:00:00+00:00")
    scheduler("backfill", "create", "--dag-id", DAG, *dates, "--max-active-runs", "2")
    until(lambda: bool(spark_of(warehouse, "audit")))
    for process in spark_of(warehouse, "audit")[:1]:
        process.kill()
    for run_id in RUNS:
        until(lambda run_id=run_id: succeeded(scheduler, run_id))  # type: ignore[misc]
    assert hashes(spark, warehouse) == expected

    dates = ("-s", "2026-03-01T11:00:00", "-e", "2026-03-01T11:00:00")
    scheduler("tasks", "clear", "-t", "audit", "-d", *dates, "-y", DAG)
    until(lambda: not succeeded(scheduler, RUNS[1]), minutes=5)
    until(lambda: succeeded(scheduler, RUNS[1]))
    assert hashes(spark, warehouse) == expected
