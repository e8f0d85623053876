"""What a person sees of trends: a table, or plain lines where nobody watches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta

from rich.console import Console
from rich.table import Table
from rich.text import Text

from spark_jobs.cli.tables import Heading, show_rows, stacked, table
from spark_jobs.domain.intervals import duration_text, format_utc
from spark_jobs.domain.phrases import UNKNOWN, count, number_text, rate_text
from spark_jobs.domain.trends import GroupTrend, GroupWeek
from spark_jobs.domain.window import from_micros

_HEADINGS = (
    Heading("group\ncluster", fold=True),
    Heading("week from", fixed=True),
    *(
        Heading(text, right=True)
        for text in (
            "incidents",
            "minutes with queues\nunowned or owned twice",
            "rebalances",
            "queues\nmoved",
            "time to resolve\n(median)",
            "observed",
        )
    ),
)
#: A week of a group, and whose it is.
_Row = tuple[GroupTrend, GroupWeek]


def show_trends(console: Console, found: Sequence[GroupTrend]) -> None:
    """A row per group in the order given, and per week, the newest first."""
    every = [(one, week) for one in found for week in reversed(one.weeks)]
    worse = sum(1 for one in found if one.worsening > (0, 0, 0))
    show_rows(console, every, _table, _line, f"{count(len(found), 'group')}; {worse} got worse in the last week.")


def _table(rows: Sequence[_Row]) -> Table:
    return table("Week by week; what got worse comes first (UTC)", _HEADINGS, map(_cells, rows), ruled=True)


def _cells(row: _Row) -> Iterable[Text]:
    one, week = row
    yield stacked(one.consumer_group, one.cluster)
    yield Text(f"{from_micros(week.start):%m-%d %H:%M}")
    for text in _texts(week):
        yield Text(text, style="dim" if text == UNKNOWN else "")


def _line(row: _Row) -> str:
    one, week = row
    names = ("incidents", "wrong_minutes", "rebalances", "queues_moved", "time_to_resolve", "observed")
    span = "/".join(format_utc(from_micros(moment)) for moment in (week.start, week.end))
    told = (f"{name}={text}" for name, text in zip(names, _texts(week), strict=True))
    return " ".join((f"cluster={one.cluster}", f"group={one.consumer_group}", f"week={span}", *told))


def _texts(week: GroupWeek) -> Iterable[str]:
    yield number_text(week.incidents)
    yield rate_text(week.wrong_minutes)
    yield number_text(week.rebalances)
    yield number_text(week.queues_moved)
    seconds = week.seconds_to_resolve
    yield UNKNOWN if seconds is None else duration_text(timedelta(seconds=seconds))
    yield f"{week.observed_share:.0%}"
