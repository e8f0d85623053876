"""What a person sees of incidents: a line for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from rich.console import Console
from rich.text import Text

from spark_jobs.cli.terminal import SEVERITY_STYLES, Column, known, local, show_table, zone_name
from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.model.intervals import duration_text, format_utc
from spark_jobs.domain.model.window import from_micros
from spark_jobs.domain.phrases import number_text
from spark_jobs.show.text.incident_text import attention, incidents_text

#: Groups named in a plain line; more are counted.
_NAMED = 3
#: So much of an id is enough for `--id`.
_ID = 8
#: A terminal narrower than this has no room for what piled up; for rules.
_MIDDLE, _WIDE = 110, 180
#: By `--sort`, what comes first is greatest.
ORDERS: Mapping[str, Callable[[Incident], Any]] = {
    "worst": attention,
    "newest": lambda one: one.opened_at,
    "oldest": lambda one: -one.opened_at,
    "longest": lambda one: one.last_seen_at - one.opened_at,
    "piled-up": lambda one: -1 if one.piled_up is None else one.piled_up,
}


def show_incidents(console: Console, incidents: Sequence[Incident], unknown: str | None = None) -> None:
    """A line for each incident, in the order given, and the `unknown_text`."""
    told = [incidents_text(incidents)] if incidents or not unknown else []
    told += [unknown] if unknown else []
    show_table(console, f"Incidents ({zone_name()})", [*_columns(incidents)], incidents, "; ".join(told))


def _columns(incidents: Sequence[Incident]) -> Iterator[Column[Incident]]:
    yield Column("", lambda one: Text(one.severity, SEVERITY_STYLES[one.severity]), "{}", fixed=True)
    yield Column("rule", lambda one: one.rule, _rule, fixed=True, least_width=_WIDE)
    if len({one.cluster for one in incidents}) > 1:
        yield Column("cluster", lambda one: one.cluster, "cluster={}", fold=True)
    if any(one.teams for one in incidents):
        yield Column("team", lambda one: ",".join(one.teams), lambda one: _named("team", one.teams), fold=True)
    yield from _COLUMNS


def _rule(one: Incident) -> str:
    many = f"groups={len(one.groups)}"
    return f"{one.rule} {_named('group', one.groups) if len(one.groups) <= _NAMED else many}"


def _named(thing: str, names: Sequence[str]) -> str:
    return f"{thing}{'s' if len(names) > 1 else ''}={','.join(names)}" if names else ""


def _since(one: Incident) -> str:
    return f"since={format_utc(from_micros(one.opened_at).replace(microsecond=0))}"


def _lasted(one: Incident) -> str:
    lasted = duration_text(timedelta(microseconds=one.last_seen_at - one.opened_at))
    return lasted if one.resolved_at else f"{lasted}, open"


_COLUMNS: tuple[Column[Incident], ...] = (
    Column("since", lambda one: f"{local(from_micros(one.opened_at)):%m-%d %H:%M}", _since, fixed=True),
    Column("lasted", _lasted, "({})", fixed=True),
    Column("piled up", lambda one: known(number_text(one.piled_up)), right=True, fixed=True, least_width=_MIDDLE),
    Column("id", lambda one: one.incident_id[:_ID], "id={}", fixed=True),
    Column("what happened", lambda one: one.headline, "{}", cut=True),
)
