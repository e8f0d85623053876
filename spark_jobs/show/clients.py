"""Searches consumers by client id or host over all groups."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from schemas import REBALANCE_INTERVALS
from spark_jobs.domain.model.history import RETRY
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.store.read.published import PublishedTables, check_names
from spark_jobs.store.read.stored import values

_KEY = ("cluster", "consumer_group", "topic", "interval_start", "interval_end")
_MEMBER = ("client_id", "client_addr", "language", "version")


class ClientSeen(NamedTuple):
    """One connection of a group: when it was a member, first and last, and of which topics' consumers, but for
    retry topics.
    """

    cluster: str
    consumer_group: str
    client_id: str
    client_addr: str | None
    language: str | None
    version: int | None
    first_seen: datetime
    last_seen: datetime
    topics: list[str]


def clients_named(
    tables: PublishedTables, text: str, interval: Interval, cluster: str | None = None, group: str | None = None
) -> list[ClientSeen]:
    """The connections whose client id or address has the text in it, as audited in the interval, by cluster and group.

    Raises `NothingPublishedError` for names that nobody has.
    """
    check_names(tables, interval, cluster, group)
    read = tables.read(REBALANCE_INTERVALS, interval, (*_KEY, "members"), cluster, group)
    found: dict[tuple[Any, ...], ClientSeen] = {}
    for cluster_name, consumer_group, topic, start, end, *member in _rows(read, text):
        if start < interval.end and end > interval.start:
            key = (cluster_name, consumer_group, *member)
            one = found.get(key) or ClientSeen._make((*key, start, end, []))
            topics = one.topics if topic.startswith(RETRY) else sorted({*one.topics, topic})
            first, last = min(start, one.first_seen), max(end, one.last_seen)
            found[key] = one._replace(first_seen=first, last_seen=last, topics=topics)
    return sorted(
        found.values(), key=lambda client: (client.cluster, client.consumer_group, client.first_seen, client.client_id)
    )


def _rows(read: pa.Table, text: str) -> Iterator[tuple[Any, ...]]:
    """The key of an interval and a member of it, of the members with the text: only these become Python's."""
    for batch in read.combine_chunks().to_batches():
        lists = batch["members"]
        members, places = pc.list_flatten(lists), pc.list_parent_indices(lists)
        fields = [members.field(name) for name in _MEMBER]
        has = [pc.fill_null(pc.match_substring(one, text, ignore_case=True), False) for one in fields[:2]]
        wanted = pc.or_(*has)
        columns = [batch[name].take(places.filter(wanted)) for name in _KEY]
        yield from zip(*map(values, (*columns, *(field.filter(wanted) for field in fields))), strict=True)
