"""Somebody who reads the published tables all the time, as users do, and remembers the states of steps."""

import hashlib
import threading
from collections import defaultdict
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Self

from schemas import OUTPUTS
from spark_jobs.store.read.delta import delta_tables
from spark_jobs.store.read.published import PublishedTables, published_tables
from spark_jobs.store.read.stored import rows

#: Of each step: what all its rows in all output tables are, as one text.
Steps = Mapping[datetime, str]


def published_steps(warehouse: str) -> Steps:
    """All tables at the versions of the newest run."""
    return steps_of(published_tables(delta_tables(warehouse)))


def steps_of(tables: PublishedTables) -> Steps:
    """All tables at their versions."""
    found: dict[datetime, list[str]] = defaultdict(list)
    for table in OUTPUTS:
        read = tables.stored.read(table, table.columns, (), tables.versions[table.name])
        for row in rows(read):
            found[row["step_start"]].append(f"{table.name} {row!r}")
    return {step: hashlib.sha256("\n".join(sorted(one)).encode()).hexdigest() for step, one in found.items()}


class Reader:
    """A thread; `wrong` are the states that a step never had, and errors."""

    def __init__(self, warehouse: str, allowed: Collection[Steps]) -> None:
        """`allowed`: what is published before and after."""
        self._warehouse, self._allowed = warehouse, allowed
        self._ended, self._thread = threading.Event(), threading.Thread(target=self._read, daemon=True)
        self._versions: Mapping[str, int] = {}
        self._found: Steps = {}
        self.looks, self.wrong = 0, list[str]()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _read(self) -> None:
        while not self._ended.wait(0.4):
            self.look()

    def look(self) -> None:
        """Looks once."""
        try:
            tables = published_tables(delta_tables(self._warehouse))
            if tables.versions != self._versions:  # what a version holds does not change
                self._found, self._versions = steps_of(tables), tables.versions
        except Exception as error:
            self.wrong.append(f"{type(error).__name__}: {error}")
            return
        self.looks, found = self.looks + 1, self._found
        for step in {step for one in self._allowed for step in one} | found.keys():
            if found.get(step) not in [one.get(step) for one in self._allowed]:
                self.wrong.append(f"step {step:%H:%M} is half of a run")
