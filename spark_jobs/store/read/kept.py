"""Checks that the rows which a question needs are there: recorded, and not deleted by `maintain`."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

import pyarrow.compute as pc

from schemas import (
    CAPTURE_CALLS,
    GROUP_STATUS,
    MEMBERSHIP_SNAPSHOTS,
    OFFSET_SNAPSHOTS,
    ROUTE_SNAPSHOTS,
    SIGHTINGS,
    Table,
)
from spark_jobs.domain.model.intervals import Interval, format_utc, parse_utc
from spark_jobs.domain.phrases import did_you_mean
from spark_jobs.errors import UnknownNameError, WarehouseError
from spark_jobs.store.read.stored import Filter, StoredTables

#: Property of a table whose older rows were deleted: the time from which on they are kept.
KEPT_SINCE = "rebalance_audit.kept_since"


def kept_since(stored: StoredTables, table: Table) -> datetime | None:
    """The time (UTC) before which rows were deleted; None: all are kept. Raises as `StoredTables.read`."""
    text = stored.properties(table).get(KEPT_SINCE)
    return parse_utc(text) if text else None


def check_kept(stored: StoredTables, steps: Interval, look_back: timedelta) -> None:
    """Raise `WarehouseError` if snapshots that an audit of the steps needs, with its `look_back`, were deleted."""
    since, needed = kept_since(stored, MEMBERSHIP_SNAPSHOTS), steps.start - look_back
    if since is not None and needed < since:
        raise WarehouseError(
            f"{steps} cannot be audited any more: it needs the snapshots from {format_utc(needed)} on, and "
            f"`maintain --keep-snapshots` has deleted those before {format_utc(since)}; its results stay as they are"
        )


def auditable_since(stored: StoredTables, look_back: timedelta) -> datetime | None:
    """The time before which steps cannot be audited, as snapshots or results were deleted; None: all can."""
    snapshots, results = (
        kept_since(stored, table) if stored.exists(table) else None for table in (MEMBERSHIP_SNAPSHOTS, GROUP_STATUS)
    )
    return max(filter(None, (snapshots and snapshots + look_back, results)), default=None)


#: The tables that name each, the smallest first, and how a message calls it.
_NAMED_IN: Mapping[str, tuple[str, Sequence[Table]]] = {
    "cluster": ("cluster", (SIGHTINGS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, CAPTURE_CALLS)),
    "consumer_group": ("consumer group", (SIGHTINGS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, CAPTURE_CALLS)),
    "topic": ("topic", (SIGHTINGS, ROUTE_SNAPSHOTS, OFFSET_SNAPSHOTS)),
}


def check_recorded(
    stored: StoredTables, cluster: str | None = None, consumer_group: str | None = None, topic: str | None = None
) -> None:
    """Raise `UnknownNameError`, with the nearest name, for a name that neither snapshots nor calls have."""
    within: list[Filter] = []
    for column, name in (("cluster", cluster), ("consumer_group", consumer_group), ("topic", topic)):
        if name is not None and not any(_names(stored, column, name, within)):
            thing, _ = _NAMED_IN[column]
            names = set().union(*_names(stored, column, None, within))
            where = f" in the cluster {cluster}" if within else ""
            hint = did_you_mean(name, names) or f"snapshots name {len(names):,}"
            raise UnknownNameError(f"there is no {thing} {name}{where}: {hint}")
        if name is not None and column == "cluster":
            within = [Filter(column, "=", name)]


def _names(stored: StoredTables, column: str, name: str | None, within: Sequence[Filter]) -> Iterator[set[str]]:
    """The distinct names of each table, or this name where a table has it; one table after the other."""
    for table in _NAMED_IN[column][1]:
        if stored.exists(table):
            source, conditions = column, list(within)
            if (column, table) == ("consumer_group", CAPTURE_CALLS):  # the subject of the calls for a group's members
                source, conditions = "subject", [*within, Filter("request", "=", "connection")]
            if name is not None:
                conditions.append(Filter(source, "=", name))
            names = pc.drop_null(pc.unique(stored.read(table, [source], conditions)[source]))
            yield {str(name) for name in names.to_pylist()}
