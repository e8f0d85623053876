"""Arrival of the snapshots of an interval, which a schedule waits for, without Spark."""

from datetime import datetime
from itertools import pairwise

from schemas import OPTIONAL_SOURCES, SOURCES, Table
from spark_jobs.config.file import load
from spark_jobs.domain.model.intervals import Interval, format_utc
from spark_jobs.store.location import Location
from spark_jobs.store.read.delta import DeltaTables, is_reached
from spark_jobs.store.read.stored import Filter, StoredTables, tuples


def missing_sources(warehouse: str, config: str | None, interval: str) -> list[str] | None:
    """A sentence per source whose snapshots of the interval are missing; None: it is unknown which to expect (only
    Spark reads the tables, or the step before has no snapshots).

    A source has come when a snapshot is as close to the interval's end as the collection interval, or as the longest
    gap of the step before; one without snapshots there is not awaited. Raises `WarehouseError`, `ConfigurationError` or
    `IntervalError`.
    """
    location = Location.parse(warehouse)
    if not is_reached(location):
        return None
    stored, configuration, wanted = DeltaTables(location), load(config or None), Interval.parse(interval)
    times_per_source = {table: _times(stored, table, wanted.start - configuration.grid.length) for table in SOURCES}
    usual = {table: [at for at in times if at < wanted.start] for table, times in times_per_source.items()}
    if not any(usual.values()):
        return None
    missing = []
    for table, times in times_per_source.items():
        if usual[table]:
            gaps = [later - at for at, later in pairwise(usual[table])]
            if times[-1] < wanted.end - max([configuration.cadence, *gaps]):
                missing.append(f"{table.name}: the newest snapshot is of {format_utc(times[-1])}")
    return missing


def _times(stored: StoredTables, table: Table, start: datetime) -> list[datetime]:
    """The different times of the table's snapshots since then, in order."""
    if table in OPTIONAL_SOURCES and not stored.exists(table):
        return []
    snapshots = stored.read(table, ["captured_at"], [Filter("captured_at", ">=", start)])
    return sorted({at for (at,) in tuples(snapshots)})
