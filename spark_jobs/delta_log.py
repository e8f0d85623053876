"""What Delta's log says of a table without a Spark job: asked of the JVM, so on every store and in every catalog."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import SparkSession


@dataclass(frozen=True)
class DeltaLog:
    """The log of one table. Its history by `DeltaTable.history` is a Spark job, 0.3 s for one number."""

    _jvm: Any
    _log: Any

    @classmethod
    def of(cls, spark: SparkSession, table: DeltaTable) -> DeltaLog:
        """The table's log."""
        return cls(spark._jvm, table._jdt.deltaLog())

    def version(self) -> int:
        """The newest version."""
        nothing = self._jvm.scala.Option.empty()
        return int(self._log.update(False, nothing, nothing).version())

    def user_metadata(self, version: int) -> str | None:
        """What the writer of a version noted in its commit; None where that was nothing, or the commit is
        gone.
        """
        commit = self._jvm.org.apache.hadoop.fs.Path(self._log.logPath(), f"{version:020d}.json")
        if not commit.getFileSystem(self._log.newDeltaHadoopConf()).exists(commit):
            return None
        lines = str(self._log.store().read(commit, self._log.newDeltaHadoopConf()).mkString("\n")).splitlines()
        actions = (json.loads(line) for line in lines if '"commitInfo"' in line)
        notes = (action["commitInfo"].get("userMetadata") for action in actions if "commitInfo" in action)
        return next(notes, None)
