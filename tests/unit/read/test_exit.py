"""A process that has read tables ends as it should, every time: its exit code is what a script goes by."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from schemas import AUDIT_RUNS, GROUP_STATUS, OUTPUTS
from spark_jobs.domain.model.intervals import Interval
from tests.support.stored import audit_run, write

HOUR = datetime(2026, 11, 21, 2, tzinfo=UTC)


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """A warehouse in which one run has published one group's hour."""
    for table in OUTPUTS:
        write(tmp_path, table, [])
    status: dict[str, Any] = {"step_start": HOUR, "cluster": "c", "consumer_group": "g", "bottleneck": "NO_BACKLOG"}
    write(tmp_path, GROUP_STATUS, [status | {"finding_count": 0, "unknown_queues": 0, "advice": "None."}])
    versions = {table.name: int(table is GROUP_STATUS) for table in OUTPUTS}
    write(tmp_path, AUDIT_RUNS, [audit_run(Interval(HOUR, HOUR + timedelta(hours=1)), versions)])
    return tmp_path


def ended(warehouse: Path, times: int) -> Counter[tuple[int, str]]:
    command = [sys.executable, "-m", "spark_jobs.cli", "status", "--warehouse", str(warehouse)]
    done = (subprocess.run(command, capture_output=True, check=False, text=True) for _ in range(times))
    return Counter((process.returncode, process.stdout.splitlines()[-1]) for process in done)


_STATUS_LINE = (0, "1 group; newest step 2026-11-21T02:00Z: 1 with unknown owners; --all shows them")


def test_status_ends_with_0(published: Path) -> None:
    assert ended(published, 3) == {_STATUS_LINE: 3}


@pytest.mark.slow
def test_status_ends_with_0_every_time(published: Path) -> None:
    """Another way of reading (pyarrow's datasets) has aborted one in twenty processes at their end."""
    assert ended(published, 250) == {_STATUS_LINE: 250}
