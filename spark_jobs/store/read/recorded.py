"""A check that snapshots name the cluster, group and topic of a request."""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow.compute as pc

from schemas import CAPTURE_CALLS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, SIGHTINGS, Table
from spark_jobs.domain.phrases import did_you_mean
from spark_jobs.errors import UnknownNameError
from spark_jobs.store.read.stored import Filter, StoredTables

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
