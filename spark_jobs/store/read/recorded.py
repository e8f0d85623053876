"""Whether snapshots name the cluster, group and topic that a run is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow.compute as pc

from schemas import MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, SIGHTINGS, Table
from spark_jobs.domain.phrases import did_you_mean
from spark_jobs.errors import UnknownNameError
from spark_jobs.store.read.stored import Filter, StoredTables

#: The tables that name each, the smallest first, and how a message calls it.
_NAMED_IN: Mapping[str, tuple[str, Sequence[Table]]] = {
    "cluster": ("cluster", (SIGHTINGS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS)),
    "consumer_group": ("consumer group", (SIGHTINGS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS)),
    "topic": ("topic", (SIGHTINGS, ROUTE_SNAPSHOTS, OFFSET_SNAPSHOTS)),
}


def check_recorded(
    stored: StoredTables, cluster: str | None = None, consumer_group: str | None = None, topic: str | None = None
) -> None:
    """Raises `UnknownNameError`, with the nearest name, for a name that no snapshot of the warehouse has; a group and a
    topic are those of the cluster, where one is named.
    """
    within: list[Filter] = []
    for column, name in (("cluster", cluster), ("consumer_group", consumer_group), ("topic", topic)):
        is_named = Filter(column, "=", name)
        if name is not None and not any(_names(stored, column, [*within, is_named])):
            thing, _ = _NAMED_IN[column]
            names = set().union(*_names(stored, column, within))
            where = f" in the cluster {cluster}" if within else ""
            hint = did_you_mean(name, names) or f"snapshots name {len(names):,}"
            raise UnknownNameError(f"there is no {thing} {name}{where}: {hint}")
        if name is not None and column == "cluster":
            within = [is_named]


def _names(stored: StoredTables, column: str, conditions: Sequence[Filter]) -> Iterator[set[str]]:
    """The distinct names of each table, one table after the other."""
    for table in _NAMED_IN[column][1]:
        if stored.exists(table):
            names = pc.drop_null(pc.unique(stored.read(table, [column], conditions)[column]))
            yield {str(name) for name in names.to_pylist()}
