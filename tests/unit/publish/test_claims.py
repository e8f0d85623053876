"""Locks of steps, in a folder and in an object store (here in memory); a killed run blocks nobody."""

import subprocess
import sys
import threading
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest
from filelock import FileLock
from obstore.store import MemoryStore

from spark_jobs.domain.model.intervals import Interval
from spark_jobs.errors import PublishConflictError, WarehouseError
from spark_jobs.pipeline.publish import claims, leases
from spark_jobs.pipeline.publish.claims import claim, claim_notices, claim_task, claim_turn, claims_of, drop_dead_claims
from spark_jobs.pipeline.run_spec import RunSpec
from spark_jobs.store.location import Location
from spark_jobs.store.warehouse import Warehouse
from tests.support.full_disk import no_room

TEN = Interval.parse("2026-03-01T10:00/2026-03-01T11:00")
ELEVEN = Interval.parse("2026-03-01T11:00/2026-03-01T12:00")
BOTH = Interval(TEN.start, ELEVEN.end)


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    """An empty folder."""
    return Warehouse.parse(str(tmp_path))


@pytest.fixture(params=["folder", "s3"])
def place(request: pytest.FixtureRequest, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> Location:
    if request.param == "folder":
        return warehouse
    store = MemoryStore()
    monkeypatch.setattr(leases, "object_store", lambda _: store)
    monkeypatch.setattr(claims, "_AT_ONCE", 0.2)
    return Location.parse("s3a://bucket/audit")


def take(claimed: AbstractContextManager[object]) -> None:
    """Holds a claim for a moment."""
    with claimed:
        pass


@pytest.mark.parametrize(
    ("first", "second", "refused"),
    [
        (RunSpec(TEN), RunSpec(ELEVEN), False),
        (RunSpec(TEN), RunSpec(BOTH), True),
        (RunSpec(TEN, "c"), RunSpec(TEN, "d"), False),
        (RunSpec(TEN, "c", "g"), RunSpec(TEN, "c"), True),
        (RunSpec(TEN, "c", "g"), RunSpec(TEN, "c", "h"), False),
        (RunSpec(TEN, "c", "g", "t"), RunSpec(TEN, "c", "g", "u"), True),
    ],
)
def test_overlapping_runs_exclude_each_other(place: Location, first: RunSpec, second: RunSpec, refused: bool) -> None:
    refuses = pytest.raises(PublishConflictError, match="run first is auditing") if refused else nullcontext()
    with claim(place, first, "first"), refuses:
        take(claim(place, second, "second"))
    take(claim(place, second, "third"))


@pytest.fixture
def folder(warehouse: Warehouse) -> Path:
    assert warehouse.local_path is not None
    return warehouse.local_path / "_claims"


def test_who_looks_at_the_claims_sees_none_half_gone(warehouse: Warehouse, folder: Path) -> None:
    held, ends = threading.Event(), threading.Event()

    def hold() -> None:
        with claim(warehouse, RunSpec(TEN), "first"):
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


def test_what_a_killed_process_leaves_blocks_nobody_and_is_removed(warehouse: Warehouse, folder: Path) -> None:
    def killed() -> None:
        assert subprocess.run([sys.executable, "-c", KILLED, warehouse.location], check=False).returncode == -9
        assert len(list(folder.glob("task-staging.*.json"))) == 1

    killed()
    with claim_task(warehouse, "killed", "staging"):
        assert len(list(folder.glob("task-staging.*.json"))) == 1
    killed()
    drop_dead_claims(warehouse)
    assert [path.name for path in folder.iterdir()] == ["all.lock"]


def test_a_run_killed_while_it_claimed_leaves_nothing(warehouse: Warehouse, folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "run-killed.json").touch()
    drop_dead_claims(warehouse)
    assert [path.name for path in folder.iterdir()] == ["all.lock"]


def test_who_is_refused_takes_nothing_from_the_holder_of_the_same_name(warehouse: Warehouse) -> None:
    with claim(warehouse, RunSpec(TEN), "same"):
        for name in ("same", "other"):
            with pytest.raises(PublishConflictError):
                take(claim(warehouse, RunSpec(TEN), name))


def test_a_claim_that_cannot_be_written_is_none(warehouse: Warehouse, folder: Path) -> None:
    content = folder / "run-first.json"
    content.mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        take(claim(warehouse, RunSpec(TEN), "first"))
    content.rmdir()
    take(claim(warehouse, RunSpec(TEN), "second"))


def test_a_claim_for_which_there_is_no_room_is_none(warehouse: Warehouse, folder: Path) -> None:
    """Not even while its error is looked at."""
    with no_room(), pytest.raises(OSError, match="File too large") as error:
        take(claim(warehouse, RunSpec(TEN), "first"))
    take(claim(warehouse, RunSpec(TEN), "second"))
    assert error.value.errno
    assert list(folder.glob("*.json")) == []


def test_one_process_at_a_time_does_a_task_of_a_run(place: Location) -> None:
    with claim_task(place, "scheduled__1", "staging"):
        drop_dead_claims(place)
        with pytest.raises(PublishConflictError, match="still doing a task of run scheduled__1: try again"):
            take(claim_task(place, "scheduled__1", "staging"))
        take(claim_task(place, "scheduled__2", "other"))
    take(claim_task(place, "scheduled__1", "staging"))


def test_one_process_at_a_time_sends_notices(place: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "_NOTICES_TIMEOUT", 0.2)
    refused = pytest.raises(PublishConflictError, match="has been sending notifications")
    with claim_notices(place), claim(place, RunSpec(TEN), "beside"), refused:
        take(claim_notices(place))
    take(claim_notices(place))


def test_turns_wait_and_notes_stay(place: Location) -> None:
    kept = claims_of(place)
    assert kept is not None
    with claim_turn(place), claim_notices(place), claim(place, RunSpec(TEN), "first") as held:
        kept.write_note("first", "text")
        held.check()
    with pytest.raises(WarehouseError, match="is not there any more"):
        held.check()
    drop_dead_claims(place)
    assert kept.notes() == {"first": "text"}
    kept.drop_note("first")
    assert kept.notes() == {}


def test_a_claim_makes_no_folder_of_a_warehouse_that_is_missing(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    take(claim_notices(Location.parse(str(missing))))
    assert not missing.exists()
