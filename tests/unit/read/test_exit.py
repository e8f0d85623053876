"""A process that has read tables ends as it should, every time: its exit code is what a script goes by."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.support.published import publish_hours


def ended(warehouse: Path, times: int) -> Counter[tuple[int, str]]:
    command = [sys.executable, "-m", "spark_jobs.cli", "status", "--warehouse", str(warehouse)]
    done = (subprocess.run(command, capture_output=True, check=False, text=True) for _ in range(times))
    return Counter((process.returncode, process.stdout.splitlines()[-2]) for process in done)


@pytest.mark.parametrize("times", [3, pytest.param(250, marks=pytest.mark.slow)])
def test_status_ends_the_same_way_every_time(times: int, tmp_path: Path) -> None:
    """Old data are code 2. Another way of reading (pyarrow's datasets) has aborted one in twenty processes."""
    publish_hours(tmp_path, [0])
    last = "1 group of c, 2026-03-01T10:00Z/2026-03-01T11:00Z, 100 % observed."
    assert ended(tmp_path, times) == {(2, last): times}
