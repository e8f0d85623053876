"""Lines of a recording, plain or gzip, in bounded memory, and why a line goes to quarantine."""

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import IO, Final

from spark_jobs.errors import InputFileError

_LONGEST_DETAIL: Final = 1000


class RejectReason(StrEnum):
    """Values of `quarantine.reasons` for an input line; name and value are the same."""

    NOT_UTF8 = "NOT_UTF8"
    NOT_JSON = "NOT_JSON"
    LINE_TOO_LONG = "LINE_TOO_LONG"
    DAMAGED_FILE = "DAMAGED_FILE"
    UNKNOWN_KIND = "UNKNOWN_KIND"
    NO_CLUSTER = "NO_CLUSTER"
    BODY_UNREADABLE = "BODY_UNREADABLE"
    MISSING_FIELD = "MISSING_FIELD"
    WRONG_TYPE = "WRONG_TYPE"
    OUT_OF_RANGE = "OUT_OF_RANGE"
    LONE_SURROGATE = "LONE_SURROGATE"
    CONTRADICTION = "CONTRADICTION"
    CONFLICTING_KEY = "CONFLICTING_KEY"


class RejectedError(Exception):
    """One line cannot become a row; caught where its quarantine record is made, never seen by a user."""

    def __init__(self, reason: RejectReason, detail: str) -> None:
        # The detail may quote the line, of which nothing is known to be storable or short.
        self.detail = detail[:_LONGEST_DETAIL].encode(errors="backslashreplace").decode()
        self.reason = reason
        super().__init__(self.detail)


LONGEST_LINE: Final = 64 * 1024 * 1024
#: How much of a rejected line, and of its key, is kept in `quarantine`.
KEPT_CONTENT: Final = 64 * 1024

_GZIP_MAGIC: Final = b"\x1f\x8b"
_BLOCK: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a file (`source`); if it could not be read whole, its head and the reason."""

    number: int
    content: bytes
    rejected: RejectedError | None = None
    source: str = ""


def read_lines(path: Path) -> Iterator[Line]:
    """Numbered lines up to `LONGEST_LINE`; damaged gzip ends with a rejected one. Raises `InputFileError`."""
    number, source = 0, os.fsencode(path.name).decode(errors="replace")  # text that a table can store
    with opened(path) as stream:
        while True:
            number += 1
            try:
                line = _read_line(stream, number)
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                if number == 1:
                    raise InputFileError(f"{path} cannot be decompressed: {error}. Record or copy it again") from None
                detail = f"the compressed file is damaged here, everything before it was read: {error}"
                yield Line(number, b"", RejectedError(RejectReason.DAMAGED_FILE, detail), source)
                return
            if line is None:
                return
            yield replace(line, source=source)


def check_readable(path: Path) -> None:
    """Raises `InputFileError` if the file cannot be opened."""
    with opened(path):
        pass


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The decompressed file; what goes wrong with it while it is open is an `InputFileError`."""
    try:
        with path.open("rb") as raw:
            compressed = raw.peek(len(_GZIP_MAGIC)).startswith(_GZIP_MAGIC)
            with gzip.open(raw) if compressed else raw as stream:
                yield stream  # type: ignore[misc]  # GzipFile reads like any binary file
    except OSError as error:
        raise InputFileError(
            f"{path} cannot be read: {error.strerror or error}. Check its name and permissions"
        ) from None


def _read_line(stream: IO[bytes], number: int) -> Line | None:
    line = stream.readline(LONGEST_LINE + 1)
    if len(line) <= LONGEST_LINE or line.endswith(b"\n"):
        return Line(number, line) if line else None
    head, length = line[:KEPT_CONTENT], len(line)
    while block := stream.readline(_BLOCK):
        length += len(block)
        if block.endswith(b"\n"):
            break
    detail = f"the line has {length} bytes, more than {LONGEST_LINE}"
    return Line(number, head, RejectedError(RejectReason.LINE_TOO_LONG, detail))
