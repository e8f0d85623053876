"""What Delta's log says of a table without a Spark job."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from delta.tables import DeltaTable
from pyspark.sql import SparkSession


class DeltaLog(Protocol):
    """The log of one table. Its history by `DeltaTable.history` is a Spark job, 0.3 s for one number."""

    def version(self) -> int:
        """The newest version."""

    def user_metadata(self, version: int) -> str | None:
        """What the writer of a version noted in its commit; None where that was nothing, or the commit is
        gone.
        """


@dataclass(frozen=True)
class LocalLog:
    """The log in a local folder, as its files: Java takes a tenth of a second to open a table."""

    folder: Path

    @classmethod
    def of(cls, table: Path) -> LocalLog:
        """Of the table in a folder."""
        return cls(table / "_delta_log")

    def version(self) -> int:
        """As `DeltaLog.version`."""
        return max(self._commits())

    def made(self, since: int) -> datetime | None:
        """When the oldest commit from this version on was made, as Delta sees it; None where none is there."""
        times = [path.stat().st_mtime for version, path in self._commits().items() if version >= since]
        return datetime.fromtimestamp(min(times), UTC) if times else None

    def user_metadata(self, version: int) -> str | None:
        """As `DeltaLog.user_metadata`."""
        commit = self.folder / _name(version)
        return _user_metadata(commit.read_text(encoding="utf-8")) if commit.is_file() else None

    def _commits(self) -> dict[int, Path]:
        return {int(path.stem): path for path in self.folder.glob(f"{'[0-9]' * 20}.json")}


@dataclass(frozen=True)
class JavaLog:
    """The log as the JVM knows it: on every store and in every catalog."""

    _jvm: Any
    _log: Any

    @classmethod
    def of(cls, spark: SparkSession, table: DeltaTable) -> JavaLog:
        """The table's log."""
        return cls(spark._jvm, table._jdt.deltaLog())

    def version(self) -> int:
        """As `DeltaLog.version`."""
        nothing = self._jvm.scala.Option.empty()
        return int(self._log.update(False, nothing, nothing).version())

    def user_metadata(self, version: int) -> str | None:
        """As `DeltaLog.user_metadata`."""
        commit = self._jvm.org.apache.hadoop.fs.Path(self._log.logPath(), _name(version))
        if not commit.getFileSystem(self._log.newDeltaHadoopConf()).exists(commit):
            return None
        return _user_metadata(str(self._log.store().read(commit, self._log.newDeltaHadoopConf()).mkString("\n")))


def _name(version: int) -> str:
    return f"{version:020d}.json"


def _user_metadata(commit: str) -> str | None:
    actions = (json.loads(line) for line in commit.splitlines() if '"commitInfo"' in line)
    notes = (action["commitInfo"].get("userMetadata") for action in actions if "commitInfo" in action)
    return next(notes, None)
