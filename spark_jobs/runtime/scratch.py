"""The folder of temporary files of a process and its Java; what a killed one has left is removed by the next."""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from uuid import uuid4

from filelock import FileLock, Timeout

_PREFIX = "rebalance-audit-java-"


@cache
def scratch_folder() -> Path:
    """A new folder, which is this process's as long as it lives."""
    root = Path(tempfile.gettempdir())
    _remove_those_of_the_dead(root)
    folder = root / f"{_PREFIX}{uuid4().hex}"
    _lock(folder).acquire()
    folder.mkdir(mode=0o700)
    return folder


@contextmanager
def temporary_files_in(folder: Path) -> Iterator[None]:
    """Libraries put theirs there, too: PySpark has some while Java starts, which a killed process would leave."""
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before


@cache
def _lock(folder: Path) -> FileLock:
    """The lock of a folder; the cache keeps it held."""
    return FileLock(folder.with_suffix(".lock"))


def _remove_those_of_the_dead(root: Path) -> None:
    for path in root.glob(f"{_PREFIX}*.lock"):
        with suppress(Timeout, OSError):  # it is alive, or gone
            status = path.lstat()
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid():
                continue  # the temporary folder is everybody's: a link, or the file of another user, is not opened
            lock = FileLock(path)
            lock.acquire(timeout=0)
            shutil.rmtree(path.with_suffix(""), ignore_errors=True)
            path.unlink()
            lock.release()
