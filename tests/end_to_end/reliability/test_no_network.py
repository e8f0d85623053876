"""Everything that set-up fetched is enough: nothing asks the network at run time."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.end_to_end.release.environments import ALONE

pytestmark = pytest.mark.reliability

HOUR = "2026-11-21T02:00/2026-11-21T03:00"


def alone(*command: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*ALONE, *command], check=False, capture_output=True, text=True, cwd=folder, timeout=1800)


@pytest.fixture(scope="module", autouse=True)
def namespace() -> None:
    """Skips where a user may not make namespaces."""
    try:
        tried = alone("true")
    except FileNotFoundError:
        pytest.skip("there is no `unshare`: it makes a network without interfaces, on Linux")
    if tried.returncode:
        pytest.skip(f"this system lets nobody make a network namespace: {tried.stderr.strip()}")


def audit(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return alone(sys.executable, "-m", "spark_jobs.cli", *arguments, folder=folder)


def test_the_namespace_reaches_nothing() -> None:
    tried = alone(sys.executable, "-c", "import socket; socket.create_connection(('192.0.2.1', 80), 5)")
    assert "Network is unreachable" in tried.stderr


def test_the_demo_its_report_and_another_run_need_no_network(tmp_path: Path) -> None:
    demo = audit("demo", "--warehouse", "w", folder=tmp_path)
    assert demo.returncode == 0, demo.stderr
    incidents = audit("incidents", "--warehouse", "w", "--json", folder=tmp_path)
    assert json.loads(incidents.stdout)["incidents"]
    assert audit("run", "--warehouse", "w", "--interval", HOUR, folder=tmp_path).returncode == 1
    assert audit("status", "--warehouse", "w", folder=tmp_path).returncode == 1
    assert audit("report", "--warehouse", "w", "--interval", HOUR, "--out", "r.html", folder=tmp_path).returncode == 0
    assert (tmp_path / "r.html").stat().st_size > 100_000
    assert audit("maintain", "--warehouse", "w", folder=tmp_path).returncode == 0
