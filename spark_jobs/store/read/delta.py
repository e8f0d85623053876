"""Tables read by delta-rs: no JVM, a few milliseconds each."""

import json
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder, write_deltalake
from deltalake.exceptions import DeltaError, TableNotFoundError

from schemas import Table
from spark_jobs.domain.model.intervals import EVER, Interval
from spark_jobs.domain.model.window import from_micros
from spark_jobs.errors import PublishError, WarehouseError
from spark_jobs.store.arrow import arrow_schema, delta_schema
from spark_jobs.store.location import Location
from spark_jobs.store.read.stored import Filter, rows

#: Schemes of delta-rs by Spark's. Credentials come from the environment (AWS_…, AZURE_…, GOOGLE_…), as in Spark.
SCHEMES = {"": "", "file": "", "s3": "s3", "s3a": "s3", "gs": "gs", "abfs": "abfs", "abfss": "abfss"}


_LOG = logging.getLogger(__name__)
_COLOR = re.compile(r"\x1b\[[0-9;]*m")
#: Characters of what delta-rs says of an error.
_LONGEST_ERROR = 500


@dataclass(frozen=True)
class DeltaTables:
    """The tables of a folder or object store, by DataFusion: `DeltaTable.to_pyarrow_table` has crashed processes."""

    location: Location
    #: By name and version (None: the newest), as opening an old table reads the names of all its files.
    _opened: dict[tuple[str, int | None], DeltaTable] = field(default_factory=dict, repr=False, compare=False)

    @property
    def folder(self) -> Location:
        """See `StoredTables.folder`."""
        return self.location

    def exists(self, table: Table) -> bool:
        """Return whether the table has been made."""
        try:
            return DeltaTable.is_deltatable(self.uri(table))
        except Exception as error:
            raise self._failed(table, error) from error

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
        opened = self.open(table, version)
        stored = {field.name for field in opened.schema().fields}
        # A version from before an upgrade has null in the columns that came by it.
        names = ", ".join(f'"{name}"' if name in stored else f'NULL AS "{name}"' for name in columns)
        condition = " AND ".join(["true", *map(sql_of, conditions)])
        select = "SELECT DISTINCT" if distinct else "SELECT"
        rows = self.query(f"{select} {names} FROM {table.name} WHERE {condition}", {table: opened})
        # DataFusion gives views of texts, which Arrow's functions do not take.
        return rows.cast(pa.schema([arrow_schema(table).field(name).with_nullable(True) for name in columns]))

    def query(self, sql: str, opened: Mapping[Table, DeltaTable]) -> pa.Table:
        """The answer of DataFusion about these tables; raises `WarehouseError` if one cannot be read."""
        try:
            builder = QueryBuilder()
            for table, delta in opened.items():
                builder = builder.register(table.name, delta)
            return pa.RecordBatchReader.from_stream(builder.execute(sql)).read_all()
        except Exception as error:
            raise self._failed(table, error) from error

    def count(self, table: Table, time: str, conditions: Sequence[Filter]) -> tuple[int, datetime | None]:
        """See `StoredTables.count`."""
        condition = " AND ".join(map(sql_of, conditions))
        sql = f'SELECT count(*) AS number, min("{time}") AS first FROM {table.name} WHERE {condition}'
        (row,) = rows(self.query(sql, {table: self.open(table)}))
        return row["number"], row["first"]

    def version(self, table: Table) -> int:
        """See `StoredTables.version`."""
        return int(self.open(table).version())

    def written_at(self, table: Table) -> datetime:
        """See `StoredTables.written_at`."""
        (newest,) = self.open(table).history(1)
        return from_micros(1000 * newest["timestamp"])

    def operations(self, table: Table, last: int) -> dict[int, str]:
        """See `StoredTables.operations`."""
        return {commit["version"]: commit.get("operation", "") for commit in self.open(table).history(last)}

    def properties(self, table: Table) -> Mapping[str, str]:
        """See `StoredTables.properties`."""
        return self.opened(table).metadata().configuration

    def append(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        """See `StoredTables.append`."""
        self._write(table, pa.Table.from_pylist([*map(dict, rows)], arrow_schema(table)), "append")

    def replace(self, table: Table, rows: pa.Table, where: Filter | None = None) -> None:
        """See `StoredTables.replace`."""
        self._write(table, rows, "overwrite", None if where is None else sql_of(where))

    def _write(
        self, table: Table, rows: pa.Table, mode: Literal["append", "overwrite"], predicate: str | None = None
    ) -> None:
        """Rows without comments: delta-rs refuses those whose comments are not the words that the table has."""
        try:
            DeltaTable.create(
                self.uri(table), delta_schema(table), mode="ignore", name=table.name, description=table.comment
            )
            # Its types do not know that a predicate of None goes with any mode.
            write_deltalake(self.open(table), rows, mode=mode, predicate=predicate)  # type: ignore[arg-type]
        except DeltaError as error:
            raise PublishError(str(self._failed(table, error, "written"))) from error

    def open(self, table: Table, version: int | None = None) -> DeltaTable:
        """The table as delta-rs knows it; raises as `read` does."""
        opened = self.opened(table, version)
        self.location.check_schema(self.columns(opened), table, older=version is not None)
        return opened

    def opened(self, table: Table, version: int | None = None) -> DeltaTable:
        """The table whatever its columns are; raises `WarehouseError` where it is missing or cannot be read."""
        try:
            return self._at(table, version)
        except TableNotFoundError as error:
            raise self.location.without(table) from error
        except Exception as error:
            raise self._failed(table, error) from error

    def _at(self, table: Table, version: int | None) -> DeltaTable:
        """The table at this version, opened once, and again after an error; the newest follows later commits."""
        newest = self._followed(table) if version is None else self._opened.get((table.name, None))
        if newest is not None and version in (None, newest.version()):
            return newest
        if (table.name, version) not in self._opened:
            self._opened[table.name, version] = DeltaTable(self.uri(table), version=version)
        return self._opened[table.name, version]

    def _followed(self, table: Table) -> DeltaTable | None:
        """The newest version, of a table that was opened before; None: it was not, or is gone, or made again."""
        newest = self._opened.get((table.name, None))
        if newest is None:
            return None
        try:
            if DeltaTable.is_deltatable(self.uri(table)):
                newest.update_incremental()
                return newest
        except DeltaError:
            _LOG.debug("%s is opened again", table.name, exc_info=True)
        self._opened.clear()
        return None

    @staticmethod
    def columns(opened: DeltaTable) -> Any:
        """The columns of an opened table, as JSON."""
        return json.loads(opened.schema().to_json())

    def check(self, table: Table, *, older: bool = False) -> None:
        """Raise `SchemaMismatchError` as `check_schema` does; tables that delta-rs cannot read are left to Spark."""
        try:
            opened = DeltaTable(self.uri(table))
        except Exception:
            return
        self.location.check_schema(self.columns(opened), table, older=older)

    def uri(self, table: Table) -> str:
        """Return the table's URI for delta-rs."""
        if self.location.local_path is not None:
            return str(self.location.local_path / table.name)
        _, scheme, path = self.location.location.rpartition("://")
        name = SCHEMES[self.location.scheme]
        return f"{name}{scheme}{path}/{table.name}"

    def _failed(self, table: Table, error: Exception, done: str = "read") -> WarehouseError:
        self._opened.clear()
        # Causes stand one below the other, in color: the last one says what to mend.
        causes = _COLOR.sub("", str(error)).replace("↳", ":").split() or [type(error).__name__]
        reason = " ".join(causes).replace(" :", ":")[:_LONGEST_ERROR]
        return WarehouseError(f"the table {self.location.location}/{table.name} cannot be {done}: {reason}")


def is_reached(location: Location) -> bool:
    """Return whether delta-rs reads the warehouse; else only Spark does."""
    return not location.in_catalog and location.scheme in SCHEMES


def is_surely_reached(location: Location) -> bool:
    """Return whether delta-rs reads the warehouse wherever a job can publish: claims on S3 need its environment."""
    return location.local_path is not None or location.is_on_s3


def delta_tables(warehouse: str) -> DeltaTables:
    """The tables of the warehouse that a user names; raises `WarehouseError` where only Spark reads it."""
    location = Location.parse(warehouse)
    if not is_reached(location):
        raise WarehouseError(f"only Spark reads the warehouse {location.location}")
    return DeltaTables(location)


def bytes_in(tables: DeltaTables, wanted: Iterable[Table], interval: Interval = EVER) -> int:
    """Bytes of the tables' files by Delta's log, in proportion to their time in the interval, where it is known."""
    return sum(_bytes(tables, table, interval) for table in wanted if tables.exists(table))


def _bytes(tables: DeltaTables, table: Table, interval: Interval) -> int:
    files = pa.table(tables.open(table).get_add_actions(flatten=True))
    columns = [("min.captured_at", "max.captured_at"), ("partition.step_start", "partition.step_start")]
    times = next((pair for pair in columns if set(pair) <= set(files.column_names)), None)
    sizes: list[int] = files["size_bytes"].to_pylist()
    if times is None:
        return sum(sizes)
    spans = zip(*(files[name].to_pylist() for name in times), strict=True)
    return round(sum(size * _share(first, last, interval) for size, (first, last) in zip(sizes, spans, strict=True)))


def _share(first: datetime | None, last: datetime | None, interval: Interval) -> float:
    """The part of the time from first to last that is in the interval."""
    if first is None or last is None:
        return 1.0
    if first == last:
        return float(interval.start <= first < interval.end)
    within: timedelta = min(last, interval.end) - max(first, interval.start)
    return max(0.0, within / (last - first))


def sql_of(condition: Filter) -> str:
    """Return the condition as standard SQL."""
    if condition.operator in {"IN", "NOT IN"}:
        values = ", ".join(map(sql_literal, condition.value))
        return f'"{condition.column}" {condition.operator} ({values})' if values else str(condition.operator != "IN")
    value = "NULL" if condition.value is None else sql_literal(condition.value)
    return f'"{condition.column}" {condition.operator} {value}'


def sql_literal(value: Any) -> str:
    """Return the text, number or time as standard SQL, and so DataFusion, writes it."""
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}'"
    if isinstance(value, str):
        doubled = value.replace("'", "''")
        return f"'{doubled}'"
    return str(value)
