"""What a person sees of trends: a table, or plain lines where nobody watches."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from spark_jobs.cli.terminal import Column, known, local, show_table, zone_name
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


def _measure(place: int, heading: str, name: str) -> Column[_Row]:
    """The column of one of the `week_texts`."""
    return Column(heading, lambda row: known([*week_texts(row[1])][place]), f"{name}={{}}", right=True)


def _span(row: _Row) -> str:
    return "/".join(format_utc(from_micros(moment)) for moment in (row[1].start, row[1].end))


_COLUMNS = (
    Column[_Row](
        "group\ncluster", lambda row: (row[0].consumer_group, row[0].cluster), "cluster={1} group={0}", fold=True
    ),
    Column[_Row](
        "week from",
        lambda row: f"{local(from_micros(row[1].start)):%m-%d %H:%M}",
        lambda row: f"week={_span(row)}",
        fixed=True,
    ),
    _measure(0, "incidents", "incidents"),
    _measure(1, "minutes with queues\nunowned or owned twice", "wrong_minutes"),
    _measure(2, "rebalances", "rebalances"),
    _measure(3, "queues\nmoved", "queues_moved"),
    _measure(4, "time to resolve\n(median)", "time_to_resolve"),
    _measure(5, "observed", "observed"),
)
