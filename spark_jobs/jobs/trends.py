"""Reads what was published of the last weeks, and folds it to trends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemas import GROUP_STATUS, REBALANCE_INTERVALS
from spark_jobs.domain.intervals import EVER, Interval
from spark_jobs.domain.trends import Group, GroupTrend, IntervalColumns, trends, weeks
from spark_jobs.domain.window import to_micros
from spark_jobs.errors import NothingPublishedError
from spark_jobs.jobs.incidents import IncidentQuery, published_incidents
from spark_jobs.read.published import PublishedTables, check_names, published_tables
from spark_jobs.read.stored import StoredTables, tuples

_GROUP = ["cluster", "consumer_group"]
_COLUMNS = (
    *_GROUP,
    *("interval_start", "interval_end", "status"),
    *("unassigned_queues", "double_owned_queues", "trigger", "queues_moved"),
)


@dataclass(frozen=True)
class TrendQuery:
    """Which groups, and for how many days before the end of the newest audited step."""

    days: int = 30
    cluster: str | None = None
    consumer_group: str | None = None


def trends_of(
    stored: StoredTables, query: TrendQuery, progress: Callable[[str], None] = lambda _: None
) -> list[GroupTrend]:
    """What got worse first. Raises `NothingPublishedError` for names that nobody has."""
    tables = published_tables(stored)
    interval = _last_days(tables, query)
    progress("reading the rebalance intervals")
    read = tables.read(REBALANCE_INTERVALS, interval, _COLUMNS, query.cluster, query.consumer_group)
    named = tables.read(GROUP_STATUS, interval, _GROUP, query.cluster, query.consumer_group)
    groups = _groups(pa.concat_tables([named, read.select(_GROUP)]))
    progress("reading the findings")
    found = published_incidents(tables, IncidentQuery(interval, False, query.cluster, query.consumer_group))
    spans = weeks(to_micros(interval.start), to_micros(interval.end))
    return trends(groups, spans, _columns(read, groups), found)


def observed_shares(tables: PublishedTables, step: Interval) -> dict[Group, float]:
    """By group the share of the step in which it was observed, as trends count it."""
    read = tables.read(REBALANCE_INTERVALS, step, _COLUMNS)
    groups = _groups(read)
    span = (to_micros(step.start), to_micros(step.end))
    found = trends(groups, [span], _columns(read, groups), ()) if groups else []
    return {(one.cluster, one.consumer_group): one.weeks[0].observed_share for one in found}


def _last_days(tables: PublishedTables, query: TrendQuery) -> Interval:
    """The days before the end of the newest step of these groups."""
    check_names(tables, EVER, query.cluster, query.consumer_group)
    steps = tables.read(GROUP_STATUS, EVER, ("step_start",), query.cluster, query.consumer_group)["step_start"]
    if not len(steps):
        raise NothingPublishedError("no group was audited: there is no trend")
    newest = pc.max(steps.cast(pa.timestamp("us", "UTC")).cast(pa.int64())).as_py()
    end = EVER.start + timedelta(microseconds=newest) + tables.grid.length
    return Interval(end - timedelta(days=query.days), end)


def _groups(names: pa.Table) -> list[Group]:
    """The different groups of the rows, by name."""
    return sorted(tuples(names.select(_GROUP).group_by(_GROUP).aggregate([])))


def _columns(read: pa.Table, groups: Sequence[Group]) -> IntervalColumns:
    """The rows as the fold takes them."""
    wrong = (_numbers(read["unassigned_queues"]) > 0) | (_numbers(read["double_owned_queues"]) > 0)
    return IntervalColumns(
        group=_places(read, groups),
        start=_numbers(read["interval_start"]),
        end=_numbers(read["interval_end"]),
        is_wrong=wrong,
        is_observed=pc.not_equal(read["status"], "UNOBSERVED").to_numpy(),
        is_rebalance=pc.is_valid(read["trigger"]).to_numpy(),
        queues_moved=_numbers(read["queues_moved"]),
    )


def _places(read: pa.Table, groups: Sequence[Group]) -> Any:
    """The place of each row's group; names are looked up once of each pair that differs."""
    cluster, consumer_group = (read[name].combine_chunks().dictionary_encode() for name in _GROUP)
    names = consumer_group.dictionary.to_pylist()
    pair = cluster.indices.to_numpy().astype(np.int64) * (len(names) + 1) + consumer_group.indices.to_numpy()
    pairs, place = np.unique(pair, return_inverse=True)
    of_group = {group: number for number, group in enumerate(groups)}
    found = [(cluster.dictionary[int(one) // (len(names) + 1)].as_py(), names[one % (len(names) + 1)]) for one in pairs]
    return np.array([of_group[group] for group in found], dtype=np.int64)[place]


def _numbers(column: pa.ChunkedArray) -> Any:
    """Times as microseconds; where a row says nothing of queues it adds none."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", "UTC"))
    return pc.fill_null(column.cast(pa.int64()), 0).to_numpy()
