"""The tables of a warehouse as Spark reads, writes and makes them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import unquote

from delta.tables import DeltaTable
from deltalake import DeltaTable as LocalTable
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, DataFrameWriter, SparkSession

from schemas import Table
from spark_jobs.domain.model.intervals import Interval, parse_utc
from spark_jobs.errors import IntervalError, WarehouseError
from spark_jobs.store.conflicts import retry_on_conflict
from spark_jobs.store.delta_log import JavaLog, LocalLog, user_metadata
from spark_jobs.store.location import Location
from spark_jobs.store.parallel import run_in_parallel
from spark_jobs.store.s3.s3a import check_commits
from spark_jobs.store.spark_types import in_columns_of
from spark_jobs.store.sql import create_table, literal

#: Runs side by side commit to one table; more than so many do not in the time of one commit.
_LAST_COMMITS = 100

#: The warehouses of which `check_commits` had nothing to say.
_checked: set[str] = set()


@dataclass(frozen=True)
class Warehouse(Location):
    """A set of tables in one place."""

    def _named(self, table: Table) -> str:
        """The table's name in the catalog, or its path."""
        return f"{self.location}{'.' if self.in_catalog else '/'}{table.name}"

    def exists(self, spark: SparkSession, table: Table) -> bool:
        """Return whether the table has been made."""
        if self.in_catalog:
            return bool(spark.catalog.tableExists(self._named(table)))
        if self.local_path:
            return LocalTable.is_deltatable(str(self.local_path / table.name))
        return bool(DeltaTable.isDeltaTable(spark, self._named(table)))

    def delta_table(self, spark: SparkSession, table: Table) -> DeltaTable:
        """The table as Delta's own handle (merge, history); raises `WarehouseError` if it is missing."""
        self._check_commits(spark)
        self._check_exists(spark, table)
        opened = DeltaTable.forName if self.in_catalog else DeltaTable.forPath
        return opened(spark, self._named(table))

    def detail(self, spark: SparkSession, table: Table) -> dict[str, Any]:
        """Delta's `DESCRIBE DETAIL` of the newest version: properties, `numFiles`, `sizeInBytes` and more."""
        return dict(self.delta_table(spark, table).detail().collect()[0].asDict())

    def set_properties(self, spark: SparkSession, table: Table, properties: Mapping[str, str]) -> None:
        """Set properties of the table; raises `PublishConflictError` if other writers leave no gap."""
        pairs = ", ".join(f"{literal(name)} = {literal(value)}" for name, value in properties.items())
        statement = f"ALTER TABLE {self.identifier(table.name)} SET TBLPROPERTIES ({pairs})"
        retry_on_conflict(partial(spark.sql, statement), f"set properties of {table.name}")

    def _check_exists(self, spark: SparkSession, table: Table) -> None:
        if not self.exists(spark, table):
            raise self.without(table)

    def version(self, spark: SparkSession, table: Table) -> int:
        """The newest Delta version of the table; no Spark job."""
        return self._log(spark, table).version()

    def version_of(self, spark: SparkSession, table: Table, mark: str) -> int:
        """The `marked_version`; the newest where there is none: replacing nothing by nothing is no commit."""
        version = self.marked_version(spark, table, mark)
        return self.version(spark, table) if version is None else version

    def marked_version(self, spark: SparkSession, table: Table, mark: str) -> int | None:
        """The Delta version whose commit, one of the last, carries this user metadata; no Spark job."""
        log = self._log(spark, table)
        newest = log.version()
        last = range(newest, max(-1, newest - _LAST_COMMITS), -1)
        return next((version for version in last if user_metadata(log.commit(version) or "") == mark), None)

    def _log(self, spark: SparkSession, table: Table) -> LocalLog | JavaLog:
        if self.local_path is None:
            return JavaLog(spark, self.delta_table(spark, table))
        self._check_exists(spark, table)
        return LocalLog(self.local_path / table.name)

    def is_free(self, table: Table, interval: Interval) -> bool:
        """Return whether the local table surely has no row of the interval's steps: files lie in the step's folder."""
        folder = self.local_path / table.name if self.local_path else None
        if folder is None or table.partition_by != ("step_start",):
            return False
        parts = [path.name.partition("=") for path in folder.glob("[!_.]*")]
        starts = [_moment(unquote(value)) if name == "step_start" else None for name, _, value in parts]
        return not any(start is None or interval.start <= start < interval.end for start in starts)

    def read(self, spark: SparkSession, table: Table, version: int | None = None) -> DataFrame:
        """The table, at a version if given, with its present columns; raises if it is missing or of another schema."""
        self._check_exists(spark, table)
        reader = spark.read.format("delta")
        if version is not None:
            reader = reader.option("versionAsOf", version)
        frame = (reader.table if self.in_catalog else reader.load)(self._named(table))
        is_old = version is not None and set(frame.columns) != set(table.schema.names)
        older = is_old and version != self.version(spark, table)
        self.check_schema(frame.schema.jsonValue(), table, older=older)
        return in_columns_of(table, frame) if older else frame

    def save(self, writer: DataFrameWriter, table: Table) -> None:
        """Let a prepared Delta writer write to the table."""
        (writer.saveAsTable if self.in_catalog else writer.save)(self._named(table))

    def folder(self, spark: SparkSession) -> Location:
        """The location of claims: the warehouse, or the folder of a catalog's schema. Raises `WarehouseError`."""
        if not self.in_catalog:
            return self
        try:
            rows = spark.sql(f"DESCRIBE SCHEMA {self.location}").collect()
        except AnalysisException as error:
            if error.getCondition() != "SCHEMA_NOT_FOUND":
                raise
            raise WarehouseError(f"there is no schema {self.location}: make it with CREATE SCHEMA") from error
        where = {row.info_name: row.info_value for row in rows}.get("Location")
        return Location.parse(where) if where else self

    def _check_commits(self, spark: SparkSession) -> None:
        """Once in a process, before anything is written."""
        if self.location not in _checked:
            check_commits(spark, self.folder(spark))
            _checked.add(self.location)

    def create(self, spark: SparkSession, tables: Iterable[Table]) -> None:
        """Make the tables that are missing, from their schemas; existing ones are left as they are."""
        self._check_commits(spark)
        missing = [table for table in tables if not self.exists(spark, table)]
        run_in_parallel(*(partial(self._create, spark, table) for table in missing))

    def _create(self, spark: SparkSession, table: Table) -> None:
        statement = create_table(table, self.identifier(table.name))
        retry_on_conflict(partial(spark.sql, statement), f"make the table {table.name}")


def _moment(text: str) -> datetime | None:
    """The time in the name of a partition's folder, UTC; None where it is none."""
    try:
        return parse_utc(text)
    except IntervalError:
        return None
