"""Search a consumer over all groups."""

from argparse import Namespace
from collections.abc import Sequence
from datetime import timedelta
from functools import partial

import pyarrow as pa
from rich.console import Console
from rich.text import Text

from spark_jobs.cli.documents import answered, coverage_document
from spark_jobs.cli.questions import middle, opened, show_coverage, time_of
from spark_jobs.cli.tables import Column, show_table
from spark_jobs.cli.terminal import local, show_next, zone_name
from spark_jobs.domain.model.intervals import Interval, format_utc
from spark_jobs.domain.phrases import UNKNOWN, count, names_text
from spark_jobs.errors import ExitCode
from spark_jobs.show.clients import CLIENT_SCHEMA, ClientSeen, clients_named
from spark_jobs.store.read.published import Scope

#: How far back clients are searched where nothing else is asked for.
_SEARCHED = timedelta(days=1)


def clients_command(arguments: Namespace) -> int:
    """Exit code 0 where somebody was found, else 2."""
    with opened(arguments) as warehouse:
        warehouse.progress("reading the members of the groups")
        tables = warehouse.published
        time = warehouse.time(**time_of(arguments, warehouse), cluster=arguments.cluster)
        interval = time or tables.last(_SEARCHED, arguments.cluster)
        clients = clients_named(tables, arguments.TEXT, Scope(interval, arguments.cluster, arguments.group))
        coverage = warehouse.coverage(
            arguments.group, cluster=arguments.cluster, since=interval.start, until=interval.end
        )
    rows = [client._asdict() for client in clients]
    table = partial(pa.Table.from_pylist, rows, CLIENT_SCHEMA)
    document = {"interval": interval, "clients": rows, "coverage": coverage_document(coverage)}
    if not answered(arguments, document, table):
        show_clients(Console(), clients, interval)
        if not clients:
            show_coverage(coverage)
        for client in clients[:1]:
            at = middle(client.first_seen, client.last_seen)
            show_next("explain", arguments.warehouse, group=client.consumer_group, cluster=client.cluster, at=at)
    return ExitCode.CLEAN if clients else ExitCode.WARNINGS


_TOPICS = 3


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
        "from\nto", _seen, lambda client: f"{format_utc(client.first_seen)}/{format_utc(client.last_seen)}", fixed=True
    ),
    Column(
        "topics",
        lambda client: names_text(client.topics, _TOPICS),
        lambda client: f"topics={','.join(client.topics)}",
        fold=True,
    ),
)
