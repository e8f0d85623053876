"""A real Airflow runs the DAG: real spark-submits, real Delta tables."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from schemas import AUDIT_RUNS, FINDINGS, OUTPUTS
from spark_jobs.config import Configuration
from spark_jobs.jobs.run import RunRequest, run
from spark_jobs.publish.content import content
from spark_jobs.warehouse import Warehouse
from tests.dags.conftest import Airflow
from tests.jobs.test_tasks import RULES, history
from tests.snapshots import HOUR

pytestmark = pytest.mark.slow

#: `dags test` takes the hour that ended then.
HOUR_FROM_TEN = ("-m", "airflow", "dags", "test", "rebalance_audit_hourly", "2026-03-01T11:00:00+00:00")


@pytest.fixture(scope="module", autouse=True)
def database(airflow: Airflow) -> None:
    made = airflow("-m", "airflow", "db", "migrate")
    assert made.returncode == 0, made.stdout


def test_a_run_publishes_what_one_run_of_the_command_line_does_and_tells_of_it(
    spark: SparkSession, warehouse: Warehouse, airflow: Airflow, tmp_path: Path
) -> None:
    history(spark, warehouse)
    copy = Warehouse.parse(str(tmp_path / "copy"))
    shutil.copytree(warehouse.location, copy.location)
    told = tmp_path / "told.txt"
    text = "{{ title }}; {{ notices | map(attribute='rule') | join(' ') }} of {{ run_id.split('__')[0] }}"
    notifier = {"class": "tests.dags.notifier:FileNotifier", "kwargs": {"path": str(told), "text": text}}
    ran = airflow(*HOUR_FROM_TEN, variables={"warehouse": warehouse.location, "notifier": json.dumps(notifier)})
    assert ran.returncode == 0, ran.stdout[-5000:]
    published = run(spark, copy, RunRequest(HOUR), Configuration())
    assert {t.name: content(warehouse.read(spark, t)).hash for t in OUTPUTS} == published.run["content_hashes"]
    rules = [row.rule for row in warehouse.read(spark, FINDINGS).orderBy("start", "finding_id").collect()]
    assert sorted(rules) == RULES
    # The twins are the root of the others.
    assert told.read_text() == "rebalance-audit c: 1 incident opened; DUPLICATE_CLIENT_ID of manual\n"


def test_a_closed_gate_fails_its_task_once_and_says_why(
    spark: SparkSession, warehouse: Warehouse, airflow: Airflow
) -> None:
    history(spark, warehouse, broken_rows=3)
    ran = airflow(*HOUR_FROM_TEN, variables={"warehouse": warehouse.location})
    assert ran.returncode != 0
    assert "membership_snapshots: few_rows_are_quarantined failed in the step 2026-03-01T10:00Z" in ran.stdout
    assert [row.outcome for row in warehouse.read(spark, AUDIT_RUNS).collect()] == ["rejected"]
    assert not warehouse.exists(spark, FINDINGS)
