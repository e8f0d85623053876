"""What a person sees of runs and of clients: tables, or plain lines where nobody watches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from spark_jobs.cli.tables import Heading, show_rows, stacked, table
from spark_jobs.cli.terminal import local, zone_name
from spark_jobs.domain.intervals import Interval, format_utc
from spark_jobs.domain.phrases import UNKNOWN, count, names_text
from spark_jobs.jobs.clients import ClientSeen

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
