"""The commands that search what was published: runs, clients over all groups, a group at two times."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from operator import attrgetter
from typing import Any

import pyarrow as pa
from rich.console import Console, RenderableType
from rich.text import Text

from schemas import AUDIT_RUNS
from spark_jobs.cli.documents import answered
from spark_jobs.cli.reading import middle, opened, time_of
from spark_jobs.cli.terminal import Column, local, print_line, show_next, show_rows, show_table, table, zone_name
from spark_jobs.domain.model.intervals import Interval, duration_text, format_utc
from spark_jobs.domain.model.window import from_micros
from spark_jobs.domain.phrases import UNKNOWN, count, names_text, number_text, rate_text
from spark_jobs.errors import ExitCode
from spark_jobs.show.clients import CLIENT_SCHEMA, ClientSeen, clients_named
from spark_jobs.show.compare import GroupTime, compared_times
from spark_jobs.store.arrow_types import arrow_schema
from spark_jobs.store.read.published import runs_of

#: How far back clients are searched where nothing else is asked for.
_SEARCHED = timedelta(days=1)


def runs_command(arguments: Namespace) -> int:
    """Exit code 0 whatever became of the runs; 2 where there is none."""
    with opened(arguments) as warehouse:
        warehouse.progress("reading the runs")
        runs = runs_of(warehouse.stored, warehouse.time(**time_of(arguments)), rejected=True)
    if not answered(arguments, {"runs": runs}, partial(pa.Table.from_pylist, runs, arrow_schema(AUDIT_RUNS))):
        show_runs(Console(), runs)
        for row in [run for run in runs if run["outcome"] == "published"][:1]:
            show_next(f"verify {row['run_id']}", arguments.warehouse)
    return ExitCode.CLEAN if runs else ExitCode.WARNINGS


def clients_command(arguments: Namespace) -> int:
    """Exit code 0 where somebody was found, else 2."""
    with opened(arguments) as warehouse:
        warehouse.progress("reading the members of the groups")
        tables = warehouse.published
        interval = warehouse.time(**time_of(arguments)) or tables.last(_SEARCHED)
        clients = clients_named(tables, arguments.TEXT, interval, arguments.cluster, arguments.group)
    rows = [client._asdict() for client in clients]
    table = partial(pa.Table.from_pylist, rows, CLIENT_SCHEMA)
    if not answered(arguments, {"interval": interval, "clients": rows}, table):
        show_clients(Console(), clients, interval)
        for client in clients[:1]:
            at = middle(client.first_seen, client.last_seen)
            show_next("explain", arguments.warehouse, group=client.consumer_group, cluster=client.cluster, at=at)
    return ExitCode.CLEAN if clients else ExitCode.WARNINGS


def compare_command(arguments: Namespace) -> int:
    """Exit code 0 whatever differs; 2 where the owners of the queues were not known in one of the intervals."""
    with opened(arguments) as warehouse:
        intervals = (arguments.BEFORE, arguments.AFTER)
        times = compared_times(warehouse.stored, arguments.group, arguments.cluster, intervals, warehouse.progress)
    rows = compared_rows(times)
    if not answered(arguments, {"compared": rows}, partial(pa.Table.from_pylist, rows, _COMPARED)):
        show_compared(Console(), times)
        names = {"interval": str(arguments.AFTER), "group": times[0].consumer_group, "cluster": times[0].cluster}
        show_next("incidents", arguments.warehouse, **names)
    return ExitCode.CLEAN if all(group_time.recorded_outcome for group_time in times) else ExitCode.WARNINGS


def _recorded(name: str) -> Callable[[GroupTime], Any]:
    """The value of that name in what happened; None is unknown."""
    return lambda group_time: group_time.recorded_outcome and attrgetter(name)(group_time.recorded_outcome)


#: By the name that a program reads: what a person reads, and the value.
_MEASURES: Mapping[str, tuple[str, Callable[[GroupTime], Any]]] = {
    "replayed_seconds": (
        "time in which owners are known",
        lambda time: time.recorded_outcome.replayed if time.recorded_outcome else 0.0,
    ),
    "incidents": ("incidents that began", lambda time: len(time.incidents)),
    "rebalances": ("rebalances", _recorded("outcome.rebalances")),
    "queues_moved": ("queues moved", _recorded("outcome.moves")),
    "members": ("members (mean)", _recorded("outcome.members")),
    "idle_members": ("idle members (mean)", _recorded("outcome.idle")),
    "unowned_queues": ("queues without owner (mean)", _recorded("outcome.unowned")),
    "double_owned_queues": ("queues owned twice (mean)", _recorded("outcome.owned_twice")),
    "busiest_member": ("queues of the busiest member", _recorded("outcome.busiest")),
    "in_rate": ("messages in, per second", _recorded("in_rate")),
    "out_rate": ("messages out, per second", _recorded("out_rate")),
    "highest_backlog": ("highest backlog (messages)", _recorded("outcome.highest")),
    "last_backlog": ("backlog at the end (messages)", _recorded("outcome.last")),
    "consumed_twice": ("messages consumed twice", _recorded("outcome.consumed_twice")),
}


_COMPARED = pa.schema(
    {
        **dict.fromkeys(("cluster", "consumer_group"), pa.string()),
        **dict.fromkeys(("start", "end"), pa.timestamp("us", "UTC")),
        **dict.fromkeys(_MEASURES, pa.float64()),
        **dict.fromkeys(("incidents", "rebalances", "queues_moved", "busiest_member"), pa.int64()),
        **dict.fromkeys(("highest_backlog", "last_backlog", "consumed_twice"), pa.int64()),
        "incident_ids": pa.list_(pa.string()),
    }
)


def show_compared(console: Console, times: Sequence[GroupTime]) -> None:
    """A line per measure, or one per interval where nobody watches; and the incidents that began."""
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
    value = _MEASURES[name][1](group_time)
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
            **{name: value(group_time) for name, (_, value) in _MEASURES.items()},
            "incident_ids": [incident.incident_id for incident in group_time.incidents],
        }
        for group_time in times
    ]


#: A row of `audit_runs`.
Run = Mapping[str, Any]

_TOPICS = 3


def show_runs(console: Console, runs: Sequence[Run]) -> None:
    """The runs in the order given."""
    title = f"Runs, newest first ({zone_name()})"
    show_table(console, title, _RUN_COLUMNS, runs, f"{count(len(runs), 'run')}.", ruled=True)


def _outcome(run: Run) -> Text:
    style = "dim" if run["outcome"] == "published" else "bold red"
    return Text.assemble(run["run_id"], (f"\n{run['outcome']}", style))


def _audited(run: Run) -> tuple[str, str]:
    """The interval, and of what."""
    of = " ".join(run[name] for name in ("cluster", "consumer_group", "topic") if run[name]) or "everything"
    return str(Interval(run["interval_start"], run["interval_end"])), of


_RUN_COLUMNS: tuple[Column[Run], ...] = (
    Column("run\noutcome", _outcome, lambda run: f"{run['outcome']} run={run['run_id']}", fixed=True),
    Column("audited\nof", _audited, "interval={} of={}", fold=True),
    Column("finished", lambda run: format_utc(run["finished_at"]), "finished={}", fixed=True, drop=1),
    Column(
        "code\nconfiguration",
        lambda run: (run["code_version"], run["configuration_hash"][:16]),
        "code={} configuration={}",
        fold=True,
        drop=2,
    ),
)


def show_clients(console: Console, clients: Sequence[ClientSeen], interval: Interval) -> None:
    """The connections in the order given, and where they were searched."""
    groups = len({(client.cluster, client.consumer_group) for client in clients})
    connections = f"{count(len(clients), 'connection')} in {count(groups, 'group')}"
    summary = f"{connections if clients else 'no such client id or address'}, as audited in {interval}."
    show_table(console, f"Members of groups ({zone_name()})", _CLIENT_COLUMNS, clients, summary, ruled=True)


def _seen(client: ClientSeen) -> Text:
    return Text("\n".join(f"{local(moment):%m-%d %H:%M:%S}" for moment in (client.first_seen, client.last_seen)))


_CLIENT_COLUMNS: tuple[Column[ClientSeen], ...] = (
    Column(
        "group\ncluster", lambda client: (client.consumer_group, client.cluster), "cluster={1} group={0}", fold=True
    ),
    Column(
        "client id\naddress",
        lambda client: (client.client_id, client.client_addr),
        lambda client: f"client={client.client_id} address={client.client_addr or UNKNOWN}",
        fold=True,
    ),
    Column(
        "from\nto",
        _seen,
        lambda client: f"{format_utc(client.first_seen)}/{format_utc(client.last_seen)}",
        fixed=True,
    ),
    Column(
        "topics",
        lambda client: names_text(client.topics, _TOPICS),
        lambda client: f"topics={','.join(client.topics)}",
        fold=True,
    ),
)
