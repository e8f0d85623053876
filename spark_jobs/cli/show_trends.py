"""What a person sees of trends: a table, or plain lines where nobody watches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from spark_jobs.cli.terminal import Heading, local, show_rows, stacked, table, zone_name
from spark_jobs.domain.incidents.trends import GroupTrend, GroupWeek
from spark_jobs.domain.model.intervals import format_utc
from spark_jobs.domain.model.window import from_micros
from spark_jobs.domain.phrases import UNKNOWN
from spark_jobs.show.text.trend_text import is_told, trends_text, week_texts

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
    """A row per group in the order given, and per week of which anything is known, the newest first."""
    every = [(one, week) for one in found for week in reversed(one.weeks) if is_told(week)]
    show_rows(console, every, _table, _line, trends_text(found))


def _table(rows: Sequence[_Row]) -> Table:
    return table(f"Week by week; what got worse comes first ({zone_name()})", _HEADINGS, map(_cells, rows), ruled=True)


def _cells(row: _Row) -> Iterable[Text]:
    one, week = row
    yield stacked(one.consumer_group, one.cluster)
    yield Text(f"{local(from_micros(week.start)):%m-%d %H:%M}")
    for text in week_texts(week):
        yield Text(text, style="dim" if text == UNKNOWN else "")


def _line(row: _Row) -> str:
    one, week = row
    names = ("incidents", "wrong_minutes", "rebalances", "queues_moved", "time_to_resolve", "observed")
    span = "/".join(format_utc(from_micros(moment)) for moment in (week.start, week.end))
    told = (f"{name}={text}" for name, text in zip(names, week_texts(week), strict=True))
    return " ".join((f"cluster={one.cluster}", f"group={one.consumer_group}", f"week={span}", *told))
