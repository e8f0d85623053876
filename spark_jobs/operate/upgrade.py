"""Brings the tables of a warehouse that an older version made up to date; their rows stay the same."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from schemas import SOURCES, TABLES, Table
from schemas.differences import as_stored, missing_columns, renamed_columns
from schemas.types import Field, Struct, sql_type
from spark_jobs.pipeline.run_context import Progress
from spark_jobs.runtime.version import code_version
from spark_jobs.store.conflicts import retry_on_conflict
from spark_jobs.store.location import check_all
from spark_jobs.store.spark_types import keeps
from spark_jobs.store.sql import create_table, is_same_check, literal
from spark_jobs.store.warehouse import Warehouse

_MARK = "spark.databricks.delta.commitInfo.userMetadata"


@dataclass(frozen=True)
class Upgraded:
    """One change of one table, in words."""

    table: str
    change: str

    def __str__(self) -> str:
        return f"{self.table}: {self.change}"


def upgrade(spark: SparkSession, warehouse: Warehouse, progress: Progress = lambda _: None) -> list[Upgraded]:
    """Rename columns, add nullable ones, set constraints that the rows keep, create missing tables; return the changes.

    Commits are marked in the tables' history. Repeating it changes nothing, and completes a killed one. Raises, before
    any change, `SchemaMismatchError` naming all tables that cannot be upgraded; `WarehouseError` without tables;
    `PublishConflictError` if other writers leave no gap.
    """
    progress("comparing the tables with those of this version")
    there = [table for table in TABLES if warehouse.exists(spark, table)]
    if not there:
        raise warehouse.without(SOURCES[0])
    schemas = {table: _schema(spark, warehouse, table) for table in there}
    check_all(partial(warehouse.check_schema, schema, table, older=True) for table, schema in schemas.items())
    missing = [table for table in TABLES if table not in there]
    changes: list[Upgraded] = []
    with _marked(spark):
        for table, schema in schemas.items():
            progress(f"upgrading {table.name}")
            changes += _names(spark, warehouse, table, schema, progress)
            changes += _columns(spark, warehouse, table)
            changes += _constraints(spark, warehouse, table)
        warehouse.create(spark, missing)
    return changes + [Upgraded(table.name, "created") for table in missing]


@contextmanager
def _marked(spark: SparkSession) -> Iterator[None]:
    """Commits meanwhile carry who made them, as user metadata."""
    spark.conf.set(_MARK, f"maintain --upgrade, {code_version()}")
    try:
        yield
    finally:
        spark.conf.unset(_MARK)


def _schema(spark: SparkSession, warehouse: Warehouse, table: Table) -> Any:
    return warehouse.delta_table(spark, table).toDF().schema.jsonValue()


def _names(spark: SparkSession, warehouse: Warehouse, table: Table, schema: Any, progress: Progress) -> list[Upgraded]:
    """Replace the table by one with today's names, and copy its rows.

    Delta renames columns only in tables that older readers cannot read, and overwriting columns loses NOT NULL. So an
    empty table without its last column, which every command refuses, takes its place, and one commit adds the rows with
    that column; after a kill the next upgrade does.
    """
    renamed = list(renamed_columns(schema, table))
    if renamed:
        _replace(spark, warehouse, table)
    if renamed or _is_half_made(spark, warehouse, table, schema):
        progress(f"copying the rows of {table.name}")
        _fill(spark, warehouse, table)
    changes = [Upgraded(table.name, f"column {old} is called {new} now") for old, new in renamed]
    return changes + (_added(schema, table) if renamed else [])


def _added(schema: Any, table: Table) -> list[Upgraded]:
    """The columns that a table of former names lacks, under their names of today."""
    known = as_stored(schema, table)
    today = dict(zip(known.schema.names, table.schema.names, strict=True))
    return [Upgraded(table.name, f"column {today[field.name]} added") for field in missing_columns(schema, known)]


def _replace(spark: SparkSession, warehouse: Warehouse, table: Table) -> None:
    properties = warehouse.detail(spark, table)["properties"]
    kept = {name: value for name, value in properties.items() if not name.startswith("delta.constraints.")}
    without_last = replace(table, schema=Struct(*table.schema.fields[:-1]), checks={})
    statement = create_table(without_last, warehouse.identifier(table.name), kept, replaces=True)
    retry_on_conflict(partial(spark.sql, statement), f"replace {table.name}")


def _is_half_made(spark: SparkSession, warehouse: Warehouse, table: Table, schema: Any) -> bool:
    """Return whether its newest commit is that of `_replace`."""
    if table.schema.fields[-1].name in (column["name"] for column in schema["fields"]):
        return False
    newest = warehouse.delta_table(spark, table).history(1).head()
    return newest is not None and newest.operation == "REPLACE TABLE"


def _fill(spark: SparkSession, warehouse: Warehouse, table: Table) -> None:
    """Append the rows of the version before the newest one, with the last column and its comment."""

    def column(field: Field) -> Column:
        return F.col(field.name).alias(field.name, metadata={"comment": field.comment or ""})

    before = warehouse.read(spark, table, warehouse.version(spark, table) - 1)
    rows = before.select(*(column(table.schema[name]) for name in table.columns))
    writer = rows.write.format("delta").mode("append").option("mergeSchema", "true")
    retry_on_conflict(lambda: warehouse.save(writer, table), f"fill {table.name}")


def _columns(spark: SparkSession, warehouse: Warehouse, table: Table) -> Iterable[Upgraded]:
    missing = missing_columns(_schema(spark, warehouse, table), table)
    if missing:
        _alter(spark, warehouse, table, f"ADD COLUMNS ({', '.join(map(_definition, missing))})")
    return [Upgraded(table.name, f"column {field.name} added") for field in missing]


def _definition(field: Field) -> str:
    name = ".".join(f"`{part}`" for part in field.name.split("."))
    return f"{name} {sql_type(field.type)} COMMENT {literal(field.comment or '')}"


def _constraints(spark: SparkSession, warehouse: Warehouse, table: Table) -> Iterator[Upgraded]:
    """Those that Delta does not keep yet, or in other words; one that rows break is left to `maintain` to name."""
    properties = warehouse.detail(spark, table)["properties"]
    for name, check in table.checks.items():
        if is_same_check(properties.get(f"delta.constraints.{name}"), check):
            continue
        if warehouse.read(spark, table).where(~keeps(check)).isEmpty():
            _alter(spark, warehouse, table, f"DROP CONSTRAINT IF EXISTS {name}")
            _alter(spark, warehouse, table, f"ADD CONSTRAINT {name} CHECK ({check})")
            yield Upgraded(table.name, f"constraint {name} set")


def _alter(spark: SparkSession, warehouse: Warehouse, table: Table, change: str) -> None:
    statement = f"ALTER TABLE {warehouse.identifier(table.name)} {change}"
    retry_on_conflict(partial(spark.sql, statement), f"upgrade {table.name}")
