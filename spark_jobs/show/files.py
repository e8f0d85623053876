"""Files that appear whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EISDIR
from pathlib import Path
from typing import IO

from spark_jobs.errors import OutputError, ReportFileError


@contextmanager
def whole_file(file: Path, kind: str) -> Iterator[IO[bytes]]:
    """A stream whose content replaces the file at the end; raises `ReportFileError`, which names the kind of file."""
    unfinished = _unfinished(file)
    try:
        with unfinished.open("wb") as out:
            yield out
        unfinished.replace(file)
    except OSError as error:
        raise ReportFileError(f"the {kind} cannot be written to {file}: {error.strerror}") from error
    finally:
        with suppress(OSError):  # it was renamed, or never made
            unfinished.unlink()


def check_writable(file: Path, kind: str) -> None:
    """Raise `OutputError`, which names the kind of file, if it cannot be written; it stays as it is."""
    try:
        if file.is_dir():
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
        _unfinished(file).touch()
        _unfinished(file).unlink()
    except OSError as error:
        raise OutputError(f"the {kind} cannot be written to {file}: {error.strerror}") from error


def _unfinished(file: Path) -> Path:
    return file.with_name(f".{file.name}.{os.getpid()}")
