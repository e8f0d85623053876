"""How each group fared in the last weeks, from published rows; as values, and in plain English."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from schemas import GROUP_STATUS, REBALANCE_INTERVALS
from spark_jobs.domain.incidents.trends import Group, GroupTrend, GroupWeek, IntervalColumns, StepColumns, trends, weeks
from spark_jobs.domain.model.intervals import Interval, duration_text
from spark_jobs.domain.model.statuses import Status
from spark_jobs.domain.model.window import SECOND, from_micros, to_micros
from spark_jobs.domain.phrases import UNKNOWN, count, number_text, rate_text
from spark_jobs.errors import NothingPublishedError
from spark_jobs.show.coverage import observed_seconds
from spark_jobs.show.incidents import incident_spans
from spark_jobs.show.rows import GROUP
from spark_jobs.show.tabular import Tabular
from spark_jobs.store.arrow import micros_of, one_array
from spark_jobs.store.read.published import PublishedTables, Scope, check_names, published_tables
from spark_jobs.store.read.stored import Filter, StoredTables

_COLUMNS = (
    *GROUP,
    *("interval_start", "interval_end", "status"),
    *("unassigned_queues", "double_owned_queues", "trigger_type", "queues_moved"),
)


_SCHEMA = pa.schema(
    {
        **dict.fromkeys(GROUP, pa.string()),
        **dict.fromkeys(("start", "end"), pa.timestamp("us", "UTC")),
        "incidents": pa.int64(),
        "wrong_minutes": pa.float64(),
        **dict.fromkeys(("rebalances", "queues_moved"), pa.int64()),
        **dict.fromkeys(("seconds_to_resolve", "observed_share"), pa.float64()),
        "rollouts": pa.int64(),
    }
)


@dataclass(frozen=True, repr=False)
class Trends(Tabular):
    """How groups fared week by week, what got worse first. As a table: a row per group and week."""

    groups: Sequence[GroupTrend]

    def to_arrow(self) -> pa.Table:
        """A row per group and week."""
        weeks_of = (
            ({"cluster": trend.cluster, "consumer_group": trend.consumer_group}, trend) for trend in self.groups
        )
        return pa.Table.from_pylist([key | week_row(week) for key, trend in weeks_of for week in trend.weeks], _SCHEMA)


def week_row(week: GroupWeek) -> dict[str, Any]:
    """The week's fields, with datetimes."""
    return {**week._asdict(), "start": from_micros(week.start), "end": from_micros(week.end)}


def trends_of(
    stored: StoredTables, names: Scope, days: int, progress: Callable[[str], None] = lambda _: None
) -> Trends:
    """One trend per group, those that got worse first; raises `NothingPublishedError` for unknown names."""
    tables = published_tables(stored)
    interval = last_days(tables, names, days)
    progress("reading incidents and rebalance intervals")
    return Trends(published_trends(tables, names, interval))


def published_trends(tables: PublishedTables, names: Scope, interval: Interval) -> list[GroupTrend]:
    """One trend per group, those that got worse first. `interval`: `last_days`."""
    scope = replace(names, interval=interval)
    intervals = tables.read(REBALANCE_INTERVALS, scope, _COLUMNS)
    steps, audited = observed_seconds(tables, scope), tables.read(GROUP_STATUS, scope, GROUP)
    groups = sorted({group for rows in (audited, intervals, steps) for group in _distinct_groups(rows)[0]})
    spans = weeks(to_micros(interval.start), to_micros(interval.end))
    incidents = incident_spans(tables, names.cluster, interval.start)
    return trends(groups, spans, _columns(intervals, groups), _step_columns(steps, groups), incidents)


def last_days(tables: PublishedTables, names: Scope, days: int, before: datetime | None = None) -> Interval:
    """The days before the end of the newest step of these groups, or of their last step `before` a time."""
    check_names(tables, names.ever)
    steps = [group.last_step for group in tables.groups() if names.names.items() <= group._asdict().items()]
    if before is not None and any(step >= before for step in steps):
        earlier = tables.read(GROUP_STATUS, names.ever, ["step_start"], [Filter("step_start", "<", before)])
        steps = [from_micros(int(micros_of(earlier["step_start"]).max()))] if len(earlier) else []
    if not steps:
        raise NothingPublishedError("no group was audited: there is no trend")
    end = max(steps) + tables.grid.length
    return Interval(end - timedelta(days=days), end)


def _columns(intervals: pa.Table, groups: Sequence[Group]) -> IntervalColumns:
    """The rows of `rebalance_intervals` as NumPy columns; a group is its index in `groups`."""
    counts = ("unassigned_queues", "double_owned_queues", "queues_moved")
    unassigned, double_owned, moved = (pc.fill_null(intervals[name], 0).cast(pa.int64()).to_numpy() for name in counts)
    is_rebalance = pc.and_(pc.equal(intervals["status"], Status.REPLAYED), pc.is_valid(intervals["trigger_type"]))
    return IntervalColumns(
        group=_places(intervals, groups),
        start=micros_of(intervals["interval_start"]),
        end=micros_of(intervals["interval_end"]),
        is_wrong=(unassigned > 0) | (double_owned > 0),
        is_rebalance=is_rebalance.to_numpy(),
        queues_moved=moved,
    )


def _step_columns(steps: pa.Table, groups: Sequence[Group]) -> StepColumns:
    """The rows of `coverage` in the same way."""
    observed = pc.round(pc.multiply(steps["observed_seconds"], SECOND)).cast(pa.int64())
    return StepColumns(_places(steps, groups), micros_of(steps["step_start"]), observed.to_numpy())


def _places(rows: pa.Table, groups: Sequence[Group]) -> NDArray[np.int64]:
    """For each row the index of its group in `groups`."""
    places = {group: place for place, group in enumerate(groups)}
    distinct, group_index = _distinct_groups(rows)
    return np.array([places[group] for group in distinct], dtype=np.int64)[group_index]


def _distinct_groups(rows: pa.Table) -> tuple[list[Group], NDArray[np.int64]]:
    """The distinct groups of the rows, and for each row the index of its group among them."""
    clusters, groups = (one_array(rows[name]).dictionary_encode() for name in GROUP)
    number = max(len(groups.dictionary), 1)
    pairs = clusters.indices.to_numpy().astype(np.int64) * number + groups.indices.to_numpy()
    distinct, pair_index = np.unique(pairs, return_inverse=True)
    cluster_names, group_names = clusters.dictionary.to_pylist(), groups.dictionary.to_pylist()
    return [(cluster_names[pair // number], group_names[pair % number]) for pair in distinct.tolist()], pair_index


def trends_text(group_trends: Sequence[GroupTrend]) -> str:
    """One sentence: how many groups there are, how many can be compared, and how many of these got worse."""
    compared = [trend for trend in group_trends if is_compared(trend)]
    if not compared:
        none = "none was observed in the last week and the one before: unknown what got worse"
        return f"{count(len(group_trends), 'group')}; {none}."
    worse = sum(1 for trend in compared if trend.worsening > (0, 0, 0))
    comparable = f" of {len(compared):,} that can be compared" if len(compared) < len(group_trends) else ""
    return f"{count(len(group_trends), 'group')}; {worse:,}{comparable} got worse in the last week."


def is_known(week: GroupWeek) -> bool:
    """Return whether anything is known of the week."""
    return bool(week.incidents) or week.wrong_minutes is not None


def is_compared(trend: GroupTrend) -> bool:
    """Return whether the group was observed in the last two weeks."""
    return len(trend.weeks) > 1 and all(week.wrong_minutes is not None for week in trend.weeks[-2:])


def week_texts(week: GroupWeek) -> Iterator[str]:
    """Incidents, wrong minutes, rebalances, queues moved, rollouts, time to resolve, share of time observed."""
    yield number_text(week.incidents)
    yield rate_text(week.wrong_minutes)
    yield number_text(week.rebalances)
    yield number_text(week.queues_moved)
    yield number_text(week.rollouts)
    seconds = week.seconds_to_resolve
    yield UNKNOWN if seconds is None else duration_text(timedelta(seconds=seconds))
    yield "<1%" if 0 < week.observed_share < 0.005 else f"{week.observed_share:.0%}"


def change_text(trend: GroupTrend) -> str:
    """How its last week differs from the one before; empty where one of them was not observed, or nothing differs."""
    minutes, incidents, rebalances = trend.worsening
    parts = ((round(minutes, 1), "minutes with wrong owners"), (incidents, "incident{s}"), (rebalances, "rebalance{s}"))
    return ", ".join(_change(number, unit) for number, unit in parts if number)


def _change(number: float, unit: str) -> str:
    return f"{abs(number):,} {'more' if number > 0 else 'fewer'} {unit.format(s='' if abs(number) == 1 else 's')}"
