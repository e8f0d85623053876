"""Type hints of the wheel: mypy checks another project's use of the API, and finds its mistakes."""

from pathlib import Path

import pytest

from tests.end_to_end.release.conftest import Built
from tests.end_to_end.release.environments import environment, must

pytestmark = pytest.mark.release

USES = """\
import rebalance_audit as ra
from prometheus_client import CollectorRegistry

warehouse = ra.open("warehouse")
names: list[str] = [row["consumer_group"] for row in warehouse.status()]
try:
    warehouse.explain("payment-service", at="2026-03-01T10:00")
except ra.UnknownNameError as error:
    code: int = error.exit_code
registry: CollectorRegistry = warehouse.metrics(cluster="eu")
"""
MISTAKES = """\
import rebalance_audit as ra

warehouse = ra.open(7)
warehouse.incidents(sinse="2026-03-01T10:00")
warehouse.explain("payment-service")
seconds: int = warehouse.status()
ra.close()
"""


def test_another_project_is_checked(built: Built, tmp_path: Path) -> None:
    project = environment(tmp_path)
    project.install(str(built.wheel), "mypy")
    for name, text in {"uses.py": USES, "mistakes.py": MISTAKES}.items():
        (project.here / name).write_text(text, encoding="utf-8")
    must(project("mypy", "--strict", "uses.py"))
    found = must(project("mypy", "--strict", "mistakes.py"), 1)
    assert [line.split(":")[1] for line in found.splitlines()[:-1] if ": error:" in line] == ["3", "4", "5", "6", "7"]
