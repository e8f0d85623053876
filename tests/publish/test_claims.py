"""Who may publish what, and that a killed run blocks nobody."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest
from filelock import FileLock

from spark_jobs.domain.model.intervals import Interval
from spark_jobs.errors import PublishConflictError
from spark_jobs.pipeline.publish.claims import claim, claim_notices, claim_task, claim_turn, claims_of, drop_dead_claims
from spark_jobs.pipeline.publish.request import RunRequest
from spark_jobs.store.warehouse import Warehouse

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
        assert len(list(folder.glob("run-first.*"))) == 1
    holder.join(timeout=10)
    assert list(folder.glob("run-first.*")) == []


#: A process that is killed while it holds a claim.
KILLED = """
import os, signal, sys
from spark_jobs.pipeline.publish.claims import claim_task
from spark_jobs.store.warehouse import Warehouse
with claim_task(Warehouse.parse(sys.argv[1]), "killed", "staging"):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_leaves_blocks_nobody_and_is_removed(warehouse: Warehouse) -> None:
    assert warehouse.local_path is not None
    folder = warehouse.local_path / "_claims"

    def killed() -> None:
        assert subprocess.run([sys.executable, "-c", KILLED, warehouse.location], check=False).returncode == -9
        assert len(list(folder.glob("task-staging.*.json"))) == 1

    killed()
    with claim_task(warehouse, "killed", "staging"):
        assert len(list(folder.glob("task-staging.*.json"))) == 1
    killed()
    drop_dead_claims(warehouse)
    assert [path.name for path in folder.iterdir()] == ["all.lock"]


def test_a_run_killed_while_it_claimed_leaves_nothing(warehouse: Warehouse) -> None:
    assert warehouse.local_path is not None
    folder = warehouse.local_path / "_claims"
    folder.mkdir(parents=True)
    (folder / "run-killed.json").touch()
    drop_dead_claims(warehouse)
    assert [path.name for path in folder.iterdir()] == ["all.lock"]


def test_who_is_refused_takes_nothing_from_the_holder_of_the_same_name(warehouse: Warehouse) -> None:
    with claim(warehouse, RunRequest(TEN), "same"):
        with pytest.raises(PublishConflictError), claim(warehouse, RunRequest(TEN), "same"):
            pass
        with pytest.raises(PublishConflictError), claim(warehouse, RunRequest(TEN), "other"):
            pass


def test_a_claim_that_cannot_be_written_is_none(warehouse: Warehouse) -> None:
    assert warehouse.local_path is not None
    content = warehouse.local_path / "_claims" / "run-first.json"
    content.mkdir(parents=True)
    with pytest.raises(IsADirectoryError), claim(warehouse, RunRequest(TEN), "first"):
        pass
    content.rmdir()
    with claim(warehouse, RunRequest(TEN), "second"):
        pass


def test_one_process_at_a_time_does_a_task_of_a_run(warehouse: Warehouse) -> None:
    with claim_task(warehouse, "scheduled__1", "staging"):
        drop_dead_claims(warehouse)
        with (
            pytest.raises(PublishConflictError, match="still doing a task of run scheduled__1: try again"),
            claim_task(warehouse, "scheduled__1", "staging"),
        ):
            pass
        with claim_task(warehouse, "scheduled__2", "other"):
            pass
    with claim_task(warehouse, "scheduled__1", "staging"):
        pass


def test_turns_wait_and_notes_stay(warehouse: Warehouse) -> None:
    claims = claims_of(warehouse)
    assert claims is not None
    with claim_turn(warehouse), claim_notices(warehouse), claim(warehouse, RunRequest(TEN), "first"):
        claims.write_note("first", "text")
    assert claims.notes() == {"first": "text"}
    drop_dead_claims(warehouse)
    assert claims.notes() == {"first": "text"}
    claims.drop_note("first")
    assert claims.notes() == {}
