"""Compare the last weeks of every group."""

from argparse import Namespace
from collections.abc import Callable, Sequence

from rich.console import Console
from rich.text import Text

from spark_jobs.cli.documents import answered
from spark_jobs.cli.questions import opened
from spark_jobs.cli.tables import Column, known, measure, show_table
from spark_jobs.cli.terminal import local, show_next, zone_name
from spark_jobs.domain.incidents.trends import GroupTrend, GroupWeek
from spark_jobs.domain.model.intervals import format_utc
from spark_jobs.domain.model.window import from_micros
from spark_jobs.errors import ExitCode
from spark_jobs.show.trends import is_known, trends_text, week_row, week_texts


def trends_command(arguments: Namespace) -> int:
    """Exit code 0 whatever got worse."""
    with opened(arguments) as warehouse:
        trends = warehouse.trends(arguments.group, cluster=arguments.cluster, days=arguments.days)
    groups = [trend._asdict() | {"weeks": [*map(week_row, trend.weeks)]} for trend in trends.groups]
    if not answered(arguments, {"groups": groups}, trends.to_arrow):
        show_trends(Console(), trends.groups)
        for trend in trends.groups[:1]:
            show_next("incidents", arguments.warehouse, cluster=trend.cluster, group=trend.consumer_group)
    return ExitCode.CLEAN


#: A week of a group, and whose it is.
_TrendRow = tuple[GroupTrend, GroupWeek]


def show_trends(console: Console, trends: Sequence[GroupTrend]) -> None:
    """A row per group in the order given, and per week of which anything is known, the newest first."""
    rows = [(trend, week) for trend in trends for week in reversed(trend.weeks) if is_known(week)]
    title = f"Week by week; what got worse comes first ({zone_name()})"
    show_table(console, title, _TREND_COLUMNS, rows, trends_text(trends), ruled=True)


def _week_text(place: int) -> Callable[[_TrendRow], Text]:
    """One of the `week_texts`."""
    return lambda row: known([*week_texts(row[1])][place])


def _week_span(row: _TrendRow) -> str:
    return "week=" + "/".join(format_utc(from_micros(moment)) for moment in (row[1].start, row[1].end))


_TREND_COLUMNS: tuple[Column[_TrendRow], ...] = (
    Column("group\ncluster", lambda row: (row[0].consumer_group, row[0].cluster), "cluster={1} group={0}", fold=True),
    Column("week from", lambda row: f"{local(from_micros(row[1].start)):%m-%d %H:%M}", _week_span, fixed=True),
    measure("incidents", "incidents", _week_text(0)),
    measure("minutes with\nwrong owners", "wrong_minutes", _week_text(1)),
    measure("rebalances", "rebalances", _week_text(2)),
    measure("queues\nmoved", "queues_moved", _week_text(3), drop=1),
    measure("rollouts", "rollouts", _week_text(4), drop=4),
    measure("time to resolve\n(median)", "time_to_resolve", _week_text(5), drop=3),
    measure("observed", "observed", _week_text(6), drop=2),
)
