"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from spark_jobs.errors import ReportFileError


@contextmanager
def whole_file(file: Path, what: str) -> Iterator[IO[bytes]]:
    """A file to write into, which is put into its place at the end; raises `ReportFileError`, naming what it is."""
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with unfinished.open("wb") as out:
            yield out
        unfinished.replace(file)
    except OSError as error:
        raise ReportFileError(f"the {what} cannot be written to {file}: {error.strerror}") from error
    finally:
        with suppress(OSError):  # it is in its place, or was never made
            unfinished.unlink()
