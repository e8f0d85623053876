"""List incidents, or show one in full."""

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

from rich.console import Console

from schemas import INCIDENTS
from spark_jobs.cli.commands.explain import recorder_lines_of, show_explanation
from spark_jobs.cli.documents import answered, coverage_document
from spark_jobs.cli.exit_codes import exit_code
from spark_jobs.cli.questions import opened, show_age, time_of
from spark_jobs.cli.show_incidents import ORDERS, show_incidents
from spark_jobs.cli.terminal import print_line, print_to_stderr, show_next
from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.model.window import from_micros
from spark_jobs.domain.phrases import count
from spark_jobs.errors import UsageError
from spark_jobs.show.incidents import Incidents
from spark_jobs.show.text.incident_text import incident_lines
from spark_jobs.show.text.interval_text import TextLine
from spark_jobs.store.read.stored import StoredTables

_INCIDENT_FILTERS = ("interval", "last", "open", "cluster", "group", "rule", "severity", "client", "id")


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
    incidents = replace(incidents, incidents=sorted(incidents.incidents, key=ORDERS[arguments.sort], reverse=True))
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


def incidents_document(incidents: Incidents) -> dict[str, Any]:
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
    return chain(incident_lines(incident), recorder_lines_of(stored, incident.rule, incident.cluster, start, end))
