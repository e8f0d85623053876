"""What can be told to be wrong before Spark is started: in a second, not after a minute. Nothing here imports Spark.

What is right here is looked at again, by whoever uses it.
"""

from __future__ import annotations

from argparse import Namespace
from functools import partial
from pathlib import Path

from schemas import OPTIONAL_SOURCES, OUTPUTS, SOURCES, TABLES, Table
from spark_jobs.config.file import load
from spark_jobs.errors import WarehouseError
from spark_jobs.ingest.files import check_readable
from spark_jobs.store.location import Location, check_all
from spark_jobs.store.read.delta import DeltaTables
from spark_jobs.store.read.published import published_run


def check_ingest(arguments: Namespace) -> None:
    """Raises `InputFileError` for a file that cannot be opened, else as `check_tables` does."""
    for file in arguments.FILE:
        check_readable(Path(file))
    check_tables(Location.parse(arguments.warehouse))


def check_audit(arguments: Namespace) -> None:
    """Raises `ConfigurationError`, `IntervalError`, `WarehouseError` or `SchemaMismatchError`."""
    location, configuration = Location.parse(arguments.warehouse), load(arguments.config)
    if arguments.interval is not None:
        configuration.grid.check_whole_steps(arguments.interval)
    check_tables(location, needed=[table for table in SOURCES if table not in OPTIONAL_SOURCES])


def check_validate(arguments: Namespace) -> None:
    """Raises as `check_audit` does, and for the name of no table."""
    if arguments.table is not None:
        table_named(arguments.table)
    if arguments.interval is not None:
        load(arguments.config).grid.check_whole_steps(arguments.interval)
    check_tables(Location.parse(arguments.warehouse))


def check_warehouse(arguments: Namespace) -> None:
    """Raises `WarehouseError` or `SchemaMismatchError`."""
    check_tables(Location.parse(arguments.warehouse))


def check_verify(arguments: Namespace) -> None:
    """Raises `NothingPublishedError` for a run that has published nothing, else as `check_warehouse` does."""
    location = Location.parse(arguments.warehouse)
    check_tables(location)
    if location.local_path:
        published_run(DeltaTables(location), arguments.RUN_ID)


def check_maintain(arguments: Namespace) -> None:
    """Raises `WarehouseError`, or `SchemaMismatchError` for a table that --upgrade, if given, cannot help."""
    check_tables(Location.parse(arguments.warehouse), older=arguments.upgrade)


def check_tables(location: Location, needed: list[Table] | None = None, *, older: bool = False) -> None:
    """Raises `WarehouseError` for a needed table that is not there, `SchemaMismatchError` for those that are not as
    `schemas` says, or with `older` cannot be made so. Only of a local warehouse: who reaches another one, and how,
    Spark knows.
    """
    if location.local_path is None:
        return
    if location.local_path.is_file():
        raise WarehouseError(f"the warehouse {location.location} is a file: give a folder")
    tables = DeltaTables(location)
    existing = [table for table in TABLES if tables.exists(table)]
    for table in needed or ():
        if table not in existing:
            raise location.without(table)
    check_all(partial(tables.check, table, older=older) for table in existing)


def table_named(name: str) -> Table:
    """The table of that name; raises `WarehouseError` if there are no expectations of such a table."""
    tables = {table.name: table for table in (*SOURCES, *OUTPUTS)}
    if name not in tables:
        raise WarehouseError(
            f"--table: there are no expectations for a table {name}; the tables with expectations are "
            f"{', '.join(tables)}"
        )
    return tables[name]
