"""The deployment has one set of values: Kubernetes, the DAGs, the pages and `watch`, which compose runs, agree."""

import ast
import os
import re
import subprocess
import time
from datetime import timedelta
from pathlib import Path

import pytest
import yaml

from spark_jobs.cli.environment import from_environment, with_environment
from spark_jobs.cli.main import build_parser
from spark_jobs.config.file import load
from spark_jobs.operate import watch
from tests.support.chart import pods

ROOT = Path(__file__).parents[3]
CHART = "deploy/helm/rebalance-audit"
FILES = (f"{CHART}/templates/audit.yaml", "docs/schedule.md")


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_each_runs_the_same_commands() -> None:
    for name in FILES:
        commands = set(re.findall(r"rebalance-audit (backfill|late|maintain|notify)\b", text(name)))
        assert commands == {"backfill", "late", "maintain", "notify"}, name


def test_each_looks_back_for_a_week() -> None:
    for name in FILES:
        assert set(re.findall(r"'(\d+ \w+) ago'", text(name))) == {"7 days"}, name
    assert "late_days` (7): days in which late snapshots count" in text("docs/airflow.md")
    assert timedelta(days=7) == watch._LOOKED_BACK


def test_each_begins_ten_minutes_past_the_hour() -> None:
    assert yaml.safe_load(text(f"{CHART}/values.yaml"))["audit"]["schedule"] == "10 * * * *"
    assert "\n10 * * * *  rebalance-audit backfill " in text("docs/schedule.md")


def test_late_and_maintain_are_daily() -> None:
    assert 'CronDataIntervalTimetable(cron, timezone="UTC")' in text("dags/rebalance_audit_factory.py")
    page = text("docs/schedule.md")
    assert '[ "$(date --utc +%H)" != 03 ] || { ' in text(f"{CHART}/templates/audit.yaml")
    assert watch._UPKEEP_HOUR == 3
    assert yaml.safe_load(text("deploy/compose.yaml"))["services"]["audit"]["command"] == ["watch"]
    (crons,) = re.findall("^HOURLY, LATE, MAINTAIN = (.*)$", text("dags/rebalance_audit_factory.py"), re.MULTILINE)
    for task, cron in zip(("late", "maintain"), ast.literal_eval(crons)[1:], strict=True):
        (schedule,) = re.findall(rf"^(\S+ \S+ \* \* \*)  rebalance-audit {task} ", page, re.MULTILINE)
        assert schedule == cron
        assert f"dag = {task}_dag(Fleet())" in text(f"dags/rebalance_audit_{task}.py")
        assert f"**`rebalance_audit_{task}`**, daily" in text("docs/airflow.md")


def probes() -> list[list[str]]:
    """The commands by which Kubernetes and Compose see whether recorded files are loaded."""
    (pod,) = pods("default")["recorder"]["containers"]
    kind, command = yaml.safe_load(text("deploy/compose.yaml"))["services"]["capture"]["healthcheck"]["test"]
    assert kind == "CMD-SHELL"
    return [pod["readinessProbe"]["exec"]["command"], ["sh", "-c", command.replace("$$", "$")]]


@pytest.mark.parametrize("command", probes())
def test_a_recorder_is_healthy_while_no_file_waits_for_half_an_hour(command: list[str], tmp_path: Path) -> None:
    """Files that are loaded, and the one that is being written, may be older."""

    def code() -> int:
        return subprocess.run(command, env=os.environ | {"REBALANCE_AUDIT_OUT": str(tmp_path)}, check=False).returncode

    def aged(name: str, minutes: float) -> None:
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (0, time.time() - 60 * minutes))

    (tmp_path / "loaded").mkdir()
    for name in ("loaded/1.jsonl.gz", "2.jsonl.gz.partial"):
        aged(name, 90)
    aged("3.jsonl.gz", 29)
    assert code() == 0
    aged("3.jsonl.gz", 32)
    assert code() == 1


#: What a user of compose can set, and a value.
VARIABLES = {
    "capture": (
        "NAMESRV=10.0.0.1:9876 CADENCE=60s TLS=true TLS_CONFIG=/etc/rebalance-audit/tls.properties "
        "KEEP_RECORDINGS=30d ROCKETMQ_ACCESS_KEY=auditor ROCKETMQ_SECRET_KEY=hush"
    ),
    "audit": "NOTIFY_URL=json://here KEEP_SNAPSHOTS=90d KEEP_RESULTS=forever KEEP_QUARANTINE=30d RETENTION_DAYS=7",
    "metrics": "",
}


@pytest.mark.parametrize("service", VARIABLES)
def test_compose_gives_each_variable_to_its_service_as_an_option_that_exists(service: str) -> None:
    described = yaml.safe_load(text("deploy/compose.yaml"))["services"][service]
    given = dict(pair.split("=") for pair in VARIABLES[service].split())
    environment = {
        name: re.sub(r"\$\{(\w+):[^}]*}", lambda variable: given[variable[1]], value)
        for name, value in described["environment"].items()
    }
    assert set(given.values()) <= set(environment.values())
    image = {"REBALANCE_AUDIT_WAREHOUSE": "/data/warehouse"}
    build_parser().parse_args(with_environment(described["command"], image | environment))
    options = {name for name in environment if name.startswith("REBALANCE_AUDIT_")} - {"REBALANCE_AUDIT_NOTIFY_URL"}
    assert options == from_environment(described["command"], environment).keys()
    assert given.keys() <= set(re.findall(r"\w+", text("deploy/compose.yaml").partition("\nname: ")[0]))


def test_compose_publishes_the_port_that_is_served() -> None:
    service = yaml.safe_load(text("deploy/compose.yaml"))["services"]["metrics"]
    served = service["environment"]["REBALANCE_AUDIT_SERVE"]
    assert service["ports"] == ["${METRICS_ADDRESS:-127.0.0.1:9108}" + served]
    assert f"http://127.0.0.1{served}/metrics" in service["healthcheck"]["test"][-1]
    assert "METRICS_ADDRESS" in text("deploy/compose.yaml").partition("\nname: ")[0]


def test_the_configuration_of_compose_is_valid_and_where_it_says() -> None:
    compose = yaml.safe_load(text("deploy/compose.yaml"))
    (mount,) = (volume for volume in compose["x-image"]["volumes"] if volume.startswith("${CONFIG:-./config}:"))
    folder = mount.split(":")[2]
    assert compose["services"]["audit"]["environment"]["REBALANCE_AUDIT_CONFIG"] == f"{folder}/audit.yaml"
    assert load(str(ROOT / "deploy" / "config" / "audit.yaml")).cadence_seconds == 20


def test_memory_is_what_the_pages_say() -> None:
    (documented,) = set(re.findall(r"The documented limit is (\d+) GiB", text("docs/performance.md")))
    assert re.findall(r"limits: {memory: (\d+)Gi}", text(f"{CHART}/values.yaml")) == [documented] * 2
    for page in ("README.md", "docs/install.md"):
        assert f"3 GB of disk and {documented} GB of memory" in text(page)


def test_the_volume_is_what_the_page_on_costs_measured() -> None:
    (measured,) = re.findall(r"^\| all \| (\S+) \|$", text("docs/costs.md"), re.MULTILINE)
    assert f"[{measured} MB a day](costs.md#storage)" in text("docs/deploy.md")
    assert yaml.safe_load(text(f"{CHART}/values.yaml"))["volume"]["size"] == "50Gi"
    assert "the default 50 GiB" in text("docs/deploy.md")
