"""Staged results until they are published: Parquet in the folder `_staging`; in a catalog, tables."""

import re
from datetime import UTC, datetime
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.store.warehouse import Warehouse

#: Beginning of the names of staged tables in a catalog.
_STAGED = "_staging_"


def stage(spark: SparkSession, warehouse: Warehouse, name: str, frame: DataFrame) -> DataFrame:
    """The frame, written under this name (over what was there) and read back."""
    where, writer = _place(warehouse, name), frame.write.mode("overwrite")
    if warehouse.in_catalog:
        writer.format("delta").option("overwriteSchema", "true").saveAsTable(where)
        return spark.read.table(where)
    writer.parquet(where)
    return spark.read.schema(frame.schema).parquet(_literal(where))


def staged(spark: SparkSession, warehouse: Warehouse, name: str) -> DataFrame | None:
    """The rows that `stage` wrote under the name; None if there are none (any more)."""
    where = _place(warehouse, name)
    try:
        return spark.read.table(where) if warehouse.in_catalog else spark.read.parquet(_literal(where))
    except AnalysisException as error:
        if error.getCondition() in ("PATH_NOT_FOUND", "TABLE_OR_VIEW_NOT_FOUND"):
            return None
        raise


def staged_times(spark: SparkSession, warehouse: Warehouse) -> dict[str, datetime]:
    """When what `stage` wrote under each name was last touched, UTC."""
    if not warehouse.in_catalog:
        return _newest_files(spark, f"{warehouse.location}/_staging")
    times = {}
    for table in spark.sql(f"SHOW TABLES IN {warehouse.location} LIKE '{_STAGED}*'").collect():
        detail = spark.sql(f"DESCRIBE DETAIL {warehouse.identifier(table.tableName)}").collect()[0]
        times[table.tableName.removeprefix(_STAGED)] = detail.lastModified.astimezone(UTC)
    return times


def drop_staged(spark: SparkSession, warehouse: Warehouse, name: str) -> None:
    """Removes what `stage` wrote, if it is there."""
    where = _place(warehouse, name)
    if warehouse.in_catalog:
        spark.sql(f"DROP TABLE IF EXISTS {where}")
        return
    path, files = _opened(spark, where)
    files.delete(path, True)


def _place(warehouse: Warehouse, name: str) -> str:
    """A table of the catalog, or a folder."""
    root = warehouse.location
    return f"{root}.{_STAGED}{name}" if warehouse.in_catalog else f"{root}/_staging/{name}"


def _literal(path: str) -> str:
    """The path as Spark's reader of files, which expands patterns, finds it."""
    return re.sub(r"[*?{}]", r"\\\g<0>", path)


def _newest_files(spark: SparkSession, folder: str) -> dict[str, datetime]:
    """Each folder in this one, and when the newest of its files was written, UTC."""
    path, files = _opened(spark, folder)
    if not files.exists(path):
        return {}
    newest: dict[str, datetime] = {}
    below = len(files.makeQualified(path).toUri().getPath()) + 1
    listed = files.listFiles(path, True)
    while listed.hasNext():
        file = listed.next()
        name = file.getPath().toUri().getPath()[below:].partition("/")[0]
        written = datetime.fromtimestamp(file.getModificationTime() / 1000, UTC)
        newest[name] = max(written, newest.get(name, written))
    return newest


def _opened(spark: SparkSession, folder: str) -> tuple[Any, Any]:
    """Hadoop's path and file system of a folder."""
    jvm = spark._jvm
    assert jvm is not None
    path = jvm.org.apache.hadoop.fs.Path(folder)
    return path, path.getFileSystem(spark._jsc.hadoopConfiguration())
