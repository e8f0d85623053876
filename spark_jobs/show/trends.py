"""How each group fared in the last weeks, from published rows; as values, and in plain English."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemas import GROUP_STATUS, REBALANCE_INTERVALS
from spark_jobs.domain.incidents.trends import Group, GroupTrend, GroupWeek, IntervalColumns, trends, weeks
from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.model.intervals import EVER, Interval, duration_text
from spark_jobs.domain.model.statuses import Status
from spark_jobs.domain.model.window import from_micros, to_micros
from spark_jobs.domain.phrases import UNKNOWN, count, number_text, rate_text
from spark_jobs.errors import NothingPublishedError
from spark_jobs.show.incidents import IncidentQuery, published_incidents
from spark_jobs.show.tabular import Tabular
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


_SCHEMA = pa.schema(
    {
        **dict.fromkeys(_GROUP, pa.string()),
        **dict.fromkeys(("start", "end"), pa.timestamp("us", "UTC")),
        "incidents": pa.int64(),
        "wrong_minutes": pa.float64(),
        **dict.fromkeys(("rebalances", "queues_moved"), pa.int64()),
        **dict.fromkeys(("seconds_to_resolve", "observed_share"), pa.float64()),
    }
)


@dataclass(frozen=True)
class Trends(Tabular):
    """How groups fared week by week, what got worse first. As a table: a row per group and week."""

    groups: Sequence[GroupTrend]

    def __iter__(self) -> Iterator[GroupTrend]:
        return iter(self.groups)

    def rows(self) -> list[dict[str, Any]]:
        """A dict per group and week."""
        return [
            {"cluster": trend.cluster, "consumer_group": trend.consumer_group, **week_row(week)}
            for trend in self.groups
            for week in trend.weeks
        ]

    def to_arrow(self) -> pa.Table:
        """A row per group and week."""
        return pa.Table.from_pylist(self.rows(), _SCHEMA)


def week_row(week: GroupWeek) -> dict[str, Any]:
    """The week's fields, with datetimes."""
    return {**week._asdict(), "start": from_micros(week.start), "end": from_micros(week.end)}


def trends_of(stored: StoredTables, query: TrendQuery, progress: Callable[[str], None] = lambda _: None) -> Trends:
    """What got worse first. Raises `NothingPublishedError` for names that nobody has."""
    tables = published_tables(stored)
    interval = last_days(tables, query)
    progress("reading the findings")
    found = published_incidents(tables, IncidentQuery(interval, False, query.cluster, query.consumer_group))
    progress("reading the rebalance intervals")
    return Trends(published_trends(tables, query, interval, found))


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
    return {(trend.cluster, trend.consumer_group): trend.weeks[0].observed_share for trend in found}


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
        is_observed=np.array([one != Status.UNOBSERVED for one in states], dtype=np.bool_)[state],
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


def trends_text(found: Sequence[GroupTrend]) -> str:
    """How many groups there are, how many of them can be compared, and how many of these got worse."""
    compared = [trend for trend in found if is_compared(trend)]
    if not compared:
        none = "none was observed in the last week and the one before: unknown what got worse"
        return f"{count(len(found), 'group')}; {none}."
    worse = sum(1 for trend in compared if trend.worsening > (0, 0, 0))
    others = f" of {len(compared):,} that can be compared" if len(compared) < len(found) else ""
    return f"{count(len(found), 'group')}; {worse:,}{others} got worse in the last week."


def is_told(week: GroupWeek) -> bool:
    """Whether anything is known of the week."""
    return bool(week.incidents) or week.wrong_minutes is not None


def is_compared(trend: GroupTrend) -> bool:
    """Whether the group was observed in the last two weeks."""
    return len(trend.weeks) > 1 and all(week.wrong_minutes is not None for week in trend.weeks[-2:])


def week_texts(week: GroupWeek) -> Iterator[str]:
    """Incidents, wrong minutes, rebalances, queues moved, time to resolve, share of time observed."""
    yield number_text(week.incidents)
    yield rate_text(week.wrong_minutes)
    yield number_text(week.rebalances)
    yield number_text(week.queues_moved)
    seconds = week.seconds_to_resolve
    yield UNKNOWN if seconds is None else duration_text(timedelta(seconds=seconds))
    yield "<1%" if 0 < week.observed_share < 0.005 else f"{week.observed_share:.0%}"


def change_text(trend: GroupTrend) -> str:
    """How its last week differs from the one before; empty where one of them was not observed, or nothing differs."""
    minutes, incidents, rebalances = trend.worsening
    parts = (
        (round(minutes, 1), "minutes with wrong owners"),
        (incidents, "incident{s}"),
        (rebalances, "rebalance{s}"),
    )
    return ", ".join(_more(more, things) for more, things in parts if more)


def _more(more: float, things: str) -> str:
    return f"{abs(more):,} {'more' if more > 0 else 'fewer'} {things.format(s='' if abs(more) == 1 else 's')}"
