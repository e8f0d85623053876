"""Airflow reads these tasks, edges, settings and commands from the DAG files."""

import json
from typing import Any

import pytest

from schemas import OUTPUTS
from tests.end_to_end.dags.conftest import DAGS, ROOT, Airflow

TABLES = [f"rebalance_audit_{table.name}" for table in OUTPUTS]
SOURCES = [f"rebalance_audit_{name}_snapshots" for name in ("membership", "route", "offset", "client", "topic")]
HOUR, DAY = 3600.0, 86400.0


@pytest.fixture(scope="module")
def described(airflow: Airflow) -> dict[str, Any]:
    variables = {"warehouse": "s3a://lake/audit", "config": "/etc/rebalance-audit.yaml"}
    text = "{{ title }}; {{ text.splitlines()[0] }} {{ notices | map(attribute='rule') | join(' ') }} of {{ cluster }}"
    told = {"path": str(airflow.home / "told.txt"), "text": text}
    notifier = {"class": "tests.end_to_end.dags.notifier:FileNotifier", "kwargs": told, "severity": "ERROR"}
    variables["notifier"] = json.dumps(notifier)
    said = airflow(str(ROOT / "tests" / "end_to_end" / "dags" / "describe.py"), variables=variables)
    assert said.returncode == 0, said.stdout
    document: dict[str, Any] = json.loads(said.stdout.splitlines()[-1])
    return document


def task(
    *then: str, kind: str = "AuditOperator", timeout: float = 2 * HOUR, when: str = "all_success"
) -> dict[str, Any]:
    lineage: dict[str, Any] = {"inlets": [], "outlets": []}
    return {"type": kind, "then": [*then], "retries": 2, "timeout": timeout, "when": when} | lineage


def dag(cron: str, at_once: int, tasks: dict[str, Any]) -> dict[str, Any]:
    always = {"owner": "rebalance-audit", "start": "2026-01-01T00:00:00+00:00", "catchup": False}
    schedule = ["CronDataIntervalTimetable", cron]
    return always | {"max_active_runs": at_once, "schedule": schedule, "tasks": tasks}


def test_dags_are_these_and_no_others(described: dict[str, Any]) -> None:
    assert described["errors"] == {}
    assert described["dags"] == {
        "rebalance_audit_hourly": dag(
            "0 * * * *",
            4,
            {
                "wait_for_sources": task("audit", kind="SourcesSensor", timeout=HOUR),
                "audit": task("publish") | {"inlets": SOURCES},
                "publish": task("notify", "notify_of_failure") | {"outlets": TABLES},
                "notify": task(kind="NotifyOperator"),
                "notify_of_failure": task(kind="NotifyOperator", when="one_failed"),
            },
        ),
        "rebalance_audit_late": dag(
            "30 3 * * *", 1, {"audit_late_steps": task() | {"inlets": SOURCES, "outlets": TABLES}}
        ),
        "rebalance_audit_missing": dag(
            "45 * * * *", 1, {"audit_missing_steps": task() | {"inlets": SOURCES, "outlets": TABLES}}
        ),
        "rebalance_audit_maintain": dag("30 4 * * *", 1, {"maintain": task(timeout=6 * HOUR)}),
    }


def test_commands_are_those_of_the_checked_in_file(described: dict[str, Any]) -> None:
    expected = (ROOT / "tests" / "end_to_end" / "dags" / "commands.txt").read_text(encoding="utf-8")
    assert "".join(f"{name}\n  {said}\n" for name, said in sorted(described["commands"].items())) == expected


def test_every_task_is_documented(described: dict[str, Any]) -> None:
    assert described["undocumented"] == []


def test_the_forms_of_late_and_maintain_have_a_dry_run(described: dict[str, Any]) -> None:
    assert described["by form"] == {
        "late": (
            "late --warehouse=s3a://lake/audit --interval=2026-11-01/2026-11-02 --config=/etc/rebalance-audit.yaml "
            "--dry-run"
        ),
        "maintain": (
            "maintain --warehouse=s3a://lake/audit --dry-run --keep-snapshots=forever --keep-results=400d "
            "--keep-quarantine=400d"
        ),
    }


def test_other_fleets_are_a_line_each_with_their_own_warehouse_and_operator(described: dict[str, Any]) -> None:
    fleets = described["fleets"]
    assert fleets["errors"] == {}
    assert fleets["dags"] == [
        f"{name}_{dag}" for name in ("cn", "eu", "us") for dag in ("hourly", "late", "maintain", "missing")
    ]
    words = (
        "task audit --warehouse=s3a://lake/{} --interval=2026-11-21T02:00:00Z/2026-11-21T03:00:00Z "
        "--run=scheduled__2026-11-21T02:00:00+00:00 --cluster= --group= --config={}"
    )
    assert fleets["eu"] == {
        "schedule": "0 * * * *",
        "operator": "AuditOperator",
        "words": words.format("eu", "/etc/eu.yaml"),
        "connection": "spark_eu",
        "waits for": "s3a://lake/eu /etc/eu.yaml",
        "inlets": "eu_membership_snapshots s3a://lake/eu/membership_snapshots",
        "outlets": "eu_backlog s3a://lake/eu/backlog",
    }
    assert fleets["us"] == {
        "schedule": "15 * * * *",
        "operator": "CommandOperator",
        "words": words.format("us", ""),
        "connection": None,
        "waits for": "s3a://lake/us",
        "inlets": "us_membership_snapshots s3a://lake/us/membership_snapshots",
        "outlets": "us_backlog s3a://lake/us/backlog",
    }
    assert fleets["cn"]["operator"] == "PodOperator"
    assert fleets["cn"]["words"] == words.format("cn", "")


def test_a_local_spark_starts_as_that_of_the_command_line_and_standalone_has_no_mode_cluster(
    described: dict[str, Any],
) -> None:
    refused = (
        "AirflowFailException: a standalone cluster runs Python in deploy mode client only: take the deploy-mode "
        "cluster out of the extra of the connection spark_default"
    )
    assert described["submitted"] == {
        "local": "bindAddress enabled extraClassPath extraJavaOptions host memory pageSize parallelism",
        "local, own options": "jars extraJavaOptions",
        "standalone": "jars memory",
        "standalone, cluster": refused,
        "standalone by scheme, cluster": refused,
        "yarn, cluster": "jars",
    }


def test_notifications_are_sent_once_and_severe_incidents_fail_the_task(
    described: dict[str, Any], airflow: Airflow
) -> None:
    assert described["notified"] == {
        "nobody": "done",
        "routed": "AirflowException: /nowhere/g.url: /nowhere/g.url does not exist. Check its name",
        "fails": "FileNotFoundError: [Errno 2] No such file or directory: '/nowhere/told.txt'",
        "tells": "done",
        "again": "done",
        "gate": "AirflowFailException: incidents of severity ERROR at least: 1",
        "no gate": "done",
        "over": "done",
    }
    told = "ERROR No consumer of G is connected GROUP_OFFLINE of c\n"
    assert (airflow.home / "told.txt").read_text() == (
        f"rebalance-audit c: 1 incident opened; OPENED {told}rebalance-audit c: 1 incident resolved; RESOLVED {told}"
    )


def test_sources_are_waited_for_until_they_have_come_or_the_time_of_grace_is_over(described: dict[str, Any]) -> None:
    assert described["sensed"] == {
        "no table": "AirflowException: there is no table membership_snapshots in the warehouse",
        "nothing known": "deferred for 3600 s, then look",
        "missing": "deferred for 30 s, then look",
        "too late": "done",
        "given up": "done after 0:10:00",
        "come": "done",
    }


def test_reading_the_files_costs_next_to_nothing(described: dict[str, Any]) -> None:
    """At most a second beside Airflow itself, and nothing of Spark: the processor reads them every half minute."""
    assert described["heavy"] == []
    assert described["imported_in"] < 1


def test_dag_files_are_at_most_sixty_lines() -> None:
    assert {path.name for path in DAGS.glob("*.py") if len(path.read_text().splitlines()) > 60} == {
        "rebalance_audit_tasks.py",
        "rebalance_audit_factory.py",
    }
