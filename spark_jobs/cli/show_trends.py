"""What a person sees of trends: a table, or plain lines where nobody watches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Console
from rich.text import Text

from spark_jobs.cli.terminal import Column, known, local, measure, show_table, zone_name
from spark_jobs.domain.incidents.trends import GroupTrend, GroupWeek
from spark_jobs.domain.model.intervals import format_utc
from spark_jobs.domain.model.window import from_micros
from spark_jobs.show.trends import is_known, trends_text, week_texts

#: A week of a group, and whose it is.
_Row = tuple[GroupTrend, GroupWeek]


def show_trends(console: Console, trends: Sequence[GroupTrend]) -> None:
    """A row per group in the order given, and per week of which anything is known, the newest first."""
    rows = [(trend, week) for trend in trends for week in reversed(trend.weeks) if is_known(week)]
    title = f"Week by week; what got worse comes first ({zone_name()})"
    show_table(console, title, _COLUMNS, rows, trends_text(trends), ruled=True)


def _text(place: int) -> Callable[[_Row], Text]:
    """One of the `week_texts`."""
    return lambda row: known([*week_texts(row[1])][place])


def _span(row: _Row) -> str:
    return "week=" + "/".join(format_utc(from_micros(moment)) for moment in (row[1].start, row[1].end))


_COLUMNS: tuple[Column[_Row], ...] = (
    Column("group\ncluster", lambda row: (row[0].consumer_group, row[0].cluster), "cluster={1} group={0}", fold=True),
    Column("week from", lambda row: f"{local(from_micros(row[1].start)):%m-%d %H:%M}", _span, fixed=True),
    measure("incidents", "incidents", _text(0)),
    measure("minutes with queues\nunowned or owned twice", "wrong_minutes", _text(1)),
    measure("rebalances", "rebalances", _text(2)),
    measure("queues\nmoved", "queues_moved", _text(3)),
    measure("time to resolve\n(median)", "time_to_resolve", _text(4)),
    measure("observed", "observed", _text(5)),
)
