"""Claims on a local or mounted file system: a locked file each, of which the system lets go when its process ends."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from spark_jobs.errors import PublishConflictError

_LOG = logging.getLogger(__name__)
#: Seconds between two looks for others.
_PAUSE = 0.05
#: What is claimed is in a file of the first suffix, its lock is a file of the second, a note is one of the third.
_CONTENT, _LOCK, _NOTE = ".json", ".lock", ".note"
#: Who holds this lock may make, remove and look at claims.
_ALL = "all"


@dataclass(frozen=True)
class ClaimFiles:
    """The claims in a folder, as `claims.Claims` says."""

    folder: Path

    @contextmanager
    def held(self, name: str, content: str, refuse: ConflictCheck, timeout: float) -> Iterator[None]:
        """As `Claims.held`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        own, until = FileLock(self.folder / f"{name}{_LOCK}"), time.monotonic() + timeout
        while not self._taken(own, content, refuse, time.monotonic() >= until):
            time.sleep(_PAUSE)
        try:
            yield
        finally:
            if self.folder.is_dir():  # a lock would make it again in a place from which the warehouse has vanished
                with self._everything():
                    self._remove(own)

    def has(self, name: str) -> bool:
        """As `Claims.has`."""
        return (self.folder / f"{name}{_CONTENT}").is_file()

    def drop_dead(self) -> None:
        """As `Claims.drop_dead`."""
        if self.folder.is_dir():
            with self._everything():
                self._alive()

    def write_note(self, name: str, text: str) -> None:
        """As `Claims.write_note`."""
        (self.folder / f"{name}{_NOTE}").write_text(text, encoding="utf-8")

    def notes(self) -> dict[str, str]:
        """As `Claims.notes`."""
        return {path.stem: path.read_text(encoding="utf-8") for path in sorted(self.folder.glob(f"*{_NOTE}"))}

    def drop_note(self, name: str) -> None:
        """As `Claims.drop_note`."""
        (self.folder / f"{name}{_NOTE}").unlink()

    def _taken(self, own: FileLock, content: str, refuse: ConflictCheck, is_last: bool) -> bool:
        with self._everything():  # whoever looks sees a claim whole or not at all
            try:
                refuse(self._alive())
            except PublishConflictError:
                if is_last:
                    raise
                return False
            own.acquire()
            try:
                Path(own.lock_file).with_suffix(_CONTENT).write_text(content, encoding="utf-8")
            except OSError:
                self._remove(own)
                raise
            return True

    def _everything(self) -> FileLock:
        return FileLock(self.folder / f"{_ALL}{_LOCK}")

    def _alive(self) -> dict[str, str]:
        """The claims that are held; those of killed processes are removed on the way."""
        files = (*self.folder.glob(f"*{_CONTENT}"), *self.folder.glob(f"*{_LOCK}"))
        alive = {}
        for name in sorted({path.stem for path in files} - {_ALL}):
            lock = FileLock(self.folder / f"{name}{_LOCK}")
            try:
                lock.acquire(timeout=0)
            except Timeout:
                alive[name] = (self.folder / f"{name}{_CONTENT}").read_text(encoding="utf-8")
            else:
                _LOG.warning("the process of the claim %s was killed: its claim is removed", name)
                self._remove(lock)
        return alive

    @staticmethod
    def _remove(lock: FileLock) -> None:
        path = Path(lock.lock_file)
        path.with_suffix(_CONTENT).unlink(missing_ok=True)
        lock.release()
        path.unlink(missing_ok=True)


#: Raises `PublishConflictError` where one of these claims (content by name) excludes the own one.
ConflictCheck = Callable[[Mapping[str, str]], None]
