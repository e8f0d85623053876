"""The commands that only read what was published: no JVM where delta-rs reaches the tables."""

from __future__ import annotations

import dataclasses
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from spark_jobs.cli.documents import answered, as_json, incidents_document, trend_rows, trends_document
from spark_jobs.cli.show_incidents import ORDERS, show_incidents
from spark_jobs.cli.show_status import show_statuses
from spark_jobs.cli.show_trends import show_trends
from spark_jobs.cli.terminal import SEVERITY_STYLES, printable, progress_on, show_next, zone_name
from spark_jobs.config.file import load
from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.model.intervals import Interval, format_utc
from spark_jobs.domain.model.window import from_micros
from spark_jobs.domain.rules import unobserved
from spark_jobs.errors import ExitCode
from spark_jobs.show.explain import ExplainRequest, explain_group
from spark_jobs.show.incidents import IncidentQuery, check_rule, not_audited, not_recorded, published_incidents
from spark_jobs.show.recorder import calls_in, recorder_lines
from spark_jobs.show.status import statuses
from spark_jobs.show.suggest import suggestions_of
from spark_jobs.show.text.explanation import lines, unknowns
from spark_jobs.show.text.incident_text import incident_lines, unknown_text
from spark_jobs.show.text.suggestion_text import suggestion_lines
from spark_jobs.show.text.text_view import TextLine
from spark_jobs.show.trends import TrendQuery, trends_of
from spark_jobs.store.location import Location
from spark_jobs.store.read.delta import DeltaTables, is_reached
from spark_jobs.store.read.published import PublishedTables, published_tables
from spark_jobs.store.read.stored import StoredTables


def stored_tables(warehouse: str, say: Callable[[str], None]) -> StoredTables:
    """The tables of the warehouse that a user names."""
    location = Location.parse(warehouse)
    if is_reached(location):
        return DeltaTables(location)
    kind = "a catalog" if location.in_catalog else f"{location.scheme}://"
    say(f"only Spark reads {kind}: this takes longer than a path or an object store")
    from spark_jobs.cli.start import start_spark
    from spark_jobs.store.read.through_spark import SparkTables
    from spark_jobs.store.warehouse import Warehouse

    return SparkTables(start_spark(say), Warehouse.parse(warehouse))


def time_asked(arguments: Namespace, tables: PublishedTables) -> Interval | None:
    """What `--interval` or `--last` says; None: neither."""
    asked: Interval | None = arguments.interval
    return asked if arguments.last is None else tables.last(timedelta(seconds=arguments.last))


def explain_command(arguments: Namespace) -> int:
    """Exit code 0 also where something was wrong: the question has been answered; 2 where nothing worse than INFO was
    found, and what is not known may have been wrong.
    """
    question = ExplainRequest(arguments.group or "", arguments.at, arguments.cluster, arguments.topic)
    with progress_on(Console(stderr=True)) as say:
        stored = stored_tables(arguments.warehouse, say)
        story = explain_group(stored, question, say)
    unknown = unknowns(story)
    if arguments.json:
        print(as_json(dataclasses.asdict(story) | {"unknown": unknown}))
    else:
        told = [*lines(story, zone_name())]
        for one in story.findings:
            told += _recorder(stored, one["rule"], story.cluster, one["start"], one["end"])
        show_explanation(Console(), told)
        of_step = {"interval": story.step, "group": story.consumer_group, "cluster": story.cluster}
        show_next("report", {"warehouse": arguments.warehouse, **of_step})
    found = {one["severity"] for one in story.findings} - {"INFO"}
    return ExitCode.WARNINGS if unknown and not found else ExitCode.CLEAN


def status_command(arguments: Namespace) -> int:
    """Exit code 0 also with findings: `run` and `validate` are for gates; 2 where no group was audited."""
    with progress_on(Console(stderr=True)) as say:
        found = statuses(stored_tables(arguments.warehouse, say), arguments.cluster, arguments.group, say)
    if not answered(arguments, dataclasses.asdict(found), found.groups):
        show_statuses(Console(), found)
        for group in found.groups[:1]:
            of_group = {"group": group["consumer_group"], "cluster": group["cluster"]}
            worst = group["worst"]
            when = {"at": middle(worst["start"], worst["end"])} if worst else {}
            show_next("explain" if worst else "incidents", {"warehouse": arguments.warehouse, **of_group, **when})
    return ExitCode.CLEAN if found.groups else ExitCode.WARNINGS


def middle(start: datetime, end: datetime) -> str:
    """A moment between the two, in whole seconds where one lies there."""
    middle = start + (end - start) / 2
    whole = middle.replace(microsecond=0)
    return format_utc(whole if whole >= start else middle)


def incidents_command(arguments: Namespace) -> int:
    """Exit code 0 also with incidents: `run` and `validate` are for gates; 2 where something was not audited."""
    check_rule(arguments.rule)
    with progress_on(Console(stderr=True)) as say:
        stored = stored_tables(arguments.warehouse, say)
        say("reading the findings")
        tables = published_tables(stored)
        query = IncidentQuery(
            time_asked(arguments, tables),
            arguments.open,
            arguments.cluster,
            arguments.group,
            arguments.id,
            arguments.rule,
            arguments.severity,
            arguments.client,
            load(arguments.config).routes,
        )
        found = sorted(published_incidents(tables, query), key=ORDERS[arguments.sort], reverse=True)
        unaudited = not_audited(tables, query)
        unrecorded = [] if found or unaudited else not_recorded(tables, query)
    document, unknown = incidents_document(found, unaudited, unrecorded), unknown_text(unaudited, unrecorded)
    if not answered(arguments, document, document["incidents"]):
        _show_incidents(arguments, stored, found, unknown)
    return ExitCode.WARNINGS if unknown else ExitCode.CLEAN


def _show_incidents(arguments: Namespace, stored: StoredTables, found: Sequence[Incident], unknown: str | None) -> None:
    if arguments.id is not None:
        show_explanation(Console(), (line for one in found for line in _in_full(stored, one)))
        return
    show_incidents(Console(), found, unknown)
    for one in found[:1]:
        show_next("incidents", {"warehouse": arguments.warehouse, "id": one.incident_id})


def _in_full(stored: StoredTables, one: Incident) -> Iterator[TextLine]:
    yield from incident_lines(one)
    yield from _recorder(stored, one.rule, one.cluster, from_micros(one.opened_at), from_micros(one.last_seen_at))


def _recorder(stored: StoredTables, rule: str, cluster: str, start: datetime, end: datetime) -> Iterator[TextLine]:
    """Whom the recorder called, where nothing was recorded."""
    if rule == unobserved.NAME:
        yield from recorder_lines(calls_in(stored, cluster, Interval(start, end)))


def trends_command(arguments: Namespace) -> int:
    """Exit code 0 whatever got worse."""
    query = TrendQuery(arguments.days, arguments.cluster, arguments.group)
    with progress_on(Console(stderr=True)) as say:
        found = trends_of(stored_tables(arguments.warehouse, say), query, say)
    if not answered(arguments, trends_document(found), trend_rows(found)):
        show_trends(Console(), found)
        for one in found[:1]:
            named = {"cluster": one.cluster, "group": one.consumer_group}
            show_next("incidents", {"warehouse": arguments.warehouse, **named})
    return ExitCode.CLEAN


def suggest_command(arguments: Namespace) -> int:
    """Exit code 0 also where nothing is suggested."""
    query = TrendQuery(arguments.days, arguments.cluster, arguments.group)
    with progress_on(Console(stderr=True)) as say:
        configuration = load(arguments.config)
        interval, found = suggestions_of(stored_tables(arguments.warehouse, say), query, configuration, say)
    print(*suggestion_lines(interval, found), sep="\n")
    return ExitCode.CLEAN


def report_command(arguments: Namespace) -> int:
    """Exit code 0 whatever the page shows: it has been written."""
    with progress_on(Console(stderr=True)) as say:
        from spark_jobs.show.report import ReportRequest, report, write_page

        file = Path(arguments.out)
        stored = stored_tables(arguments.warehouse, say)
        arguments.interval = time_asked(arguments, published_tables(stored))
        routes = load(arguments.config).routes
        request = ReportRequest(arguments.interval, arguments.cluster, arguments.group, arguments.details, routes)
        page = report(stored, request, say)
    write_page(page, file)
    print(f"The report is in {printable(str(file))}: open it in a browser")
    if arguments.trace is not None:
        _write_trace(stored, arguments)
    show_next("status", {"warehouse": arguments.warehouse})
    return ExitCode.CLEAN


def _write_trace(stored: StoredTables, arguments: Namespace) -> None:
    file = Path(arguments.trace)
    with progress_on(Console(stderr=True)) as say:
        from spark_jobs.show.trace import TraceRequest, trace

        request = TraceRequest(arguments.interval, arguments.cluster, arguments.group)
        left_out = trace(stored, request, file, say)
    print(f"The trace is in {printable(str(file))}: open it in ui.perfetto.dev, or with trace_processor")
    for note in left_out:
        print(printable(note))


def metrics_command(arguments: Namespace) -> int:
    """Exit code 0 whatever the metrics tell: they have been written."""
    with progress_on(Console(stderr=True)) as say:
        from prometheus_client import generate_latest

        from spark_jobs.show.metrics import metrics, write_metrics

        routes = load(arguments.config).routes
        found = metrics(stored_tables(arguments.warehouse, say), arguments.cluster, arguments.group, routes, say)
    if arguments.textfile is None:
        # Line by line: on a terminal no name steers it, and a program reads what it would in a file.
        text = generate_latest(found).decode()
        print("\n".join(map(printable, text.split("\n"))) if sys.stdout.isatty() else text, end="")
        return ExitCode.CLEAN
    file = Path(arguments.textfile)
    write_metrics(found, file)
    if file.suffix != ".prom":
        print("node_exporter reads only files that end in .prom", file=sys.stderr)
    return ExitCode.CLEAN


_INDENT = 2
_STYLES = {**SEVERITY_STYLES, "title": "bold", "heading": "italic", "advice": "green", "odd": "yellow"}


def show_explanation(console: Console, lines: Iterable[TextLine]) -> None:
    """The lines one below the other; what a line is too long for goes on below it, at its depth."""
    for line in lines:
        text, depth = Text(printable(line.text), style=_STYLES.get(line.part, "")), _INDENT * line.indent
        if console.is_terminal:
            console.print(Padding(text, (0, 0, 0, depth), expand=False))
        else:
            console.print(Text(" " * depth) + text, soft_wrap=True)
