"""Compare a group at two times."""

from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from operator import attrgetter
from typing import Any

import pyarrow as pa
from rich.console import Console, RenderableType

from spark_jobs.cli.documents import answered
from spark_jobs.cli.questions import opened
from spark_jobs.cli.tables import Column, show_rows, table
from spark_jobs.cli.terminal import print_line, show_next, zone_name
from spark_jobs.domain.model.intervals import duration_text, format_utc
from spark_jobs.domain.model.window import from_micros
from spark_jobs.domain.phrases import UNKNOWN, count, number_text, rate_text
from spark_jobs.errors import ExitCode
from spark_jobs.show.compare import GroupTime, compared_times
from spark_jobs.store.read.published import Scope


def compare_command(arguments: Namespace) -> int:
    """Exit code 0 whatever differs; 2 where the owners of the queues were not known in one of the intervals."""
    with opened(arguments) as warehouse:
        scope, intervals = Scope(None, arguments.cluster, arguments.group), (arguments.BEFORE, arguments.AFTER)
        times = compared_times(warehouse.stored, scope, intervals, warehouse.progress)
    rows = compared_rows(times)
    if not answered(arguments, {"compared": rows}, partial(pa.Table.from_pylist, rows, _COMPARED)):
        show_compared(Console(), times)
        names = {"interval": str(arguments.AFTER), "group": times[0].consumer_group, "cluster": times[0].cluster}
        show_next("incidents", arguments.warehouse, **names)
    return ExitCode.CLEAN if all(group_time.outcome for group_time in times) else ExitCode.WARNINGS


def _of_outcome(name: str) -> Callable[[GroupTime], Any]:
    """The value of that name in what happened; None is unknown."""
    return lambda group_time: group_time.outcome and getattr(group_time.outcome, name)


_WHOLE, _REAL = pa.int64(), pa.float64()
#: By the name that a program reads: what a person reads, the type of the column, and the value.
_MEASURES: Mapping[str, tuple[str, pa.DataType, Callable[[GroupTime], Any]]] = {
    "replayed_seconds": ("time in which owners are known", _REAL, attrgetter("replayed_seconds")),
    "incidents": ("incidents that began", _WHOLE, lambda time: len(time.incidents)),
    "rebalances": ("rebalances", _WHOLE, _of_outcome("rebalances")),
    "queues_moved": ("queues moved", _WHOLE, _of_outcome("moves")),
    "members": ("members (mean)", _REAL, _of_outcome("members")),
    "idle_members": ("idle members (mean)", _REAL, _of_outcome("idle")),
    "unassigned_queues": ("queues without owner (mean)", _REAL, _of_outcome("unassigned_queues")),
    "double_owned_queues": ("queues owned twice (mean)", _REAL, _of_outcome("double_owned_queues")),
    "busiest_member": ("queues of the busiest member", _WHOLE, _of_outcome("busiest")),
    "produced_messages_per_second": ("messages in, per second", _REAL, attrgetter("produced_messages_per_second")),
    "consumed_messages_per_second": ("messages out, per second", _REAL, attrgetter("consumed_messages_per_second")),
    "highest_backlog": ("highest backlog (messages)", _WHOLE, _of_outcome("highest")),
    "last_backlog": ("backlog at the end (messages)", _WHOLE, _of_outcome("last")),
    "consumed_twice": ("messages consumed twice", _WHOLE, _of_outcome("consumed_twice")),
}


_COMPARED = pa.schema(
    {
        **dict.fromkeys(("cluster", "consumer_group"), pa.string()),
        **dict.fromkeys(("start", "end"), pa.timestamp("us", "UTC")),
        **{name: kind for name, (_, kind, _) in _MEASURES.items()},
        "incident_ids": pa.list_(pa.string()),
    }
)


def show_compared(console: Console, times: Sequence[GroupTime]) -> None:
    """Print a line per measure, or one per interval where output is no terminal; and the incidents that began."""
    title = f"{times[0].consumer_group} (cluster {times[0].cluster}), {zone_name()}"
    began = sum(len(group_time.incidents) for group_time in times)
    show_rows(console, times, lambda: _table(title, times, console.width), _line, f"{count(began, 'incident')} began.")
    for incident in (incident for time in times for incident in time.incidents):
        opened_at = format_utc(from_micros(incident.opened_at))
        print_line(console, f"{incident.severity} {opened_at} {incident.headline} ({incident.incident_id})")


def _table(title: str, times: Sequence[GroupTime], width: int) -> RenderableType:
    def measured(group_time: GroupTime) -> Column[str]:
        heading = str(group_time.interval).replace("/", " –\n")
        return Column(heading, lambda name: _text(name, group_time), right=True)

    named = Column[str]("", lambda name: _MEASURES[name][0], fold=True)
    return table(title, (named, *map(measured, times)), [*_MEASURES], width)


def _line(group_time: GroupTime) -> str:
    names = f"{group_time.interval} cluster={group_time.cluster} group={group_time.consumer_group}"
    return " ".join((names, *(f"{name}={_text(name, group_time)}" for name in _MEASURES)))


def _text(name: str, group_time: GroupTime) -> str:
    _, _, measured = _MEASURES[name]
    value = measured(group_time)
    if value is None:
        return UNKNOWN
    if name == "replayed_seconds":
        return duration_text(timedelta(seconds=value))
    return rate_text(value) if isinstance(value, float) else number_text(value)


def compared_rows(times: Sequence[GroupTime]) -> list[dict[str, Any]]:
    """A row per interval."""
    return [
        {
            "cluster": group_time.cluster,
            "consumer_group": group_time.consumer_group,
            "start": group_time.interval.start,
            "end": group_time.interval.end,
            **{name: value(group_time) for name, (_, _, value) in _MEASURES.items()},
            "incident_ids": [incident.incident_id for incident in group_time.incidents],
        }
        for group_time in times
    ]
