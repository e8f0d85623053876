"""The example with every task in a pod: Airflow reads it, and each pod gets a command that exists."""

import json
from typing import Any

import pytest

from spark_jobs.cli.environment import with_environment
from spark_jobs.cli.main import build_parser
from tests.end_to_end.dags.conftest import ROOT, Airflow


@pytest.fixture(scope="module")
def described(airflow: Airflow) -> dict[str, Any]:
    pytest.importorskip(
        "airflow.providers.cncf.kubernetes", reason="apache-airflow-providers-cncf-kubernetes is missing"
    )
    said = airflow(str(ROOT / "tests" / "end_to_end" / "dags" / "pods.py"))
    assert said.returncode == 0, said.stdout
    document: dict[str, Any] = json.loads(said.stdout.splitlines()[-1])
    return document


def test_airflow_reads_the_example(described: dict[str, Any]) -> None:
    assert described["errors"] == {}
    assert described["types"] == ["DateTimeSensorAsync", "KubernetesPodOperator"]
    assert described["undocumented"] == []
    assert described["until"] == "2026-11-21 03:10:00+00:00"
    assert described["then"] == {
        "audit_hourly.wait": ["audit"],
        "audit_hourly.audit": ["publish"],
        "audit_hourly.publish": ["notify", "notify_of_failure"],
        "audit_hourly.notify": [],
        "audit_hourly.notify_of_failure": [],
        "audit_late.late": [],
        "audit_maintain.maintain": [],
    }


def test_each_pod_runs_a_command_that_exists(described: dict[str, Any]) -> None:
    of_run = "--interval=2026-11-21T02:00:00Z/2026-11-21T03:00:00Z --run=scheduled__2026-11-21T02:00:00+00:00"
    assert {name: " ".join(words) for name, words in described["words"].items()} == {
        "audit_hourly.audit": f"task audit {of_run}",
        "audit_hourly.publish": f"task publish {of_run}",
        "audit_hourly.notify": "notify",
        "audit_hourly.notify_of_failure": "notify",
        "audit_late.late": "late --interval=2026-11-14/2026-11-21 --fail-on=NEVER",
        "audit_maintain.maintain": "maintain --retention-days=30",
    }
    for words in described["words"].values():
        build_parser().parse_args(with_environment(words, {"REBALANCE_AUDIT_WAREHOUSE": "s3a://lake/audit"}))


def test_the_example_has_at_most_sixty_lines() -> None:
    assert len((ROOT / "examples" / "airflow_pods.py").read_text(encoding="utf-8").splitlines()) <= 60
