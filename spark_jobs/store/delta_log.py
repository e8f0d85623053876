"""Delta's log of a table, read without a Spark job, as `DeltaTable.history` is: 0.3 s for one number."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import SparkSession


@dataclass(frozen=True)
class LocalLog:
    """The log of a table in a local folder, as its files: Java takes a tenth of a second to open a table."""

    table: Path

    def version(self) -> int:
        """The newest version."""
        return max(self._commits())

    def made(self, since: int) -> datetime | None:
        """When the oldest commit from this version on was made, as Delta sees it; None where none is there."""
        times = [path.stat().st_mtime for version, path in self._commits().items() if version >= since]
        return datetime.fromtimestamp(min(times), UTC) if times else None

    def commit(self, version: int) -> str | None:
        """The commit that made a version; None where it is gone."""
        file = self.table / "_delta_log" / _name(version)
        return file.read_text(encoding="utf-8") if file.is_file() else None

    def drop_unfinished(self, before: datetime) -> None:
        """Removes files of the log that a killed Java began to write and did not rename; no reader looks at them."""
        for path in (self.table / "_delta_log").glob(".*.tmp"):
            if path.stat().st_mtime < before.timestamp():
                path.unlink()

    def _commits(self) -> dict[int, Path]:
        return {int(path.stem): path for path in (self.table / "_delta_log").glob(f"{'[0-9]' * 20}.json")}


class JavaLog:
    """The log as the JVM knows it: on every store and in every catalog."""

    def __init__(self, spark: SparkSession, table: DeltaTable) -> None:
        self._jvm: Any = spark._jvm
        self._log = table._jdt.deltaLog()

    def version(self) -> int:
        """See `LocalLog.version`."""
        nothing = self._jvm.scala.Option.empty()
        return int(self._log.update(False, nothing, nothing).version())

    def commit(self, version: int) -> str | None:
        """See `LocalLog.commit`."""
        path = self._jvm.org.apache.hadoop.fs.Path(self._log.logPath(), _name(version))
        if not path.getFileSystem(self._log.newDeltaHadoopConf()).exists(path):
            return None
        return str(self._log.store().read(path, self._log.newDeltaHadoopConf()).mkString("\n"))


def user_metadata(commit: str) -> str | None:
    """The writer's note in a commit; None if there is none."""
    actions = (json.loads(line) for line in commit.splitlines() if '"commitInfo"' in line)
    return next((action["commitInfo"].get("userMetadata") for action in actions if "commitInfo" in action), None)


def _name(version: int) -> str:
    return f"{version:020d}.json"
