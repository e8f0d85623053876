"""Claims on a local or mounted file system: a locked file each, which the system unlocks when its process ends.

The Java of a killed process may still commit for some seconds. So Java locks a second file of each claim, and a
claim ends when both are unlocked.
"""

import fcntl
import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from filelock import FileLock

_LOG = logging.getLogger(__name__)
_CLAIM, _JAVA, _NOTE = ".json", ".java", ".note"
#: Seconds that others wait for the Java of a killed process to end.
_JAVA_ENDS = 60.0

#: Raises `PublishConflictError` where one of these claims (content by name) excludes the own one.
ConflictCheck = Callable[[Mapping[str, str]], None]


@dataclass(frozen=True)
class ClaimFiles:
    """The claims in a folder, as `claims.Claims` says. Whoever holds `all.lock` may make, remove and look at them."""

    folder: Path

    @contextmanager
    def hold(self, name: str, content: str, refuse: ConflictCheck) -> Iterator[None]:
        """See `Claims.hold`."""
        self.folder.mkdir(exist_ok=True)
        path = self.folder / f"{name}{_CLAIM}"
        self._wait_for_java_of_killed()
        with self._all():
            refuse(self._alive())
            file = path.open("x", encoding="utf-8")
            _lock(file)
            try:
                print(content, end="", file=file, flush=True)
            except OSError:  # others would read a claim without content
                path.unlink()
                raise
        try:
            with _locked_by_java(path.with_suffix(_JAVA)):
                yield
        finally:
            if self.folder.is_dir():  # a lock would make it again in a place from which the warehouse has vanished
                with self._all():
                    path.unlink(missing_ok=True)
            file.close()

    def has(self, name: str) -> bool:
        """See `Claims.has`."""
        return (self.folder / f"{name}{_CLAIM}").is_file()

    def active(self) -> dict[str, str]:
        """See `Claims.active`."""
        if not self.folder.is_dir():
            return {}
        with self._all():
            return self._alive()

    def drop_dead(self) -> None:
        """See `Claims.drop_dead`."""
        self.active()

    def write_note(self, name: str, text: str) -> None:
        """See `Claims.write_note`."""
        (self.folder / f"{name}{_NOTE}").write_text(text, encoding="utf-8")

    def notes(self) -> dict[str, str]:
        """See `Claims.notes`."""
        return {path.stem: path.read_text(encoding="utf-8") for path in sorted(self.folder.glob(f"*{_NOTE}"))}

    def drop_note(self, name: str) -> None:
        """See `Claims.drop_note`."""
        (self.folder / f"{name}{_NOTE}").unlink(missing_ok=True)

    def _all(self) -> FileLock:
        return FileLock(self.folder / "all.lock")

    def _alive(self) -> dict[str, str]:
        """The claims that are held; those of killed processes are removed on the way."""
        alive = {}
        for path in sorted(self.folder.glob(f"*{_CLAIM}")):
            with path.open(encoding="utf-8") as file:
                if _lock(file) and not _is_locked_by_java(path.with_suffix(_JAVA)):
                    _LOG.warning("the process that held the lock %s was killed: its lock is removed", path.stem)
                    path.with_suffix(_JAVA).unlink(missing_ok=True)
                    path.unlink()
                else:
                    alive[path.stem] = file.read()
        return alive

    def _wait_for_java_of_killed(self) -> None:
        """Until no Java works whose process was killed; one that takes too long still holds its claims."""
        if killed := self._held_by_java_alone():
            _LOG.warning("waiting for the Java of a killed process, which still holds the lock %s", killed)
        until = time.monotonic() + _JAVA_ENDS
        while self._held_by_java_alone() and time.monotonic() < until:
            time.sleep(0.1)

    def _held_by_java_alone(self) -> str | None:
        with self._all():
            for path in self.folder.glob(f"*{_CLAIM}"):
                with path.open(encoding="utf-8") as file:
                    if _lock(file) and _is_locked_by_java(path.with_suffix(_JAVA)):
                        return path.stem
        return None


def _lock(file: TextIO) -> bool:
    """Locks the file until it is closed; false where somebody else has locked it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def _locked_by_java(path: Path) -> Iterator[None]:
    """The Java of this process, if it has one, makes the file and locks it until it ends, or until here."""
    context = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    if context is None or context._active_spark_context is None:
        yield
        return
    channel = context._active_spark_context._jvm.java.io.RandomAccessFile(str(path), "rw").getChannel()
    channel.lock()
    try:
        yield
    finally:
        with suppress(Exception):  # Java may be gone, and its lock with it
            channel.close()
        path.unlink(missing_ok=True)


def _is_locked_by_java(path: Path) -> bool:
    """Java's locks are those of `lockf`, of which `flock` knows nothing."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return True
    return False
