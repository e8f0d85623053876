"""Who may publish what, and that a killed run blocks nobody."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from filelock import FileLock

from spark_jobs.domain.intervals import Interval
from spark_jobs.errors import PublishConflictError
from spark_jobs.publish.claims import claim
from spark_jobs.publish.request import RunRequest
from spark_jobs.warehouse import Warehouse

TEN = Interval.parse("2026-03-01T10:00/2026-03-01T11:00")
ELEVEN = Interval.parse("2026-03-01T11:00/2026-03-01T12:00")
BOTH = Interval(TEN.start, ELEVEN.end)


@pytest.mark.parametrize(
    ("first", "second", "refused"),
    [
        (RunRequest(TEN), RunRequest(ELEVEN), False),
        (RunRequest(TEN), RunRequest(BOTH), True),
        (RunRequest(TEN, "c"), RunRequest(TEN, "d"), False),
        (RunRequest(TEN, "c", "g"), RunRequest(TEN, "c"), True),
        (RunRequest(TEN, "c", "g"), RunRequest(TEN, "c", "h"), False),
        (RunRequest(TEN, "c", "g", "t"), RunRequest(TEN, "c", "g", "u"), True),
    ],
)
def test_overlapping_requests_exclude_each_other(
    warehouse: Warehouse, first: RunRequest, second: RunRequest, refused: bool
) -> None:
    with claim(warehouse, first, "first"):
        if refused:
            with pytest.raises(PublishConflictError), claim(warehouse, second, "second"):
                pass
        else:
            with claim(warehouse, second, "second"):
                pass


def test_a_claim_ends_with_its_run(warehouse: Warehouse) -> None:
    with claim(warehouse, RunRequest(TEN), "first"):
        pass
    with claim(warehouse, RunRequest(TEN), "second"):
        pass


def test_who_looks_at_the_claims_sees_none_half_gone(warehouse: Warehouse) -> None:
    assert warehouse.local_path is not None
    folder = warehouse.local_path / "_claims"
    held, ends = threading.Event(), threading.Event()

    def hold() -> None:
        with claim(warehouse, RunRequest(TEN), "first"):
            held.set()
            ends.wait(timeout=10)

    holder = threading.Thread(target=hold)
    holder.start()
    assert held.wait(timeout=10)
    with FileLock(folder / "all.lock"):
        ends.set()
        holder.join(timeout=0.3)
        assert len(list(folder.glob("first.*"))) == 2
    holder.join(timeout=10)
    assert list(folder.glob("first.*")) == []


def test_a_killed_run_blocks_nobody(warehouse: Warehouse, tmp_path: Path) -> None:
    script = (
        "import os, signal\n"
        "from spark_jobs.domain.intervals import Interval\n"
        "from spark_jobs.publish.claims import claim\n"
        "from spark_jobs.publish.request import RunRequest\n"
        "from spark_jobs.warehouse import Warehouse\n"
        f"with claim(Warehouse.parse({warehouse.location!r}), RunRequest(Interval.parse({str(TEN)!r})), 'killed'):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    with claim(warehouse, RunRequest(TEN), "next"):
        assert warehouse.local_path is not None
        assert sorted(path.name for path in (warehouse.local_path / "_claims").glob("*.json")) == ["next.json"]
