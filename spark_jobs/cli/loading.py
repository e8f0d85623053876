"""Loads recorded files into a warehouse, one after the other, while the recording goes on."""

from __future__ import annotations

import logging
import queue
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from spark_jobs.api.start import start_spark
from spark_jobs.errors import RebalanceAuditError
from spark_jobs.ingest.load import ingest
from spark_jobs.store.warehouse import Warehouse

_LOG = logging.getLogger(__name__)
#: What is loaded is moved into this folder of the recording.
LOADED = "loaded"


class Loading:
    """A thread with Spark. A file that could not be loaded stays where it is, and is tried with the next one again."""

    def __init__(self, warehouse: str, folder: Path) -> None:
        """Starts Spark; files that the folder still has from before are loaded first."""
        self._warehouse, self._folder = Warehouse.parse(warehouse), folder
        self._spark = start_spark(_LOG.info)
        self._closed: queue.Queue[bool] = queue.Queue()
        self._thread = threading.Thread(target=self._work, name="loading")

    def __enter__(self) -> Self:
        self._thread.start()
        self._closed.put(True)
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        """Waits until everything that is closed is loaded."""
        self._closed.put(False)
        self._thread.join()

    def load(self, _file: Path) -> None:
        """A further file is closed."""
        self._closed.put(True)

    def _work(self) -> None:
        going_on = True
        while going_on:
            going_on = self._closed.get()
            for file in sorted(self._folder.glob("*.jsonl.gz")):
                self._load(file)

    def _load(self, file: Path) -> None:
        try:
            ingest(self._spark, self._warehouse, [file])
        except RebalanceAuditError as error:
            _LOG.error("%s is not loaded yet: %s", file, error)
        except Exception:
            _LOG.exception("%s is not loaded yet", file)
        else:
            (self._folder / LOADED).mkdir(exist_ok=True)
            file.rename(self._folder / LOADED / file.name)
