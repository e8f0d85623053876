"""Tables read by Spark: where only it can find them (a catalog), or reach them (HDFS)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import and_, eq, ge, gt, le, lt
from types import MappingProxyType
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from schemas import Table
from spark_jobs.domain.model.window import from_micros
from spark_jobs.errors import WarehouseError
from spark_jobs.store.conflicts import retry_on_conflict
from spark_jobs.store.location import Location
from spark_jobs.store.read.delta import DeltaTables, is_surely_reached, sql_of
from spark_jobs.store.read.stored import Filter, StoredTables
from spark_jobs.store.spark_types import spark_schema
from spark_jobs.store.warehouse import Warehouse

#: What Spark says of a version whose commits or files have been cleaned up.
_GONE = (
    "DELTA_VERSION_NOT_FOUND",
    "DELTA_TRUNCATED_TRANSACTION_LOG",
    "DELTA_UNSUPPORTED_TIME_TRAVEL_BEYOND_DELETED_FILE_RETENTION_DURATION",
    "FILE_NOT_EXIST",
)
_COMPARISONS = {"=": eq, "<": lt, "<=": le, ">": gt, ">=": ge}


@dataclass(frozen=True)
class SparkTables:
    """The tables of any warehouse, as `StoredTables`."""

    spark: SparkSession
    location: Warehouse

    @property
    def folder(self) -> Location:
        """See `StoredTables.folder`."""
        return self.location.folder(self.spark)

    def exists(self, table: Table) -> bool:
        """Return whether the table has been made."""
        return self.location.exists(self.spark, table)

    def read(
        self,
        table: Table,
        columns: Sequence[str],
        conditions: Sequence[Filter] = (),
        version: int | None = None,
        *,
        distinct: bool = False,
    ) -> pa.Table:
        """See `StoredTables.read`."""
        frame = self.location.read(self.spark, table, version)
        wanted = frame.where(all_of(conditions)).select(*columns)
        return (wanted.distinct() if distinct else wanted).toArrow()

    def count(self, table: Table, time: str, conditions: Sequence[Filter]) -> tuple[int, datetime | None]:
        """See `StoredTables.count`."""
        counted = self.location.read(self.spark, table).where(all_of(conditions))
        row = counted.agg(F.count("*").alias("number"), F.unix_micros(F.min(time)).alias("first")).first()
        assert row is not None  # an aggregate without groups has exactly one row
        return row.number, None if row["first"] is None else from_micros(row["first"])

    def version(self, table: Table) -> int:
        """See `StoredTables.version`."""
        return self.location.version(self.spark, table)

    def written_at(self, table: Table) -> datetime:
        """See `StoredTables.written_at`."""
        (newest,) = self.location.delta_table(self.spark, table).history(1).select(F.unix_micros("timestamp")).collect()
        return from_micros(newest[0])

    def operations(self, table: Table, last: int) -> dict[int, str]:
        """See `StoredTables.operations`."""
        history = self.location.delta_table(self.spark, table).history(last)
        return {row.version: row.operation for row in history.select("version", "operation").collect()}

    def properties(self, table: Table) -> Mapping[str, str]:
        """See `StoredTables.properties`."""
        properties: Mapping[str, str] = self.location.detail(self.spark, table)["properties"]
        return properties

    def append(
        self, table: Table, rows: Sequence[Mapping[str, Any]], options: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """See `StoredTables.append`. `options`: Delta's."""
        frame = self.spark.createDataFrame([*map(dict, rows)], spark_schema(table))
        self._write(table, frame, "append", options)

    def replace(self, table: Table, rows: pa.Table, where: Filter | None = None) -> None:
        """See `StoredTables.replace`."""
        options = {} if where is None else {"replaceWhere": sql_of(where)}
        self._write(table, self.spark.createDataFrame(rows, spark_schema(table)), "overwrite", options)

    def _write(self, table: Table, frame: DataFrame, mode: str, options: Mapping[str, str]) -> None:
        self.location.create(self.spark, [table])
        self.location.read(self.spark, table)
        writer = frame.coalesce(1).write.format("delta").mode(mode).options(**options)
        retry_on_conflict(lambda: self.location.save(writer, table), f"{mode} {table.name}")


def stored_in(spark: SparkSession, warehouse: Warehouse) -> StoredTables:
    """The tables as a job reads them: by delta-rs where it certainly reaches them, in a local folder."""
    return DeltaTables(warehouse) if warehouse.local_path else SparkTables(spark, warehouse)


def readable_tables(warehouse: Warehouse, session: Callable[[], SparkSession]) -> StoredTables:
    """The tables as a scheduler reads them: by delta-rs, on S3 too; `session` starts Spark only for another place."""
    return DeltaTables(warehouse) if is_surely_reached(warehouse) else stored_in(session(), warehouse)


def is_gone(error: Exception) -> bool:
    """Return whether a version was cleaned up: delta-rs has no own error, where it reads the present version."""
    return isinstance(error, WarehouseError) or any(name in str(error) for name in _GONE)


def all_of(conditions: Iterable[Filter]) -> Column:
    """The column that is true where all conditions are."""
    return reduce(and_, map(_column, conditions), F.lit(True))


def _column(condition: Filter) -> Column:
    column, value = F.col(condition.column), condition.value
    if condition.operator in {"IN", "NOT IN"}:
        is_one = column.isin([*value])  # a tuple would be one value
        return is_one if condition.operator == "IN" else ~is_one
    if condition.operator == "IS":
        return column.isNull()
    result: Column = _COMPARISONS[condition.operator](column, value)
    return result
