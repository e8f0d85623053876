"""Checks without Spark: they take a second, and do not import it."""

from argparse import Namespace
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from schemas import AUDIT_RUNS, COVERAGE, OPTIONAL_SOURCES, OUTPUTS, SIGHTINGS, SOURCES, TABLES, Table
from spark_jobs.errors import UsageError, WarehouseError
from spark_jobs.ingest.files import check_readable
from spark_jobs.store.location import Location, check_all
from spark_jobs.store.read.delta import DeltaTables
from spark_jobs.store.read.kept import check_recorded
from spark_jobs.store.read.published import published_run


def check_audit(arguments: Namespace, tables: Iterable[Table] = TABLES) -> None:
    """`check_inputs`; raise `WarehouseError` for a missing table, `UnknownNameError` for a name without snapshots."""
    check_inputs(arguments, [table for table in SOURCES if table not in OPTIONAL_SOURCES], tables)
    location, named = Location.parse(arguments.warehouse), vars(arguments)
    if location.local_path is not None:
        check_recorded(DeltaTables(location), *(named.get(name) for name in ("cluster", "group", "topic")))


def check_backfill(arguments: Namespace) -> None:
    """`check_audit`; raise `UsageError` if the steps are not named, or their number without --only-missing."""
    if not arguments.only_missing and arguments.interval is None:
        raise UsageError("backfill needs --interval, or --only-missing for all missing steps")
    if not arguments.only_missing and arguments.most is not None:
        raise UsageError("--most is about missing steps: give --only-missing with it")
    check_audit(arguments)


def check_late(arguments: Namespace) -> None:
    """`check_audit`, without tables that show nothing late: opening those of a year takes a tenth of the command."""
    check_audit(arguments, (*SOURCES, SIGHTINGS, COVERAGE, AUDIT_RUNS))


def check_ingest(arguments: Namespace) -> None:
    """`check_inputs`; raise `UsageError` without a recording or logs, or for logs without a cluster name."""
    if not arguments.FILE and not arguments.logs:
        raise UsageError("ingest needs a recording, or --logs with a folder of RocketMQ's logs")
    if arguments.logs and not arguments.cluster_name:
        raise UsageError("--logs needs --cluster-name, as logs do not name their cluster")
    check_inputs(arguments)


def check_validate(arguments: Namespace) -> None:
    """Check as `check_inputs` does; with --sources or --store nothing, because these say themselves what is wrong."""
    if not arguments.sources and arguments.store is None:
        check_inputs(arguments)


def check_inputs(arguments: Namespace, needed: Iterable[Table] = (), tables: Iterable[Table] = TABLES) -> None:
    """Check all given values. Raises as what reads them: input files, configuration, interval, `tables` and run."""
    given = vars(arguments)
    for file in given.get("FILE", ()):
        check_readable(Path(file))
    if given.get("table") is not None:
        table_named(arguments.table)
    location = Location.parse(arguments.warehouse)
    if given.get("interval") is not None:
        arguments.config.grid.check_steps(arguments.interval, datetime.now(UTC))
    if location.local_path is None:
        return  # who reaches another warehouse, and how, Spark knows
    _check_tables(location, location.local_path, needed, tables, older=given.get("upgrade", False))
    if "RUN_ID" in given:
        published_run(DeltaTables(location), arguments.RUN_ID)


def _check_tables(
    location: Location, folder: Path, needed: Iterable[Table], tables: Iterable[Table], *, older: bool
) -> None:
    if folder.is_file():
        raise WarehouseError(f"the warehouse {location.location} is a file: give a folder")
    stored = DeltaTables(location)
    existing = [table for table in tables if stored.exists(table)]
    for table in needed:
        if table not in existing:
            raise location.without(table)
    check_all(partial(stored.check, table, older=older) for table in existing)


def table_named(name: str) -> Table:
    """The table of that name; raises `WarehouseError` if there are no expectations of such a table."""
    tables = {table.name: table for table in (*SOURCES, *OUTPUTS)}
    if name not in tables:
        raise WarehouseError(
            f"--table: there are no expectations for a table {name}; the tables with expectations are "
            f"{', '.join(tables)}"
        )
    return tables[name]
