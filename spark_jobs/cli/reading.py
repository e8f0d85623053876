"""The commands that only read what was published: no JVM where delta-rs reaches the tables."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from schemas import INCIDENTS
from spark_jobs.api.warehouse import AuditedWarehouse, open_warehouse
from spark_jobs.cli import show_status
from spark_jobs.cli.documents import answered, incidents_document, statuses_document, trends_document
from spark_jobs.cli.show_incidents import ORDERS, show_incidents
from spark_jobs.cli.terminal import (
    SEVERITY_STYLES,
    Column,
    known,
    local,
    measure,
    print_line,
    print_to_stderr,
    printable,
    progress_on,
    show_next,
    show_table,
    zone_name,
)
from spark_jobs.domain.incidents.trends import GroupTrend, GroupWeek
from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.model.intervals import EVER, Interval, format_utc
from spark_jobs.domain.model.severities import INFO
from spark_jobs.domain.model.window import from_micros
from spark_jobs.domain.phrases import count
from spark_jobs.domain.rules import unobserved
from spark_jobs.errors import ExitCode, UsageError
from spark_jobs.show.data_age import DataAge
from spark_jobs.show.recorder import calls_in, recorder_lines
from spark_jobs.show.suggest import suggestion_lines, suggestions_of
from spark_jobs.show.text.explanation_text import lines, unknowns
from spark_jobs.show.text.incident_text import incident_lines, unknown_text
from spark_jobs.show.text.interval_text import TextLine
from spark_jobs.show.trends import TrendQuery, is_known, trends_text, week_texts
from spark_jobs.store.read.stored import StoredTables


@contextmanager
def opened(arguments: Namespace) -> Iterator[AuditedWarehouse]:
    """The command's warehouse, with its configuration where it has one; what is being done with it is shown."""
    with progress_on() as say:
        yield open_warehouse(arguments.warehouse, vars(arguments).get("config"), say)


def time_of(arguments: Namespace) -> dict[str, Any]:
    """Return what `--interval` or `--last` says, as the questions of a warehouse take it; neither: no time."""
    if arguments.last is not None:
        return {"since": timedelta(seconds=arguments.last)}
    return {} if arguments.interval is None else {"since": arguments.interval.start, "until": arguments.interval.end}


def explain_command(arguments: Namespace) -> int:
    """Exit code 0 also where something was wrong: the question has been answered; 2 where nothing worse than INFO was
    found, and what is not known may have been wrong.
    """
    with opened(arguments) as warehouse:
        group, named = arguments.group or "", {"cluster": arguments.cluster, "topic": arguments.topic}
        story = warehouse.explain(group, arguments.at, **named).facts
    unknown = unknowns(story)
    if not answered(arguments, vars(story) | {"unknown": unknown}):
        text_lines = [*lines(story, zone_name())]
        for row in story.findings:
            text_lines += _recorder(warehouse.stored, row["rule"], story.cluster, row["start"], row["end"])
        show_explanation(Console(), text_lines)
        names = {"interval": str(story.step), "group": story.consumer_group, "cluster": story.cluster}
        show_next("report", arguments.warehouse, **names)
    severities = {row["severity"] for row in story.findings} - {INFO}
    return ExitCode.WARNINGS if unknown and not severities else ExitCode.CLEAN


def status_command(arguments: Namespace) -> int:
    """Exit code 0 also with findings: `run` and `validate` are for gates; 2 where no group was audited."""
    with opened(arguments) as warehouse:
        statuses = warehouse.status(arguments.group, cluster=arguments.cluster)
    statuses.groups.sort(key=show_status.ORDERS[arguments.sort], reverse=True)
    if not answered(arguments, statuses_document(statuses), statuses.to_arrow):
        show_age(statuses.data_age, warehouse.clock())
        if arguments.group is None:
            show_status.show_statuses(Console(), statuses, every=arguments.all)
        else:
            show_status.show_group(Console(), statuses)
        for group in statuses.groups[:1]:
            names = {"group": group["consumer_group"], "cluster": group["cluster"]}
            worst = group["worst"]
            moment = {"at": middle(worst["start"], worst["end"])} if worst else {}
            show_next("explain" if worst else "incidents", arguments.warehouse, **names, **moment)
    return ExitCode.CLEAN if statuses.groups else ExitCode.WARNINGS


def show_age(data_age: DataAge | None, now: datetime) -> None:
    """Show where the data end: what is shown is of then, not of now."""
    if data_age is not None:
        print_line(Console(), f"{data_age.text(now)}.")


def middle(start: datetime, end: datetime) -> str:
    """A moment between the two, in whole seconds where one lies there."""
    middle = start + (end - start) / 2
    full_second = middle.replace(microsecond=0)
    return format_utc(full_second if full_second >= start else middle)


_INCIDENT_FILTERS = ("interval", "last", "open", "cluster", "group", "rule", "severity", "client", "id")


def incidents_command(arguments: Namespace) -> int:
    """Exit code 0 also with incidents: `run` and `validate` are for gates; 2 where something was not audited."""
    if arguments.publish and any(vars(arguments)[name] for name in _INCIDENT_FILTERS):
        raise UsageError("--publish saves the incidents of the whole history: leave out what filters or limits them")
    with opened(arguments) as warehouse:
        incidents = warehouse.incidents(
            arguments.group,
            cluster=arguments.cluster,
            **time_of(arguments),
            is_open=arguments.open,
            incident_id=arguments.id,
            rule=arguments.rule,
            severity=arguments.severity,
            client=arguments.client,
        )
        if arguments.publish:
            warehouse.stored.replace(INCIDENTS, incidents.to_arrow())
            print_to_stderr(f"the table {INCIDENTS.name} has {count(len(incidents), 'row')}")
    incidents = replace(incidents, incidents=sorted(incidents.incidents, key=ORDERS[arguments.sort], reverse=True))
    unknown = unknown_text(incidents.not_audited, incidents.not_recorded)
    if answered(arguments, incidents_document(incidents), incidents.to_arrow):
        return ExitCode.WARNINGS if unknown else ExitCode.CLEAN
    if arguments.id is not None:
        for incident in incidents.incidents:
            show_explanation(Console(), _in_full(warehouse.stored, incident))
    else:
        show_age(incidents.data_age, warehouse.clock())
        show_incidents(Console(), incidents.incidents, unknown)
        for incident in incidents.incidents[:1]:
            show_next("incidents", arguments.warehouse, id=incident.incident_id)
    return ExitCode.WARNINGS if unknown else ExitCode.CLEAN


def _in_full(stored: StoredTables, incident: Incident) -> Iterator[TextLine]:
    start, end = from_micros(incident.opened_at), from_micros(incident.last_seen_at)
    return chain(incident_lines(incident), _recorder(stored, incident.rule, incident.cluster, start, end))


def _recorder(stored: StoredTables, rule: str, cluster: str, start: datetime, end: datetime) -> Iterator[TextLine]:
    """Whom the recorder called, where nothing was recorded."""
    if rule == unobserved.NAME:
        yield from recorder_lines(calls_in(stored, cluster, Interval(start, end)))


def trends_command(arguments: Namespace) -> int:
    """Exit code 0 whatever got worse."""
    with opened(arguments) as warehouse:
        trends = warehouse.trends(arguments.group, cluster=arguments.cluster, days=arguments.days)
    if not answered(arguments, trends_document(trends), trends.to_arrow):
        show_trends(Console(), trends.groups)
        for trend in trends.groups[:1]:
            show_next("incidents", arguments.warehouse, cluster=trend.cluster, group=trend.consumer_group)
    return ExitCode.CLEAN


def suggest_command(arguments: Namespace) -> int:
    """Exit code 0 also where nothing is suggested."""
    query = TrendQuery(arguments.days, arguments.cluster, arguments.group)
    with opened(arguments) as warehouse:
        interval, suggestions = suggestions_of(warehouse.stored, query, warehouse.configuration, warehouse.progress)
    print(*suggestion_lines(interval, suggestions), sep="\n")
    return ExitCode.CLEAN


def report_command(arguments: Namespace) -> int:
    """Exit code 0 whatever the page shows: it has been written."""
    with opened(arguments) as warehouse:
        time = time_of(arguments)
        page = warehouse.report(arguments.group, cluster=arguments.cluster, **time, detailed=arguments.details)
    page.save(arguments.out)
    print(f"The report is in {printable(arguments.out)}: open it in a browser")
    if arguments.trace is not None:
        _write_trace(arguments, Path(arguments.trace))
    show_next("status", arguments.warehouse)
    return ExitCode.CLEAN


def _write_trace(arguments: Namespace, file: Path) -> None:
    with opened(arguments) as warehouse:
        from spark_jobs.show.trace import TraceRequest, trace

        request = TraceRequest(warehouse.time(**time_of(arguments)) or EVER, arguments.cluster, arguments.group)
        left_out = trace(warehouse.stored, request, file, warehouse.progress)
    print(f"The trace is in {printable(str(file))}: open it in ui.perfetto.dev, or with trace_processor")
    for note in left_out:
        print(printable(note))


def metrics_command(arguments: Namespace) -> int:
    """Exit code 0 whatever the metrics tell: they have been written."""
    with opened(arguments) as warehouse:
        from prometheus_client import generate_latest

        from spark_jobs.show.metrics import write_metrics

        gauges = warehouse.metrics(arguments.group, cluster=arguments.cluster)
    if arguments.textfile is None:
        # Line by line: on a terminal no name steers it, and a program reads what it would in a file.
        text = generate_latest(gauges).decode()
        print("\n".join(map(printable, text.split("\n"))) if sys.stdout.isatty() else text, end="")
        return ExitCode.CLEAN
    file = Path(arguments.textfile)
    write_metrics(gauges, file)
    if file.suffix != ".prom":
        print("node_exporter reads only files that end in .prom", file=sys.stderr)
    return ExitCode.CLEAN


_INDENT = 2
_STYLES = {**SEVERITY_STYLES, "title": "bold", "heading": "italic", "advice": "green", "odd": "yellow"}


def show_explanation(console: Console, lines: Iterable[TextLine]) -> None:
    """Prints the lines; a long one is wrapped at its own indentation."""
    for line in lines:
        text, depth = Text(printable(line.text), style=_STYLES.get(line.part, "")), _INDENT * line.indent
        if console.is_terminal:
            console.print(Padding(text, (0, 0, 0, depth), expand=False))
        else:
            console.print(Text(" " * depth) + text, soft_wrap=True)


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
    measure("time to resolve\n(median)", "time_to_resolve", _week_text(4), drop=3),
    measure("observed", "observed", _week_text(5), drop=2),
)
