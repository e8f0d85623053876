"""Files on whatever store Hadoop knows, which is what Spark writes to."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pyspark.sql import SparkSession


def delete(spark: SparkSession, folder: str) -> None:
    """Removes the folder with all that is in it, if it is there."""
    path, files = _opened(spark, folder)
    files.delete(path, True)


def newest_files(spark: SparkSession, folder: str) -> dict[str, datetime]:
    """Each folder in this one, and when the newest of its files was written, UTC."""
    path, files = _opened(spark, folder)
    if not files.exists(path):
        return {}
    newest: dict[str, datetime] = {}
    below = len(files.makeQualified(path).toUri().getPath()) + 1
    found = files.listFiles(path, True)
    while found.hasNext():
        file = found.next()
        name = file.getPath().toUri().getPath()[below:].partition("/")[0]
        written = datetime.fromtimestamp(file.getModificationTime() / 1000, UTC)
        newest[name] = max(written, newest.get(name, written))
    return newest


def _opened(spark: SparkSession, folder: str) -> tuple[Any, Any]:
    jvm = spark._jvm
    assert jvm is not None
    path = jvm.org.apache.hadoop.fs.Path(folder)
    return path, path.getFileSystem(spark._jsc.hadoopConfiguration())
