"""Arrival of the snapshots of an interval, which a schedule waits for, without Spark."""

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from statistics import median_low

from schemas import OPTIONAL_SOURCES, SOURCES, Table
from spark_jobs.config import Configuration
from spark_jobs.config.file import load
from spark_jobs.domain.model.intervals import EPOCH, Interval, format_utc
from spark_jobs.store.location import Location
from spark_jobs.store.read.delta import DeltaTables, is_reached
from spark_jobs.store.read.stored import Filter, StoredTables, tuples

_LOG = logging.getLogger(__name__)
#: After the interval's end: a cluster of which no source has come by then is awaited no more.
LATE_AFTER = timedelta(minutes=10)
#: Times of snapshots in order, by cluster and source.
_Times = Mapping[str, Mapping[Table, Sequence[datetime]]]


def missing_sources(
    warehouse: str,
    config: str | None,
    interval: str,
    late_after: timedelta = LATE_AFTER,
    now: datetime | None = None,
) -> list[str] | None:
    """`awaited_sources` of the tables that a user names; None also where only Spark reads them. Raises
    `WarehouseError`, `ConfigurationError` or `IntervalError`.
    """
    location = Location.parse(warehouse)
    if not is_reached(location):
        return None
    now = now or datetime.now(UTC)
    return awaited_sources(DeltaTables(location), load(config or None), Interval.parse(interval), now, late_after)


def awaited_sources(
    stored: StoredTables,
    configuration: Configuration,
    wanted: Interval,
    now: datetime,
    late_after: timedelta = LATE_AFTER,
) -> list[str] | None:
    """A sentence per cluster and source whose snapshots of the interval are missing; None: it is unknown which to
    expect, as the step before has no snapshots.

    A source of a cluster has come when a snapshot is as close to the interval's end as the collection interval, or as
    the median distance in the step before; one without snapshots there is not awaited. A cluster of which no source
    has come is given up so long after the end, and logged. Raises as `StoredTables.read`.
    """
    times = _times(stored, wanted.start - configuration.grid.length)
    expected = {
        cluster: awaited
        for cluster, of_sources in sorted(times.items())
        if (awaited := {table: seen for table, seen in of_sources.items() if seen[0] < wanted.start})
    }
    if not expected:
        return None
    is_late = now >= wanted.end + late_after
    missing: list[str] = []
    for cluster, awaited in expected.items():
        newest = {
            table.name: format_utc(seen[-1])
            for table, seen in awaited.items()
            if seen[-1] < wanted.end - _usual_distance(seen, wanted.start, configuration.cadence)
        }
        if is_late and len(newest) == len(awaited):
            _LOG.warning("no longer waiting for the cluster %s: its snapshots end at %s", cluster, max(newest.values()))
        else:
            missing += [f"{cluster}, {name}: the newest snapshot is of {at}" for name, at in newest.items()]
    return missing


def _usual_distance(seen: Sequence[datetime], start: datetime, cadence: timedelta) -> timedelta:
    """The median distance of snapshots before `start`, of which those in one collection interval are one."""
    rounds = dict.fromkeys((at - EPOCH) // cadence for at in seen if at < start)
    distances = [later - before for before, later in pairwise(rounds)]
    return cadence * (median_low(distances) if distances else 1)


def _times(stored: StoredTables, start: datetime) -> _Times:
    """The times of all snapshots since then."""
    times: dict[str, dict[Table, list[datetime]]] = defaultdict(dict)
    for table in SOURCES:
        if table not in OPTIONAL_SOURCES or stored.exists(table):
            since = [Filter("captured_at", ">=", start)]
            for cluster, at in sorted(tuples(stored.read(table, ("cluster", "captured_at"), since, distinct=True))):
                times[cluster].setdefault(table, []).append(at)
    return times
