"""Loads recorded files into a warehouse, one after the other, while the recording continues."""

import logging
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self

from spark_jobs.api.start import start_spark
from spark_jobs.domain.phrases import count
from spark_jobs.errors import NotLoadedError, RebalanceAuditError, ReportFileError
from spark_jobs.ingest.load import ingest
from spark_jobs.runtime.faults import own_error
from spark_jobs.runtime.session import end_session
from spark_jobs.show.metrics import recorder_registry, write_metrics
from spark_jobs.store.warehouse import Warehouse

_LOG = logging.getLogger(__name__)
#: After so many passes in a row that loaded no file a new Spark session begins; after as many more, loading ends.
_TRIES = 3
_FILES = "*.jsonl.gz"


class Loading:
    """A thread with Spark. It moves loaded files into the folder `loaded`, and retries others with the next file."""

    def __init__(self, warehouse: str, folder: Path, keep_seconds: float) -> None:
        """Starts Spark; files that the folder still has from before are loaded first."""
        self._warehouse, self._folder, self._keep_seconds = Warehouse.parse(warehouse), folder, keep_seconds
        self._spark = start_spark(_LOG.info)
        self._failed, self._error = 0, ""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="loading")

    def __enter__(self) -> Self:
        self._thread.submit(self._load_all)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Wait until everything that is closed is loaded. Raises `NotLoadedError` if a file stays."""
        self._thread.submit(self._load_all)
        self._thread.shutdown()
        if kind is None and self._waiting():
            raise self._not_loaded()

    def load(self, _file: Path) -> None:
        """A further file is closed."""
        self._thread.submit(self._load_all)

    def check(self) -> None:
        """Raise `NotLoadedError` if a new Spark session did not help either."""
        if self._failed >= 2 * _TRIES:
            raise self._not_loaded()

    def write_metric(self, file: Path) -> None:
        """Write the age of the oldest closed file that is not loaded, 0 if all are. A full disk ends no recording."""
        try:
            write_metrics(recorder_registry(max([0.0, *map(_age, self._waiting())])), file)
        except ReportFileError as error:
            _LOG.error("%s", error)

    def _waiting(self) -> list[Path]:
        return sorted(self._folder.glob(_FILES))

    def _not_loaded(self) -> NotLoadedError:
        return NotLoadedError(
            f"{count(len(self._waiting()), 'recorded file')} in {self._folder} could not be loaded: {self._error}\n"
            "what is recorded stays there, and the next `capture` with this --out loads it"
        )

    def _load_all(self) -> None:
        files = self._waiting()
        loaded = [self._load(file) for file in files]
        self._failed = self._failed + 1 if files and not any(loaded) else 0
        if self._failed == _TRIES:
            self._begin_again()
        self._prune()

    def _load(self, file: Path) -> bool:
        try:
            ingest(self._spark, self._warehouse, [file])
        except RebalanceAuditError as error:
            self._error = str(error)
            _LOG.error("%s is not loaded yet: %s", file, error)
        except Exception as error:
            self._error = str(own_error(error, self._warehouse.local_path))
            _LOG.exception("%s is not loaded yet", file)
        else:
            self._put_away(file)
            return True
        return False

    def _begin_again(self) -> None:
        _LOG.error("no file was loaded in %d tries: a new Spark session begins", _TRIES)
        try:
            end_session()
            self._spark = start_spark(_LOG.info)
        except Exception:
            _LOG.exception("no new Spark session could begin")

    def _put_away(self, file: Path) -> None:
        """A file that stays is loaded again with the next one, which changes nothing."""
        loaded = self._folder / "loaded"
        try:
            loaded.mkdir(exist_ok=True)
            file.rename(loaded / file.name)
        except OSError as error:
            _LOG.error("%s is loaded, but cannot be moved into %s: %s", file, loaded, error)

    def _prune(self) -> None:
        """Delete loaded files after the time for which they are kept."""
        for file in sorted((self._folder / "loaded").glob(_FILES)):
            try:
                if _age(file) > self._keep_seconds:
                    file.unlink()
            except OSError as error:
                _LOG.error("%s is loaded and old, but cannot be deleted: %s", file, error)


def _age(file: Path) -> float:
    """Seconds since its last line was written; 0 if the file is gone."""
    try:
        return time.time() - file.stat().st_mtime
    except FileNotFoundError:
        return 0.0
