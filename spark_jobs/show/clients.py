"""Searches consumers by client id or host over all groups."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from schemas import REBALANCE_INTERVALS
from spark_jobs.domain.model.history import RETRY
from spark_jobs.domain.model.intervals import EVER
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
