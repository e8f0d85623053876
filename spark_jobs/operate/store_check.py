"""`validate --store`: what a warehouse needs of its store, tried in a folder that is removed again.

The folder is written, locked and read as a warehouse is, without Java. Runs commit through Java, by the same
conditional write.
"""

from __future__ import annotations

import shutil
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from schemas import Table
from schemas.types import LONG, STRING, Struct, required
from spark_jobs.domain.model.intervals import EVER
from spark_jobs.errors import PublishConflictError, WarehouseError
from spark_jobs.pipeline.publish.claims import claim
from spark_jobs.pipeline.run_spec import RunSpec
from spark_jobs.store.location import Location
from spark_jobs.store.read.delta import DeltaTables, is_surely_reached

_SCRATCH = "_store_check"
_COMMITS = 5
_TABLE = Table(
    "commits",
    "One row per commit of the check",
    Struct(required("writer", STRING, "name of the writer"), required("number", LONG, "of its commits")),
    key=("writer", "number"),
)
#: Seconds that one of two writers waits for the other.
_WAITED = 60.0


def check_store(location: Location, progress: Callable[[str], None]) -> Sequence[str]:
    """The checks that the store passed: all. Raises `WarehouseError`, `PublishError` or `OSError` for the first that it
    does not pass, after what was written is removed.
    """
    if not is_surely_reached(location):
        raise WarehouseError(
            f"--store checks a folder or S3, and {location.location} is neither: other stores have no locks, so let "
            "one scheduler start all runs, and nothing else write"
        )
    if location.local_path is not None and not location.local_path.is_dir():
        raise WarehouseError(f"there is no folder {location.location}: create it, or check the path")
    scratch = Location.parse(f"{location.location}/{_SCRATCH}_{uuid.uuid4().hex}")
    try:
        for name, check in _CHECKS.items():
            progress(name)
            check(scratch)
    except BaseException:
        with suppress(Exception):  # what is wrong has been said
            _remove(scratch)
        raise
    return [*_CHECKS]


def _commit(scratch: Location) -> None:
    """Two writers append to one table as fast as they can: of each version one wins, and the other tries the next."""
    if scratch.local_path is not None:
        scratch.local_path.mkdir()
    else:
        from spark_jobs.store.s3.objects import check_puts  # a library of 15 MB, for warehouses on S3 only

        check_puts(scratch)
    tables = DeltaTables(scratch)
    tables.append(_TABLE, [])

    def write(writer: str) -> None:
        for number in range(_COMMITS):
            tables.append(_TABLE, [{"writer": writer, "number": number}])

    _at_once(write)
    rows = tables.read(_TABLE, _TABLE.columns).num_rows
    if rows != 2 * _COMMITS:
        raise WarehouseError(
            f"of {2 * _COMMITS} commits that two writers made at once, {scratch.location} has {rows}: one overwrote "
            "the other's. Use a store that creates a file only if it does not exist"
        )


def _lock(scratch: Location) -> None:
    """Two runs of the same steps begin at once; the one that gets the lock holds it until the other is refused."""
    locked, ended = list[str](), threading.Event()

    def run(name: str) -> None:
        try:
            with claim(scratch, RunSpec(EVER), name):
                locked.append(name)
                if len(locked) > 1:
                    ended.set()
                ended.wait(_WAITED)
        except PublishConflictError:
            ended.set()

    _at_once(run)
    if len(locked) != 1:
        raise WarehouseError(
            f"of two runs that began at once, {len(locked)} got the lock in {scratch.location}: use another store, or "
            "let one scheduler start all runs"
        )


def _lose_lock(scratch: Location) -> None:
    """A run holds a lock while another process takes it, or its folder vanishes."""
    with claim(scratch, RunSpec(EVER), "a") as claimed:
        claimed.check()
        if scratch.local_path is not None:
            shutil.rmtree(scratch.local_path / "_claims")
        else:
            from spark_jobs.pipeline.publish.leases import Leases

            Leases.of(scratch).take(claimed.name)
        try:
            claimed.check()
        except WarehouseError:
            return
    raise WarehouseError(
        f"a lock in {scratch.location} was removed, and the run that held it still found it: the store returns old "
        "content. Use one whose reads see every write"
    )


def _remove(scratch: Location) -> None:
    if scratch.local_path is not None:
        shutil.rmtree(scratch.local_path)
    else:
        from spark_jobs.store.s3.objects import remove_all

        remove_all(scratch)


def _at_once(write: Callable[[str], None]) -> None:
    """Let two writers begin at the same moment, and wait for both. Raise the first error."""
    start = threading.Barrier(2)

    def begin(writer: str) -> None:
        start.wait()
        write(writer)

    with ThreadPoolExecutor(max_workers=2) as pool:
        list(pool.map(begin, ("a", "b")))


#: In their order: the first makes what the others use, and the last removes it.
_CHECKS: Mapping[str, Callable[[Location], None]] = {
    "two writers commit to one table at once": _commit,
    "two runs begin at once, and one gets the lock": _lock,
    "a run that loses its lock is stopped": _lose_lock,
    "what was written is removed": _remove,
}
