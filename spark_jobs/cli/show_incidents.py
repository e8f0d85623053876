"""What a person sees of incidents: a table, or plain lines where nobody watches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from spark_jobs.cli.terminal import SEVERITY_STYLES, Heading, local, show_rows, stacked, table, zone_name
from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.model.intervals import duration_text, format_utc
from spark_jobs.domain.model.window import from_micros
from spark_jobs.domain.phrases import UNKNOWN, number_text
from spark_jobs.show.text.incident_text import attention, incidents_text, what_text

#: Groups in a line; more are counted.
_NAMED = 3
_HEADINGS = (
    Heading("severity\nid", fixed=True),
    Heading("what happened\nrule, cause", fold=True),
    Heading("from – to\nduration", fixed=True),
    Heading("messages\npiled up", right=True, fixed=True),
    Heading("conse-\nquences", right=True, fixed=True),
)


#: By `--sort`, what comes first is greatest.
ORDERS: Mapping[str, Callable[[Incident], Any]] = {
    "worst": attention,
    "newest": lambda one: one.opened_at,
    "oldest": lambda one: -one.opened_at,
    "longest": lambda one: one.last_seen_at - one.opened_at,
    "piled-up": lambda one: -1 if one.piled_up is None else one.piled_up,
}


def show_incidents(console: Console, incidents: Sequence[Incident], unknown: str | None = None) -> None:
    """The incidents in the order given, and the `unknown_text`; one line each where the console is no terminal."""
    told = [incidents_text(incidents)] if incidents or not unknown else []
    told += [unknown] if unknown else []
    show_rows(console, incidents, _table, _line, "; ".join(told))


def _table(incidents: Sequence[Incident]) -> Table:
    return table(f"Incidents ({zone_name()})", _HEADINGS, map(_cells, incidents), ruled=True)


def _cells(one: Incident) -> Iterable[Text]:
    start, end = local(from_micros(one.opened_at)), from_micros(one.last_seen_at)
    until = "open" if one.resolved_at is None else f"{local(from_micros(one.resolved_at)):%m-%d %H:%M:%S}"
    yield Text.assemble((one.severity, SEVERITY_STYLES[one.severity]), (f"\n{one.incident_id}", "dim"))
    yield stacked(one.headline, what_text(one))
    yield Text.assemble(f"{start:%m-%d %H:%M:%S} –\n{until}", (f"\n{duration_text(end - start)}", "dim"))
    yield Text(number_text(one.piled_up), style="dim" if one.piled_up is None else "")
    yield Text(f"{len(one.consequences):,}")


def _line(one: Incident) -> str:
    until = "open" if one.resolved_at is None else format_utc(from_micros(one.resolved_at))
    lasted = duration_text(timedelta(microseconds=one.last_seen_at - one.opened_at))
    parts = (
        one.severity,
        one.rule,
        f"id={one.incident_id}",
        f"cluster={one.cluster}",
        f"groups={','.join(one.groups) if len(one.groups) <= _NAMED else len(one.groups)}",
        *((f"teams={','.join(one.teams)}",) if one.teams else ()),
        f"{format_utc(from_micros(one.opened_at))}/{until}",
        f"({lasted})",
        f"cause={one.cause}",
        f"piled_up={UNKNOWN if one.piled_up is None else one.piled_up}",
        f"unowned_queue_minutes={one.unowned_queue_minutes:.1f}",
        f"consequences={len(one.consequences)}:",
        one.headline,
    )
    return " ".join(parts)
