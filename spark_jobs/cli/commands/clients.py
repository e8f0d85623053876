"""Search a consumer by client id or host over all groups."""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.text import Text

from schemas import REBALANCE_INTERVALS
from spark_jobs.cli.documents import answered, coverage_document
from spark_jobs.cli.questions import opened, show_coverage, time_of
from spark_jobs.cli.tables import Column, show_table
from spark_jobs.cli.terminal import local, show_next, zone_name
from spark_jobs.domain.model.history import RETRY
from spark_jobs.domain.model.intervals import EVER, Interval, format_utc
from spark_jobs.domain.phrases import UNKNOWN, count, names_text
from spark_jobs.errors import ExitCode
from spark_jobs.store.read.published import PublishedTables, Scope, check_names
from spark_jobs.store.read.stored import values

_KEY = ("cluster", "consumer_group", "topic", "interval_start", "interval_end")
_MEMBER = ("client_id", "client_addr", "language", "version")


class ClientSeen(NamedTuple):
    """One connection of a group: when it was first and last a member, and for which topics (without retry topics)."""

    cluster: str
    consumer_group: str
    client_id: str
    client_addr: str | None
    language: str | None
    version: int | None
    first_seen: datetime
    last_seen: datetime
    topics: list[str]


#: The fields of `ClientSeen`.
CLIENT_SCHEMA = pa.schema(
    {
        **dict.fromkeys(("cluster", "consumer_group", "client_id", "client_addr", "language"), pa.string()),
        "version": pa.int32(),
        **dict.fromkeys(("first_seen", "last_seen"), pa.timestamp("us", "UTC")),
        "topics": pa.list_(pa.string()),
    }
)


def clients_named(tables: PublishedTables, text: str, scope: Scope) -> list[ClientSeen]:
    """A row per connection with the text in its client id or address, by group. Raises `NothingPublishedError`."""
    check_names(tables, scope)
    interval, intervals = scope.interval or EVER, tables.read(REBALANCE_INTERVALS, scope, (*_KEY, "members"))
    clients: dict[tuple[Any, ...], ClientSeen] = {}
    for cluster_name, consumer_group, topic, start, end, *member in _rows(intervals, text):
        if start < interval.end and end > interval.start:
            key = (cluster_name, consumer_group, *member)
            client = clients.get(key) or ClientSeen._make((*key, start, end, []))
            topics = client.topics if topic.startswith(RETRY) else sorted({*client.topics, topic})
            first_seen, last_seen = min(start, client.first_seen), max(end, client.last_seen)
            clients[key] = client._replace(first_seen=first_seen, last_seen=last_seen, topics=topics)
    return sorted(
        clients.values(),
        key=lambda client: (client.cluster, client.consumer_group, client.first_seen, client.client_id),
    )


def _rows(intervals: pa.Table, text: str) -> Iterator[tuple[Any, ...]]:
    """`_KEY` and `_MEMBER` per interval and matching member. Arrow filters: only matches become Python values."""
    for batch in intervals.combine_chunks().to_batches():
        lists = batch["members"]
        members, places = pc.list_flatten(lists), pc.list_parent_indices(lists)
        fields = [members.field(name) for name in _MEMBER]
        matches = [pc.fill_null(pc.match_substring(field, text, ignore_case=True), False) for field in fields[:2]]
        is_named = pc.or_(*matches)
        columns = [batch[name].take(places.filter(is_named)) for name in _KEY]
        yield from zip(*map(values, (*columns, *(field.filter(is_named) for field in fields))), strict=True)


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
            at = _middle(client.first_seen, client.last_seen)
            show_next("explain", arguments.warehouse, group=client.consumer_group, cluster=client.cluster, at=at)
    return ExitCode.CLEAN if clients else ExitCode.WARNINGS


def _middle(start: datetime, end: datetime) -> str:
    """A moment between the two, in whole seconds where one lies there."""
    middle = start + (end - start) / 2
    full_second = middle.replace(microsecond=0)
    return format_utc(full_second if full_second >= start else middle)


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
