"""The commands that search what was published: runs, clients over all groups, a group at two times."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from spark_jobs.cli.documents import answered
from spark_jobs.cli.reading import middle, stored_tables, time_asked
from spark_jobs.cli.terminal import (
    Heading,
    local,
    print_line,
    progress_on,
    show_next,
    show_rows,
    stacked,
    table,
    zone_name,
)
from spark_jobs.domain.model.intervals import Interval, duration_text, format_utc
from spark_jobs.domain.model.window import from_micros
from spark_jobs.domain.phrases import UNKNOWN, count, names_text, number_text, rate_text
from spark_jobs.errors import ExitCode
from spark_jobs.show.clients import ClientSeen, clients_named
from spark_jobs.show.compare import GroupTime, compared_times
from spark_jobs.store.read.published import published_tables, runs_of

#: How far back clients are searched where nothing else is asked for.
_SEARCHED = timedelta(days=1)


def runs_command(arguments: Namespace) -> int:
    """Exit code 0 whatever became of the runs; 2 where there is none."""
    with progress_on(Console(stderr=True)) as say:
        stored = stored_tables(arguments.warehouse, say)
        say("reading the runs")
        found = runs_of(stored, time_asked(arguments, published_tables(stored)), rejected=True)
    if not answered(arguments, {"runs": found}, found):
        show_runs(Console(), found)
        for one in [run for run in found if run["outcome"] == "published"][:1]:
            show_next(f"verify {one['run_id']}", {"warehouse": arguments.warehouse})
    return ExitCode.CLEAN if found else ExitCode.WARNINGS


def clients_command(arguments: Namespace) -> int:
    """Exit code 0 where somebody was found, else 2."""
    with progress_on(Console(stderr=True)) as say:
        stored = stored_tables(arguments.warehouse, say)
        say("reading the members of the groups")
        tables = published_tables(stored)
        interval = time_asked(arguments, tables) or tables.last(_SEARCHED)
        found = clients_named(tables, arguments.TEXT, interval, arguments.cluster, arguments.group)
    every = [one._asdict() for one in found]
    if not answered(arguments, {"interval": str(interval), "clients": every}, every):
        show_clients(Console(), found, interval)
        for one in found[:1]:
            at = middle(one.first_seen, one.last_seen)
            named = {"group": one.consumer_group, "cluster": one.cluster, "at": at}
            show_next("explain", {"warehouse": arguments.warehouse, **named})
    return ExitCode.CLEAN if found else ExitCode.WARNINGS


def compare_command(arguments: Namespace) -> int:
    """Exit code 0 whatever differs; 2 where the owners of the queues were not known in one of the intervals."""
    with progress_on(Console(stderr=True)) as say:
        stored = stored_tables(arguments.warehouse, say)
        intervals = (arguments.BEFORE, arguments.AFTER)
        found = compared_times(stored, arguments.group, arguments.cluster, intervals, say)
    rows = compared_rows(found)
    if not answered(arguments, {"compared": rows}, rows):
        show_compared(Console(), found)
        of_group = {"interval": str(arguments.AFTER), "group": found[0].consumer_group, "cluster": found[0].cluster}
        show_next("incidents", {"warehouse": arguments.warehouse, **of_group})
    return ExitCode.CLEAN if all(one.happened for one in found) else ExitCode.WARNINGS


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


#: A row of `audit_runs`.
Run = Mapping[str, Any]

_RUN_HEADINGS = (
    Heading("run\noutcome", fixed=True),
    Heading("audited\nof", fold=True),
    Heading("finished", fold=True),
    Heading("code\nconfiguration", fold=True),
)
_CLIENT_HEADINGS = (
    Heading("group\ncluster", fold=True),
    Heading("client id\naddress", fold=True),
    Heading("from\nto", fixed=True),
    Heading("topics", fold=True),
)
_TOPICS = 3


def show_runs(console: Console, runs: Sequence[Run]) -> None:
    """The runs in the order given."""
    title = f"Runs, newest first ({zone_name()})"
    summary = f"{count(len(runs), 'run')}."
    show_rows(console, runs, lambda some: table(title, _RUN_HEADINGS, map(_run, some), ruled=True), _run_line, summary)


def _run(one: Run) -> Iterable[Text]:
    yield Text.assemble(one["run_id"], (f"\n{one['outcome']}", "dim" if one["outcome"] == "published" else "bold red"))
    yield stacked(str(Interval(one["interval_start"], one["interval_end"])), _of(one))
    yield stacked(format_utc(one["finished_at"]))
    yield stacked(one["code_version"], one["configuration_hash"][:16])


def _of(one: Run) -> str:
    return " ".join(one[name] for name in ("cluster", "consumer_group", "topic") if one[name]) or "everything"


def _run_line(one: Run) -> str:
    return " ".join(
        (
            one["outcome"],
            f"run={one['run_id']}",
            f"interval={Interval(one['interval_start'], one['interval_end'])}",
            f"of={_of(one)}",
            f"finished={format_utc(one['finished_at'])}",
            f"code={one['code_version']}",
            f"configuration={one['configuration_hash'][:16]}",
        )
    )


def show_clients(console: Console, found: Sequence[ClientSeen], interval: Interval) -> None:
    """The connections in the order given, and where they were searched."""
    title = f"Members of groups ({zone_name()})"
    groups = len({(one.cluster, one.consumer_group) for one in found})
    told = f"{count(len(found), 'connection')} in {count(groups, 'group')}" if found else "no such client id or address"
    drawn = f"{told}, as audited in {interval}."
    show_rows(
        console, found, lambda some: table(title, _CLIENT_HEADINGS, map(_client, some), ruled=True), _client_line, drawn
    )


def _client(one: ClientSeen) -> Iterable[Text]:
    yield stacked(one.consumer_group, one.cluster)
    yield stacked(one.client_id, one.client_addr)
    yield Text("\n".join(f"{local(moment):%m-%d %H:%M:%S}" for moment in (one.first_seen, one.last_seen)))
    yield stacked(names_text(one.topics, _TOPICS))


def _client_line(one: ClientSeen) -> str:
    return " ".join(
        (
            f"cluster={one.cluster}",
            f"group={one.consumer_group}",
            f"client={one.client_id}",
            f"address={one.client_addr or UNKNOWN}",
            f"{format_utc(one.first_seen)}/{format_utc(one.last_seen)}",
            f"topics={','.join(one.topics)}",
        )
    )
