"""The published backlog minute by minute, as answers and charts read it from the table `backlog`."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from schemas import BACKLOG
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import MILLISECOND, to_micros
from spark_jobs.show.rows import GROUP, TOPIC, Key, by_topic
from spark_jobs.store.arrow import arrow_schema, micros_of, one_array, sizes_of
from spark_jobs.store.read.published import PublishedTables, Scope
from spark_jobs.store.read.stored import Filter

Values = NDArray[np.float64]
#: Milliseconds.
MINUTE = 60_000
_ENTRY = ("at", "messages", "messages_max", "unknown_queues")


@dataclass(frozen=True)
class Minutes:
    """An entry per minute of a topic with a sample, in the order of time: its start (ms), messages at its last sample
    and at its highest (NaN: of no queue), and the queues that are not in them.
    """

    starts: Values
    messages: Values
    messages_max: Values
    unknown_queues: NDArray[np.int64]

    @property
    def is_known(self) -> bool:
        """Return whether any backlog is known."""
        return not np.isnan(self.messages).all()

    def at(self, moment: datetime) -> int:
        """The place of the entry whose minute has the moment; -1: none has."""
        start = to_micros(moment) // MILLISECOND // MINUTE * MINUTE
        place = int(self.starts.searchsorted(start))
        return place if place < len(self.starts) and self.starts[place] == start else -1


def topic_minutes(tables: PublishedTables, scope: Scope, *conditions: Filter) -> Mapping[Key, Minutes]:
    """By (cluster, group, topic) the minutes of the steps that overlap the scope's time; none of steps that a version
    before 2.1 audited.
    """
    return {key: _minutes(entries) for key, entries in by_topic(_entries(tables, scope, *conditions), "at")}


def _minutes(entries: pa.Table) -> Minutes:
    messages, most = (pc.cast(entries[name], pa.float64()).to_numpy() for name in _ENTRY[1:3])
    return Minutes(micros_of(entries["at"]) / MILLISECOND, messages, most, entries["unknown_queues"].to_numpy())


def highest_of_parts(
    tables: PublishedTables, scope: Scope, interval: Interval, parts: int
) -> Mapping[Key, Mapping[int, int]]:
    """By (cluster, group), and by index of the equal parts of the interval, the most messages of all topics at the end
    of a minute; parts without a known backlog are left out.
    """
    entries = _entries(tables, scope)
    length = (interval.end - interval.start) // timedelta(microseconds=1)
    index = np.clip(parts * (micros_of(entries["at"]) - to_micros(interval.start)) // length, 0, parts - 1)
    of_minutes = (
        entries.select([*GROUP, "at", "messages"])
        .append_column("part", pa.array(index))
        .group_by([*GROUP, "at", "part"])
        .aggregate([("messages", "sum")])
        .group_by([*GROUP, "part"])
        .aggregate([("messages_sum", "max")])
    )
    highest: dict[Key, dict[int, int]] = {}
    for *group, part, messages in zip(*(column.to_pylist() for column in of_minutes.columns), strict=True):
        if messages is not None:
            highest.setdefault(tuple(group), {})[part] = messages
    return {group: dict(sorted(of_group.items())) for group, of_group in highest.items()}


def _entries(tables: PublishedTables, scope: Scope, *conditions: Filter) -> pa.Table:
    """The minutes one under the other, each with its group and topic."""
    if tables.stored.exists(BACKLOG):
        rows = tables.read(BACKLOG, scope, (*TOPIC, "minutes"), conditions).combine_chunks()
    else:
        rows = arrow_schema(BACKLOG).empty_table()
    minutes = one_array(rows["minutes"])
    flat = minutes.flatten()
    of_row = pa.array(np.repeat(np.arange(len(rows)), sizes_of(minutes)))
    columns = {name: rows[name].take(of_row) for name in TOPIC} | {name: flat.field(name) for name in _ENTRY}
    return pa.table(columns)
