"""The deployment has one set of values: compose, Kubernetes, the DAGs and the pages agree."""

import ast
import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[3]
FILES = ("deploy/compose.yaml", "deploy/kubernetes/audit.yaml", "docs/schedule.md")


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


def test_each_begins_ten_minutes_past_the_hour() -> None:
    assert "sleep $$(( 600 + 3600 - " in text("deploy/compose.yaml")
    assert yaml.safe_load(text("deploy/kubernetes/audit.yaml"))["spec"]["schedule"] == "10 * * * *"
    assert "\n10 * * * *  rebalance-audit backfill " in text("docs/schedule.md")


def test_late_and_maintain_are_daily() -> None:
    assert 'CronDataIntervalTimetable(cron, timezone="UTC")' in text("dags/rebalance_audit_factory.py")
    page = text("docs/schedule.md")
    (crons,) = re.findall("^HOURLY, LATE, MAINTAIN = (.*)$", text("dags/rebalance_audit_factory.py"), re.MULTILINE)
    for task, cron in zip(("late", "maintain"), ast.literal_eval(crons)[1:], strict=True):
        (schedule,) = re.findall(rf"^(\S+ \S+ \* \* \*)  rebalance-audit {task} ", page, re.MULTILINE)
        assert schedule == cron
        assert f"dag = {task}_dag(Fleet())" in text(f"dags/rebalance_audit_{task}.py")
        assert f"**`rebalance_audit_{task}`**, daily" in text("docs/airflow.md")


def test_memory_is_what_the_pages_say() -> None:
    (documented,) = set(re.findall(r"The documented limit is (\d+) GiB", text("docs/performance.md")))
    for name in ("audit", "capture"):
        assert re.findall(r"limits: {memory: (\d+)Gi}", text(f"deploy/kubernetes/{name}.yaml")) == [documented]
    for page in ("README.md", "docs/install.md"):
        assert f"3 GB of disk and {documented} GB of memory" in text(page)
