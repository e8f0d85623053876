"""List incidents, or show one in full."""

from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain
from typing import Annotated, Any, TypedDict

from rich.console import Console

from schemas import INCIDENTS
from spark_jobs.cli.commands.explain import show_explanation
from spark_jobs.cli.documents import CoverageDocument, answered, coverage_document
from spark_jobs.cli.exit_codes import exit_code
from spark_jobs.cli.questions import opened, show_age, time_of
from spark_jobs.cli.tables import Column, known, severity_text, show_rows, table
from spark_jobs.cli.terminal import local, print_line, print_to_stderr, show_next, zone_name
from spark_jobs.domain.coverage import Coverage
from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import from_micros, second_text
from spark_jobs.domain.phrases import count
from spark_jobs.errors import UsageError
from spark_jobs.show.incidents import Incidents, began_unseen
from spark_jobs.show.language import translated
from spark_jobs.show.recorder import incident_stacks, recorder_lines_of, stack_lines
from spark_jobs.show.text.incident_text import (
    attention,
    incident_lines,
    incidents_text,
    lasted_text,
    peak_text,
    state_word,
)
from spark_jobs.show.text.phrases import TextLine
from spark_jobs.store.arrow import arrow_schema
from spark_jobs.store.read.published import published_tables
from spark_jobs.store.read.stored import StoredTables

_INCIDENT_FILTERS = ("interval", "last", "open", "cluster", "group", "rule", "severity", "client", "id")
#: Groups named in a plain line; more are counted.
_NAMED = 3
#: So much of an id is enough for `--id`.
_ID = 8
#: By `--sort`, what comes first is greatest.
ORDERS: Mapping[str, Callable[[Incident], Any]] = {
    "worst": attention,
    "newest": lambda incident: incident.opened_at,
    "oldest": lambda incident: -incident.opened_at,
    "longest": lambda incident: incident.last_seen_at - incident.opened_at,
    "peak-backlog": lambda incident: -1 if incident.peak_backlog_messages is None else incident.peak_backlog_messages,
}


def incidents_command(arguments: Namespace) -> int:
    """The `exit_code` of the incidents, and of how much of their time was observed."""
    if arguments.publish and any(vars(arguments)[name] for name in _INCIDENT_FILTERS):
        raise UsageError("--publish saves the incidents of the whole history: leave out what filters or limits them")
    with opened(arguments) as warehouse:
        if arguments.publish:
            incidents = warehouse.publish_incidents()
            print_to_stderr(f"the table {INCIDENTS.name} has {count(len(incidents), 'row')}")
        else:
            incidents = warehouse.incidents(
                arguments.group,
                cluster=arguments.cluster,
                **time_of(arguments, warehouse),
                is_open=arguments.open,
                incident_id=arguments.id,
                rule=arguments.rule,
                severity=arguments.severity,
                client=arguments.client,
            )
    incidents = in_order(incidents, arguments.sort)
    code = exit_code((incident.severity for incident in incidents.incidents), arguments.fail_on, incidents.coverage)
    if answered(arguments, incidents_document(incidents), incidents.to_arrow):
        return code
    if arguments.id is not None:
        for incident in incidents.incidents:
            show_explanation(Console(), _in_full(warehouse.stored, incident))
    else:
        show_age(incidents.coverage, warehouse.clock())
        if arguments.last is not None:
            print_line(Console(), f"Incidents of {incidents.interval} (UTC), the newest audited time.")
        show_incidents(Console(), incidents.incidents, incidents.coverage)
        for incident in incidents.incidents[:1]:
            show_next("incidents", arguments.warehouse, id=incident.incident_id)
    return code


def in_order(incidents: Incidents, order: str = "worst") -> Incidents:
    """The same, in one of `ORDERS`."""
    return replace(incidents, incidents=sorted(incidents.incidents, key=ORDERS[order], reverse=True))


class IncidentsDocument(TypedDict):
    """Incidents of a time; docs/json-keys.txt says what its keys mean."""

    interval: Interval | None
    incidents: list[Annotated[dict[str, Any], arrow_schema(INCIDENTS)]]
    not_audited: list[Interval]
    not_recorded: list[Interval]
    data_until: Mapping[str, datetime]
    coverage: CoverageDocument


def incidents_document(incidents: Incidents) -> IncidentsDocument:
    """Incidents for `as_json`, and how much of their time was observed."""
    coverage = incidents.coverage
    return {
        "interval": incidents.interval,
        "incidents": [*incidents],
        "not_audited": coverage.unaudited_times(recorded=True),
        "not_recorded": coverage.unaudited_times(recorded=False),
        "data_until": coverage.data_until,
        "coverage": coverage_document(coverage),
    }


def _in_full(stored: StoredTables, incident: Incident) -> Iterator[TextLine]:
    start, end = from_micros(incident.opened_at), from_micros(incident.last_seen_at)
    is_unseen = began_unseen(published_tables(stored), incident)
    lines = incident_lines(incident, began_unseen=is_unseen)
    calls = recorder_lines_of(stored, incident.rule, incident.cluster, start, end)
    return chain(lines, calls, stack_lines(incident_stacks(stored, incident)))


def show_incidents(console: Console, incidents: Sequence[Incident], coverage: Coverage) -> None:
    """A line for each incident, in the order given, and what the answer stands on if there is none, or if it is not
    about the whole.
    """
    columns = [*_columns(incidents)]
    show_rows(
        console,
        incidents,
        lambda: table(f"Incidents ({zone_name()})", columns, incidents, console.width),
        lambda incident: _line(incident, with_cluster=_CLUSTER in columns),
        incidents_text(incidents, coverage),
    )
    for sentence in coverage.lacks():
        print_line(console, sentence)


def _columns(incidents: Sequence[Incident]) -> Iterator[Column[Incident]]:
    yield from _FIRST
    if len({incident.cluster for incident in incidents}) > 1:
        yield _CLUSTER
    if any(incident.teams for incident in incidents):
        yield Column("team", lambda incident: ",".join(incident.teams), fold=True, drop=1)
    yield from _LAST


def _line(incident: Incident, *, with_cluster: bool) -> str:
    """The incident where there is no terminal, its sentence last."""
    groups = incident.consumer_groups
    words = (
        f"{incident.severity} {incident.rule}",
        _named("group", groups) if len(groups) <= _NAMED else f"groups={len(groups)}",
        f"cluster={incident.cluster}" if with_cluster else "",
        _named("team", incident.teams),
        f"since={second_text(incident.opened_at)} ({lasted_text(incident)}, {state_word(incident)})",
        f"id={incident.incident_id[:_ID]} {translated(incident.headline)}",
    )
    return " ".join(filter(None, words))


def _named(name: str, names: Sequence[str]) -> str:
    return f"{name}{'s' if len(names) > 1 else ''}={','.join(names)}" if names else ""


def _first_group(incident: Incident) -> tuple[str, str | None]:
    more = len(incident.consumer_groups) - 1
    return incident.consumer_groups[0], f"and {more:,} more" if more else None


_CLUSTER = Column[Incident]("cluster", lambda incident: incident.cluster, fold=True)
#: The sentence comes first and always stays; the name of the rule is the first that a narrow terminal leaves out.
_FIRST: tuple[Column[Incident], ...] = (
    Column("", lambda incident: severity_text(incident.severity), fixed=True),
    Column("what happened", lambda incident: incident.headline, fold=True, enough=40),
    Column("state", lambda incident: f"{state_word(incident)}, {lasted_text(incident)}", fixed=True),
    Column("highest\nbacklog", lambda incident: known(peak_text(incident)), right=True, fixed=True),
    Column("id", lambda incident: incident.incident_id[:_ID], fixed=True),
)
_LAST: tuple[Column[Incident], ...] = (
    Column("since", lambda incident: f"{local(from_micros(incident.opened_at)):%m-%d %H:%M}", fixed=True, drop=2),
    Column("group", _first_group, fold=True, drop=3),
    Column("rule", lambda incident: incident.rule, fixed=True, drop=4),
)
