"""A real Airflow runs the DAG: a backfill with kills and a closed gate, a run that is cleared, a standalone cluster,
two fleets of a user's own DAG file.
"""

import json
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest
from pyspark.sql import SparkSession

from schemas import AUDIT_RUNS, FINDINGS, MEMBERSHIP_SNAPSHOTS, OUTPUTS
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.pipeline.publish.content import content
from spark_jobs.pipeline.run import RunSpec, run
from spark_jobs.pipeline.tasks import staging_of
from spark_jobs.store.warehouse import Warehouse
from tests.end_to_end.dags.conftest import ROOT, Airflow, started
from tests.end_to_end.dags.running import RunningAirflow, running, spark_of, until
from tests.spark.jobs.test_tasks import RULES, history
from tests.support.snapshots import load, membership

pytestmark = pytest.mark.airflow

TWO_HOURS = RunSpec(Interval.parse("2026-03-01T10:00/2026-03-01T12:00"))
#: Airflow names a run of a backfill after the end of its interval.
FIRST, SECOND, THIRD = (f"backfill__2026-03-01T{hour}:00:00+00:00" for hour in (11, 12, 13))


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the notices are sent to."""
    return tmp_path_factory.mktemp("told") / "told.txt"


@pytest.fixture(scope="module")
def fleets(airflow: Airflow, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Warehouse]:
    """Warehouses of two fleets, whose DAGs are a line each in a file: one by spark-submit, one by plain commands."""
    folder = tmp_path_factory.mktemp("fleets")
    found = {name: Warehouse.parse(str(folder / name)) for name in ("eu", "us")}
    calls = [f"audits({name!r}, warehouse={warehouse.location!r}" for name, warehouse in found.items()]
    (airflow.home / "dags" / "fleets.py").write_text(
        "from rebalance_audit_factory import audits  # a file of DAGs, as Airflow finds them\n"
        f"from rebalance_audit_tasks import CommandOperator\n{calls[0]})\n{calls[1]}, operator=CommandOperator)\n"
    )
    return found


@pytest.fixture(scope="module")
def airflow_runs(airflow: Airflow, told: Path, fleets: dict[str, Warehouse]) -> Iterator[RunningAirflow]:
    text = "{{ title }}; {{ notices | map(attribute='rule') | join(' ') }}"
    notifier = {"class": "tests.end_to_end.dags.notifier:FileNotifier", "kwargs": {"path": str(told), "text": text}}
    with running(airflow) as found:
        # The hour that has just ended has no snapshots: its run is deferred beyond the test.
        found.set_variables({"notifier": json.dumps(notifier), "grace_minutes": str(100 * 24 * 60)})
        yield found


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return Warehouse.parse(str(tmp_path_factory.mktemp("audited") / "warehouse"))


@pytest.fixture(scope="module")
def expected(spark: SparkSession, audited: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The content of the tables after one undisturbed `run` over the two hours."""
    history(spark, audited, broken_rows=0, hours=3)
    broken = [membership(2 * 3600 + 10 * number + 605, "x", group="") for number in range(3)]
    load(spark, audited, {MEMBERSHIP_SNAPSHOTS: broken})
    copy = Warehouse.parse(str(tmp_path_factory.mktemp("undisturbed") / "warehouse"))
    shutil.copytree(audited.location, copy.location)
    return dict(run(spark, copy, TWO_HOURS, Configuration()).run["content_hashes"])


@pytest.fixture(scope="module")
def backfilled(airflow_runs: RunningAirflow, audited: Warehouse, expected: dict[str, str]) -> RunningAirflow:
    """Three hours, two at once; one audit is killed with all of its processes, one Spark while it publishes."""
    conf = {"spark.driver.memory": "1g"}
    airflow_runs.set_variables({"warehouse": audited.location, "spark_conf": json.dumps(conf)})
    airflow_runs.connect_spark("local[2]")
    airflow_runs.unpause()
    airflow_runs.backfill("2026-03-01T10:00:00Z", "2026-03-01T12:00:00Z", at_once=2)
    until(lambda: all(spark_of(run_id, "audit") for run_id in (FIRST, SECOND)))
    until((Path(audited.location) / "_staging" / f"{staging(audited)}_results").exists, every=0.1)
    kill_with_worker(spark_of(FIRST, "audit")[0])
    until(lambda: is_publishing(audited, "2026-03-01T11:00"), every=0.1)
    for process in spark_of(SECOND, "publish"):
        process.kill()
    for run_id in (FIRST, SECOND, THIRD):
        until(lambda run_id=run_id: airflow_runs.run_state(run_id) in ("success", "failed"))  # type: ignore[misc]
    return airflow_runs


def staging(warehouse: Warehouse) -> str:
    """Under which name the first hour is staged."""
    hour = RunSpec(Interval.parse("2026-03-01T10:00/2026-03-01T11:00"))
    return staging_of(FIRST, hour)


def is_publishing(warehouse: Warehouse, hour: str) -> bool:
    claims = [path.read_text() for path in Path(warehouse.location, "_claims").glob("*.json")]
    return any(hour in claim for claim in claims)


def kill_with_worker(process: psutil.Process) -> None:
    """And Airflow's processes for the task: nobody is left who could tell the scheduler."""
    (worker,) = (one for one in process.parents() if "LocalExecutor" in " ".join(one.cmdline()))
    for one in (worker, *worker.children(recursive=True)):
        one.kill()


def hashes(spark: SparkSession, warehouse: Warehouse) -> dict[str, str]:
    return {t.name: content(warehouse.read(spark, t).where(TWO_HOURS.replaces(t))).hash for t in OUTPUTS}


def test_two_runs_at_once_and_two_kills_leave_the_tables_of_one_run(
    spark: SparkSession, audited: Warehouse, backfilled: RunningAirflow, expected: dict[str, str]
) -> None:
    once, again = ("success", 1), ("success", 2)
    others = {"wait_for_sources": once, "notify": once, "notify_of_failure": ("skipped", 0)}
    assert backfilled.tasks(FIRST) == {"audit": again, "publish": once, **others}
    assert backfilled.tasks(SECOND) == {"audit": once, "publish": again, **others}
    assert hashes(spark, audited) == expected


def test_a_closed_gate_fails_its_task_once_and_says_why(
    spark: SparkSession, audited: Warehouse, backfilled: RunningAirflow
) -> None:
    once, nothing = ("success", 1), ("upstream_failed", 0)
    before = {"wait_for_sources": once, "audit": ("failed", 1), "publish": nothing}
    expected = {**before, "notify": nothing, "notify_of_failure": once}
    assert backfilled.tasks(THIRD) == expected
    says = "membership_snapshots: few_rows_are_quarantined failed in the step 2026-03-01T12:00Z"
    assert says in backfilled.log(THIRD, "audit")
    rejected = audited.read(spark, AUDIT_RUNS).where("outcome = 'rejected'").collect()
    assert len(rejected) == 1
    assert audited.read(spark, FINDINGS).where("started_at >= '2026-03-01 12:00:00'").count() == 0


def test_the_hour_that_has_just_ended_waits_and_takes_no_worker(backfilled: RunningAirflow) -> None:
    runs = [run_id for run_id in backfilled.runs() if run_id.startswith("scheduled__")]
    until(lambda: all(backfilled.tasks(run_id)["wait_for_sources"][0] == "deferred" for run_id in runs), 60)
    assert runs


def test_a_cleared_run_changes_no_row_and_sends_nothing_again(
    spark: SparkSession, audited: Warehouse, backfilled: RunningAirflow, expected: dict[str, str], told: Path
) -> None:
    # The twins are the root of the others.
    messages = {
        "rebalance-audit c: 1 incident opened; DUPLICATE_CLIENT_ID",
        "rebalance-audit c: nothing was published of 2026-03-01T12:00Z/2026-03-01T13:00Z; QUALITY_GATE",
    }
    assert {*told.read_text().splitlines()} == messages
    backfilled.clear(FIRST, "audit")
    until(lambda: backfilled.run_state(FIRST) == "running")
    until(lambda: backfilled.run_state(FIRST) != "running")
    assert set(backfilled.states(FIRST)) == {"success", "skipped"}
    assert hashes(spark, audited) == expected
    assert told.read_text().count("\n") == 2


@pytest.fixture(scope="module")
def standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a master with two workers."""
    folder = tmp_path_factory.mktemp("standalone")
    with started(
        "-m", "tests.end_to_end.dags.standalone", env=os.environ | {"PYTHONPATH": str(ROOT)}, cwd=folder
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()


def test_on_a_standalone_cluster_spark_drives_from_the_worker_which_sends_the_notice(
    spark: SparkSession, airflow_runs: RunningAirflow, standalone: str, told: Path, tmp_path: Path
) -> None:
    other = Warehouse.parse(str(tmp_path / "warehouse"))
    history(spark, other)
    told.unlink(missing_ok=True)
    conf = {"spark.driver.memory": "1g", "spark.driver.host": "127.0.0.1", "spark.pyspark.python": sys.executable}
    airflow_runs.set_variables({"warehouse": other.location, "spark_conf": json.dumps(conf)})
    airflow_runs.connect_spark(standalone, **{"deploy-mode": "cluster"})
    airflow_runs.unpause()
    airflow_runs.trigger("by_hand", "2026-03-01T10:00:00Z", "2026-03-01T11:00:00Z")
    until(lambda: airflow_runs.run_state("by_hand") == "failed")
    assert airflow_runs.tasks("by_hand")["audit"] == ("failed", 1)
    assert "standalone" in airflow_runs.log("by_hand", "audit")
    airflow_runs.connect_spark(standalone, **{"deploy-mode": "client"})
    airflow_runs.clear("by_hand", "audit")
    until(lambda: airflow_runs.run_state("by_hand") == "success")
    assert airflow_runs.tasks("by_hand")["publish"] == ("success", 1)
    assert f"--master {standalone} " in airflow_runs.log("by_hand", "publish")
    assert sorted(row.rule for row in other.read(spark, FINDINGS).collect()) == RULES
    assert told.read_text() == "rebalance-audit c: 1 incident opened; DUPLICATE_CLIENT_ID\n"


def test_two_fleets_are_audited_at_once_each_into_its_own_warehouse(
    spark: SparkSession, airflow_runs: RunningAirflow, fleets: dict[str, Warehouse]
) -> None:
    hours, ends = {"eu": 1, "us": 2}, {"eu": "2026-03-01T11:00:00Z", "us": "2026-03-01T12:00:00Z"}
    airflow_runs.set_variables({"spark_conf": json.dumps({"spark.driver.memory": "1g"})})
    airflow_runs.connect_spark("local[1]")
    of_fleets = {name: replace(airflow_runs, dag=f"{name}_hourly") for name in fleets}
    for name, of_fleet in of_fleets.items():
        history(spark, fleets[name], hours=hours[name])
        of_fleet.unpause()
        of_fleet.trigger(name, "2026-03-01T10:00:00Z", ends[name])
    until(lambda: {of_fleet.run_state(name) for name, of_fleet in of_fleets.items()} <= {"success", "failed"})
    states = [sorted(map(str, of_fleet.states(name))) for name, of_fleet in of_fleets.items()]
    # Nothing failed, so that nothing is sent of a failure.
    assert states == [["skipped", *["success"] * 4]] * 2
    audited = {name: fleet.read(spark, AUDIT_RUNS).select("interval_end").collect() for name, fleet in fleets.items()}
    assert {name: [f"{end:%FT%TZ}" for (end,) in rows] for name, rows in audited.items()} == {
        name: [end] for name, end in ends.items()
    }
