"""Reads what was published of the last weeks, and folds it to trends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemas import GROUP_STATUS, REBALANCE_INTERVALS
from spark_jobs.domain.incidents.trends import Group, GroupTrend, IntervalColumns, trends, weeks
from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.model.intervals import EVER, Interval
from spark_jobs.domain.model.window import to_micros
from spark_jobs.errors import NothingPublishedError
from spark_jobs.show.incidents import IncidentQuery, published_incidents
from spark_jobs.store.read.published import PublishedTables, check_names, published_tables
from spark_jobs.store.read.stored import Filter, StoredTables

_GROUP = ["cluster", "consumer_group"]
_COLUMNS = (
    *_GROUP,
    *("interval_start", "interval_end", "status"),
    *("unassigned_queues", "double_owned_queues", "trigger", "queues_moved"),
)


@dataclass(frozen=True)
class TrendQuery:
    """Which groups, and for how many days before the end of the newest audited step, of those that begin before a time
    (None: of all).
    """

    days: int = 30
    cluster: str | None = None
    consumer_group: str | None = None
    before: datetime | None = None


def trends_of(
    stored: StoredTables, query: TrendQuery, progress: Callable[[str], None] = lambda _: None
) -> list[GroupTrend]:
    """What got worse first. Raises `NothingPublishedError` for names that nobody has."""
    tables = published_tables(stored)
    interval = last_days(tables, query)
    progress("reading the findings")
    found = published_incidents(tables, IncidentQuery(interval, False, query.cluster, query.consumer_group))
    progress("reading the rebalance intervals")
    return published_trends(tables, query, interval, found)


def published_trends(
    tables: PublishedTables, query: TrendQuery, interval: Interval, incidents: Sequence[Incident]
) -> list[GroupTrend]:
    """What got worse first, of `last_days` and the incidents that were seen in them."""
    read = tables.read(REBALANCE_INTERVALS, interval, _COLUMNS, query.cluster, query.consumer_group)
    named = tables.read(GROUP_STATUS, interval, _GROUP, query.cluster, query.consumer_group)
    groups = sorted(_different(pa.concat_tables([named, read.select(_GROUP)]))[0])
    spans = weeks(to_micros(interval.start), to_micros(interval.end))
    return trends(groups, spans, _columns(read, groups), incidents)


def observed_shares(tables: PublishedTables, step: Interval) -> dict[Group, float]:
    """By group the share of the step in which it was observed, as trends count it."""
    read = tables.read(REBALANCE_INTERVALS, step, _COLUMNS)
    groups = sorted(_different(read.select(_GROUP))[0])
    span = (to_micros(step.start), to_micros(step.end))
    found = trends(groups, [span], _columns(read, groups), ()) if groups else []
    return {(one.cluster, one.consumer_group): one.weeks[0].observed_share for one in found}


def last_days(tables: PublishedTables, query: TrendQuery) -> Interval:
    """The days before the end of the newest step of these groups."""
    check_names(tables, EVER, query.cluster, query.consumer_group)
    before = [] if query.before is None else [Filter("step_start", "<", query.before)]
    steps = tables.read(GROUP_STATUS, EVER, ["step_start"], query.cluster, query.consumer_group, before)["step_start"]
    if not len(steps):
        raise NothingPublishedError("no group was audited: there is no trend")
    newest = pc.max(steps.cast(pa.timestamp("us", "UTC")).cast(pa.int64())).as_py()
    end = EVER.start + timedelta(microseconds=newest) + tables.grid.length
    return Interval(end - timedelta(days=query.days), end)


def _columns(read: pa.Table, groups: Sequence[Group]) -> IntervalColumns:
    """The rows as the fold takes them."""
    of_group = {group: number for number, group in enumerate(groups)}
    found, place = _different(read)
    states, state = _encoded(read["status"])
    wrong = (_numbers(read["unassigned_queues"]) > 0) | (_numbers(read["double_owned_queues"]) > 0)
    return IntervalColumns(
        group=np.array([of_group[group] for group in found], dtype=np.int64)[place],
        start=_numbers(read["interval_start"]),
        end=_numbers(read["interval_end"]),
        is_wrong=wrong,
        is_observed=np.array([one != "UNOBSERVED" for one in states], dtype=np.bool_)[state],
        is_rebalance=_known(read["trigger"]),
        queues_moved=_numbers(read["queues_moved"]),
    )


def _different(names: pa.Table) -> tuple[list[Group], Any]:
    """The different groups of the rows, and the place of each row's group among them; names are looked up once of each
    pair that differs.
    """
    (clusters, cluster), (groups, group) = (_encoded(names[name]) for name in _GROUP)
    pairs, place = np.unique(cluster.astype(np.int64) * (len(groups) + 1) + group, return_inverse=True)
    return [(clusters[int(one) // (len(groups) + 1)], groups[one % (len(groups) + 1)]) for one in pairs], place


# Not by `group_by`, `fill_null`, `to_numpy` and the like: they load pandas, which takes a second.
def _encoded(column: pa.ChunkedArray) -> tuple[list[str], Any]:
    """The different values, and which of them each row has."""
    encoded = column.combine_chunks().dictionary_encode()
    return encoded.dictionary.to_pylist(), _array(encoded.indices)


def _numbers(column: pa.ChunkedArray) -> Any:
    """Times as microseconds; where a row says nothing of queues it adds none."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", "UTC"))
    found = np.zeros(len(column), np.int64)
    found[_known(column)] = _array(column.drop_null().cast(pa.int64()).combine_chunks())
    return found


def _known(column: pa.ChunkedArray) -> Any:
    return _array(column.is_valid().cast(pa.int8()).combine_chunks()).astype(np.bool_)


def _array(values: pa.Array) -> Any:
    return np.from_dlpack(values) if len(values) else np.empty(0, np.int64)
