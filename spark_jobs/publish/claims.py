"""Two runs must not publish the same steps at the same time.

A run holds a lock on a file that says what it is going to replace. The operating system lets go of the lock when the
process ends, however it ends, so a killed run blocks nobody.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from spark_jobs.domain.intervals import Interval
from spark_jobs.errors import PublishConflictError
from spark_jobs.location import Location
from spark_jobs.publish.request import RunRequest

_LOG = logging.getLogger(__name__)
#: How long one who tells of incidents waits for another one who does, in seconds.
_NOTICES_TIMEOUT = 60.0


@contextmanager
def claim(warehouse: Location, request: RunRequest, run_id: str) -> Iterator[None]:
    """Holds the request's steps for this run; raises `PublishConflictError` if another run holds some of them.

    Only a warehouse on a local or mounted file system can be claimed; elsewhere Delta's own conflict detection is
    what keeps two publishers of one step apart.
    """
    root = warehouse.local_path
    if root is None:
        yield
        return
    folder = root / "_claims"
    folder.mkdir(parents=True, exist_ok=True)
    own, everything = FileLock(folder / f"{run_id}.lock"), FileLock(folder / "all.lock")
    with everything:
        _check_unclaimed(folder, request)
        own.acquire()
        (folder / f"{run_id}.json").write_text(_to_json(request), encoding="utf-8")
    try:
        yield
    finally:
        with everything:  # whoever looks sees the claim whole or not at all
            (folder / f"{run_id}.json").unlink(missing_ok=True)
            own.release()
            Path(own.lock_file).unlink(missing_ok=True)


@contextmanager
def claim_notices(warehouse: Location) -> Iterator[None]:
    """Lets one process at a time read what was told, tell, and write down what it has told.

    The next one waits for it, and then has nothing to tell; raises `PublishConflictError` where that takes too long.
    Only of a warehouse on a local or mounted file system, as `claim`.
    """
    root = warehouse.local_path
    if root is None:
        yield
        return
    folder = root / "_claims"
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / "notices.lock")
    try:
        lock.acquire(timeout=_NOTICES_TIMEOUT)
    except Timeout:
        raise PublishConflictError(
            f"another process has been sending notices of {warehouse.location} for {_NOTICES_TIMEOUT:g} s: "
            "try again when it is done"
        ) from None
    try:
        yield
    finally:
        lock.release()


def drop_dead_claims(warehouse: Location) -> None:
    """Removes what killed runs have left in the folder of claims; claims that are held stay."""
    folder = warehouse.local_path / "_claims" if warehouse.local_path else None
    if folder and folder.is_dir():
        with FileLock(folder / "all.lock"):
            list(_held(folder))


def _check_unclaimed(folder: Path, request: RunRequest) -> None:
    for path in _held(folder):
        other = _from_json(path.read_text(encoding="utf-8"))
        if request.overlaps(other):
            raise PublishConflictError(
                f"run {path.stem} is auditing {other.interval} in this warehouse, which overlaps "
                f"{request.interval}: wait for it to end, or audit other steps"
            )


def _held(folder: Path) -> Iterator[Path]:
    """The claims of runs that are alive; those of killed runs are removed on the way."""
    for path in sorted(folder.glob("*.json")):
        lock = FileLock(path.with_suffix(".lock"))
        try:
            lock.acquire(timeout=0)
        except Timeout:
            yield path
        else:
            _LOG.warning("run %s was killed: its claim is removed", path.stem)
            path.unlink(missing_ok=True)
            lock.release()
            Path(lock.lock_file).unlink(missing_ok=True)


def _to_json(request: RunRequest) -> str:
    return json.dumps([str(request.interval), request.cluster, request.consumer_group, request.topic])


def _from_json(text: str) -> RunRequest:
    interval, cluster, consumer_group, topic = json.loads(text)
    return RunRequest(Interval.parse(interval), cluster, consumer_group, topic)
