"""Loads recorded files into a warehouse, one after the other, while the recording continues."""

import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self

from spark_jobs.api.start import start_spark
from spark_jobs.errors import RebalanceAuditError
from spark_jobs.ingest.load import ingest
from spark_jobs.store.warehouse import Warehouse

_LOG = logging.getLogger(__name__)


class Loading:
    """A thread with Spark. It moves loaded files into the folder `loaded`, and retries others with the next file."""

    def __init__(self, warehouse: str, folder: Path) -> None:
        """Starts Spark; files that the folder still has from before are loaded first."""
        self._warehouse, self._folder = Warehouse.parse(warehouse), folder
        self._spark = start_spark(_LOG.info)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="loading")

    def __enter__(self) -> Self:
        self._thread.submit(self._load_all)
        return self

    def __exit__(self, *_: object) -> None:
        """Waits until everything that is closed is loaded."""
        self._thread.submit(self._load_all)
        self._thread.shutdown()

    def load(self, _file: Path) -> None:
        """A further file is closed."""
        self._thread.submit(self._load_all)

    def _load_all(self) -> None:
        for file in sorted(self._folder.glob("*.jsonl.gz")):
            try:
                ingest(self._spark, self._warehouse, [file])
            except RebalanceAuditError as error:
                _LOG.error("%s is not loaded yet: %s", file, error)
            except Exception:
                _LOG.exception("%s is not loaded yet", file)
            else:
                self._put_away(file)

    def _put_away(self, file: Path) -> None:
        """A file that stays is loaded again with the next one, which changes nothing."""
        loaded = self._folder / "loaded"
        try:
            loaded.mkdir(exist_ok=True)
            file.rename(loaded / file.name)
        except OSError as error:
            _LOG.error("%s is loaded, but cannot be moved into %s: %s", file, loaded, error)
