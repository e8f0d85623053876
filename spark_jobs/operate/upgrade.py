"""Brings the tables of a warehouse that an older version made up to date; their rows stay the same."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyspark.sql import SparkSession

from schemas import SOURCES, TABLES, Table
from schemas.differences import missing_columns
from schemas.types import Field, sql_type
from spark_jobs.pipeline.run_context import Progress
from spark_jobs.runtime.version import code_version
from spark_jobs.store.conflicts import retry_on_conflict
from spark_jobs.store.location import check_all
from spark_jobs.store.spark_types import keeps
from spark_jobs.store.sql import is_same_check, literal
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
    """Add nullable columns, set constraints that the rows keep, create missing tables; return the changes.

    Commits are marked in the tables' history. Repeating it changes nothing, and completes a killed one. Raises, before
    any change, `SchemaMismatchError` naming all tables that cannot be upgraded; `WarehouseError` without tables;
    `PublishConflictError` if other writers leave no gap.
    """
    progress("comparing the tables with those of this version")
    there = [table for table in TABLES if warehouse.exists(spark, table)]
    if not there:
        raise warehouse.without(SOURCES[0])
    schemas = {table: warehouse.delta_table(spark, table).toDF().schema.jsonValue() for table in there}
    check_all(partial(warehouse.check_schema, schema, table, older=True) for table, schema in schemas.items())
    missing = [table for table in TABLES if table not in there]
    changes: list[Upgraded] = []
    with _marked(spark):
        for table, schema in schemas.items():
            progress(f"upgrading {table.name}")
            changes += _columns(spark, warehouse, table, schema)
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


def _columns(spark: SparkSession, warehouse: Warehouse, table: Table, schema: Any) -> Iterable[Upgraded]:
    missing = missing_columns(schema, table)
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
