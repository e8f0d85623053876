"""The files of a recording: a gzip member of whole lines per round, so that a killed process loses one at most."""

import gzip
import logging
import os
import time
import zlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from spark_jobs.errors import CaptureError

_LOG = logging.getLogger(__name__)
#: Ending of the file that is being written.
PARTIAL = ".partial"
_ENDING = ".jsonl.gz"
_GZIP = zlib.MAX_WBITS | 16


class RecordingFiles:
    """A writer of rounds of lines into a folder, with a new file at each multiple of `seconds`; one process per folder.
    `head` gives a file's first line; `closed` is called with each finished file, also those of a killed process.
    """

    def __init__(self, folder: Path, seconds: float, head: Callable[[], str], closed: Callable[[Path], None]) -> None:
        self._folder, self._seconds, self._head, self._closed = folder, seconds, head, closed
        self._lock = FileLock(folder / ".lock")
        self._file: Path | None = None
        self._period = 0.0

    def open(self) -> None:
        """Raises `CaptureError` if the folder cannot be written, or another capture writes into it."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=0)
            left = sorted(self._folder.glob(f"*{PARTIAL}"))
        except Timeout:
            raise CaptureError(f"another capture is writing to {self._folder}: choose another --out") from None
        except OSError as error:
            raise CaptureError(f"{self._folder} cannot be written: {error.strerror}. Check its permissions") from None
        for path in left:
            self._recover(path)

    def append(self, lines: Sequence[str]) -> bool:
        """Write all lines or none, and return whether that worked; a full disk costs a round, not the capture."""
        if not lines:
            return True
        try:
            file = self._file or self._begin()
            _append_member(file, gzip.compress("".join(lines).encode(errors="surrogatepass"), 6))
        except OSError as error:
            _LOG.error("%d lines could not be written to %s: %s", len(lines), self._folder, error.strerror)
            return False
        return True

    def rotate(self, *, at_once: bool = False) -> None:
        """Closes the file if its time has come."""
        if self._file and (at_once or self._period != time.time() // self._seconds):
            file, self._file = self._file, None
            self._finish(file)

    def close(self) -> None:
        """Closes the last file and lets the folder go."""
        self.rotate(at_once=True)
        self._lock.release()

    def _begin(self) -> Path:
        """A new file, with its first line in it."""
        name = f"{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}{_ENDING}"
        file = self._folder / (name + PARTIAL)
        try:
            _append_member(file, gzip.compress(self._head().encode()))
        except OSError:
            file.unlink(missing_ok=True)
            raise
        self._file, self._period = file, time.time() // self._seconds
        return file

    def _recover(self, partial: Path) -> None:
        """Cuts off what a killed process has half written."""
        try:
            whole = whole_members(partial.read_bytes())
            os.truncate(partial, whole)
        except OSError as error:
            raise CaptureError(f"{partial} cannot be recovered: {error.strerror}. Move it to another folder") from None
        if whole:
            self._finish(partial)
        else:
            partial.unlink()

    def _finish(self, partial: Path) -> None:
        closed = partial.with_name(partial.name.removesuffix(PARTIAL))
        partial.rename(closed)
        self._closed(closed)


def whole_members(content: bytes) -> int:
    """How many of the bytes are whole gzip members."""
    end = 0
    while end < len(content):
        reader = zlib.decompressobj(_GZIP)
        try:
            reader.decompress(content[end:])
        except zlib.error:
            break
        if not reader.eof:
            break
        end = len(content) - len(reader.unused_data)
    return end


def _append_member(path: Path, member: bytes) -> None:
    """The whole member, on the disk, or nothing of it."""
    with path.open("ab", buffering=0) as file:
        before = file.seek(0, os.SEEK_END)
        try:
            written = 0
            while written < len(member):
                written += file.write(member[written:]) or 0
            os.fsync(file.fileno())
        except OSError:
            os.ftruncate(file.fileno(), before)
            raise
