"""What a person, or a program, sees of a group before and after a change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from rich.console import Console
from rich.table import Table

from spark_jobs.cli.tables import Heading, show_rows, table
from spark_jobs.cli.terminal import print_line, zone_name
from spark_jobs.domain.intervals import duration_text, format_utc
from spark_jobs.domain.phrases import UNKNOWN, count, number_text, rate_text
from spark_jobs.domain.window import from_micros
from spark_jobs.jobs.compare import GroupTime

#: By measure, as a program reads it: what a person reads.
_MEASURES: Mapping[str, str] = {
    "replayed_seconds": "time in which owners are known",
    "incidents": "incidents that began",
    "rebalances": "rebalances",
    "queues_moved": "queues moved",
    "members": "members (mean)",
    "idle_members": "idle members (mean)",
    "unowned_queues": "queues without owner (mean)",
    "double_owned_queues": "queues owned twice (mean)",
    "busiest_member": "queues of the busiest member",
    "in_rate": "messages in, per second",
    "out_rate": "messages out, per second",
    "highest_backlog": "highest backlog (messages)",
    "last_backlog": "backlog at the end (messages)",
    "consumed_twice": "messages consumed twice",
}


def show_compared(console: Console, found: Sequence[GroupTime]) -> None:
    """A line per measure, or one per interval where nobody watches; and the incidents that began."""
    title = f"{found[0].consumer_group} (cluster {found[0].cluster}), {zone_name()}"
    began = sum(len(one.incidents) for one in found)
    show_rows(console, found, lambda some: _table(title, some), _line, f"{count(began, 'incident')} began.")
    for one in (incident for time in found for incident in time.incidents):
        print_line(
            console, f"{one.severity} {format_utc(from_micros(one.opened_at))} {one.headline} ({one.incident_id})"
        )


def _table(title: str, found: Sequence[GroupTime]) -> Table:
    rows = [measures(one) for one in found]
    headings = (Heading("", fold=True), *(Heading(str(one.interval).replace("/", " –\n"), right=True) for one in found))
    return table(
        title, headings, ([text, *(_text(name, row[name]) for row in rows)] for name, text in _MEASURES.items())
    )


def _line(one: GroupTime) -> str:
    told = (f"{name}={_text(name, value)}" for name, value in measures(one).items())
    return " ".join((str(one.interval), f"cluster={one.cluster}", f"group={one.consumer_group}", *told))


def measures(one: GroupTime) -> dict[str, Any]:
    """What is compared; None is unknown."""
    found = dict.fromkeys(_MEASURES) | {"incidents": len(one.incidents)}
    if one.happened is None:
        return found | {"replayed_seconds": 0.0}
    told = one.happened.outcome
    return found | {
        "replayed_seconds": one.happened.replayed,
        "rebalances": told.rebalances,
        "queues_moved": told.moves,
        "members": told.members,
        "idle_members": told.idle,
        "unowned_queues": told.unowned,
        "double_owned_queues": told.owned_twice,
        "busiest_member": told.busiest,
        "in_rate": one.happened.in_rate,
        "out_rate": one.happened.out_rate,
        "highest_backlog": told.highest,
        "last_backlog": told.last,
        "consumed_twice": told.consumed_twice,
    }


def _text(name: str, value: Any) -> str:
    if value is None:
        return UNKNOWN
    if name == "replayed_seconds":
        return duration_text(timedelta(seconds=value))
    return rate_text(value) if isinstance(value, float) else number_text(value)


def compared_rows(found: Sequence[GroupTime]) -> list[dict[str, Any]]:
    """A row per interval."""
    return [
        {
            "cluster": one.cluster,
            "consumer_group": one.consumer_group,
            "start": one.interval.start,
            "end": one.interval.end,
            **measures(one),
            "incident_ids": [incident.incident_id for incident in one.incidents],
        }
        for one in found
    ]
