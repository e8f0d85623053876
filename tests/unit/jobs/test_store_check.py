"""`validate --store`: what a folder must be able to do for a warehouse; S3 is in `test_object_store.py`."""

from pathlib import Path
from typing import Any

import pytest

from spark_jobs.pipeline.publish import claims
from spark_jobs.pipeline.publish.claim_files import ClaimFiles
from spark_jobs.store.read.delta import DeltaTables
from tests.support.commands import Typed

append = DeltaTables.append


def test_a_folder_that_can_hold_a_warehouse_is_left_as_it_was(tmp_path: Path, typed: Typed) -> None:
    (tmp_path / "mine").touch()
    printed = typed("validate --store", tmp_path)
    assert printed.lines == [f"Yes: {tmp_path} can hold a warehouse."]
    assert printed.err.splitlines()[-4:] == [
        "two writers commit to one table at once",
        "two runs begin at once, and one gets the lock",
        "a run that loses its lock is stopped",
        "what was written is removed",
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("place", ["file", "nowhere"])
def test_a_folder_that_does_not_exist_is_named(place: str, tmp_path: Path, typed: Typed) -> None:
    (tmp_path / "file").touch()
    error = typed("validate --store", tmp_path / place, code=3).err
    assert f"there is no folder {tmp_path / place}: create it, or check the path" in error
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("store", ["gs://lake/audit", "lake.audit"])
def test_a_store_without_locks_is_refused(store: str, typed: Typed) -> None:
    assert (
        f"checks a folder or S3, and {store} is neither: other stores have no locks"
        in typed("validate --store", store, code=3).err
    )


def test_a_folder_that_cannot_be_written(tmp_path: Path, typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(path: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "mkdir", forbidden)
    assert f"this user may not write in the warehouse ({tmp_path}" in typed("validate --store", tmp_path, code=4).err


def loses_commits(tables: DeltaTables, table: Any, rows: Any) -> None:
    append(tables, table, [row for row in rows if (row["writer"], row["number"]) != ("b", 3)])


BROKEN = {
    "of 10 commits that two writers made at once, {} has 9": (DeltaTables, "append", loses_commits),
    "of two runs that began at once, 2 got the lock in {}": (claims, "claims_of", lambda _: None),
    "a lock in {} was removed, and the run that held it still found it": (ClaimFiles, "has", lambda *_: True),
}


@pytest.mark.parametrize("error", BROKEN)
def test_what_is_missing_is_named(error: str, tmp_path: Path, typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*BROKEN[error])
    printed = typed("validate --store", tmp_path, code=3)
    before, _, after = error.partition("{}")
    assert f"{before}{tmp_path}/_store_check_" in printed.err
    assert after in printed.err
    assert (printed.out, [*tmp_path.iterdir()]) == ("", [])
