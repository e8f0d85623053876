"""Files that appear whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from spark_jobs.errors import ReportFileError


@contextmanager
def whole_file(file: Path, kind: str) -> Iterator[IO[bytes]]:
    """A stream whose content replaces the file at the end; raises `ReportFileError`, which names the kind of file."""
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with unfinished.open("wb") as out:
            yield out
        unfinished.replace(file)
    except OSError as error:
        raise ReportFileError(f"the {kind} cannot be written to {file}: {error.strerror}") from error
    finally:
        with suppress(OSError):  # it was renamed, or never made
            unfinished.unlink()
