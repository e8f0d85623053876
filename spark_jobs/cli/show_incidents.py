"""What a person sees of incidents: a line for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from rich.console import Console

from spark_jobs.cli.terminal import Column, known, local, severity_text, show_table, zone_name
from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.model.intervals import duration_text, format_utc
from spark_jobs.domain.model.window import from_micros
from spark_jobs.domain.phrases import number_text
from spark_jobs.show.text.incident_text import attention, incidents_text, was_deleted

#: Groups named in a plain line; more are counted.
_NAMED = 3
#: So much of an id is enough for `--id`.
_ID = 8
#: A terminal narrower than this has no room for what piled up; for rules.
_MIDDLE, _WIDE = 110, 180
#: By `--sort`, what comes first is greatest.
ORDERS: Mapping[str, Callable[[Incident], Any]] = {
    "worst": attention,
    "newest": lambda incident: incident.opened_at,
    "oldest": lambda incident: -incident.opened_at,
    "longest": lambda incident: incident.last_seen_at - incident.opened_at,
    "piled-up": lambda incident: -1 if incident.piled_up is None else incident.piled_up,
}


def show_incidents(console: Console, incidents: Sequence[Incident], unknown: str | None = None) -> None:
    """A line for each incident, in the order given, and the `unknown_text`."""
    summary = [incidents_text(incidents)] if incidents or not unknown else []
    summary += [unknown] if unknown else []
    show_table(console, f"Incidents ({zone_name()})", [*_columns(incidents)], incidents, "; ".join(summary))


def _columns(incidents: Sequence[Incident]) -> Iterator[Column[Incident]]:
    yield Column("", lambda incident: severity_text(incident.severity), "{}", fixed=True)
    yield Column("rule", lambda incident: incident.rule, _rule, fixed=True, least_width=_WIDE)
    if len({incident.cluster for incident in incidents}) > 1:
        yield Column("cluster", lambda incident: incident.cluster, "cluster={}", fold=True)
    if any(incident.teams for incident in incidents):
        yield Column("team", lambda incident: ",".join(incident.teams), _teams, fold=True)
    yield from _COLUMNS


def _rule(incident: Incident) -> str:
    group_count = f"groups={len(incident.groups)}"
    return f"{incident.rule} {_named('group', incident.groups) if len(incident.groups) <= _NAMED else group_count}"


def _teams(incident: Incident) -> str:
    return _named("team", incident.teams)


def _named(name: str, names: Sequence[str]) -> str:
    return f"{name}{'s' if len(names) > 1 else ''}={','.join(names)}" if names else ""


def _since(incident: Incident) -> str:
    return f"since={format_utc(from_micros(incident.opened_at).replace(microsecond=0))}"


def _lasted(incident: Incident) -> str:
    lasted = duration_text(timedelta(microseconds=incident.last_seen_at - incident.opened_at))
    if incident.resolved_at is None:
        return f"{lasted}, open"
    return f"{lasted}, deleted" if was_deleted(incident) else lasted


_COLUMNS: tuple[Column[Incident], ...] = (
    Column("since", lambda incident: f"{local(from_micros(incident.opened_at)):%m-%d %H:%M}", _since, fixed=True),
    Column("lasted", _lasted, "({})", fixed=True),
    Column(
        "piled up", lambda incident: known(number_text(incident.piled_up)), right=True, fixed=True, least_width=_MIDDLE
    ),
    Column("id", lambda incident: incident.incident_id[:_ID], "id={}", fixed=True),
    Column("what happened", lambda incident: incident.headline, "{}", cut=True),
)
