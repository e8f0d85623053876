"""Helpers for rows of published tables: grouping by key, and by parts of an interval."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from operator import itemgetter
from typing import Any, TypeVar

from spark_jobs.domain.model.intervals import Interval

#: A row of a published table, or one derived from it, by column.
Row = Mapping[str, Any]
#: The values of some columns of a row.
Key = tuple[Any, ...]
_Item = TypeVar("_Item")

GROUP = ("cluster", "consumer_group")
TOPIC = (*GROUP, "topic")
QUEUE = (*TOPIC, "broker_name", "queue_id")
#: The cluster and the consumer group of a row.
group_of = itemgetter(*GROUP)


def by_key(items: Iterable[_Item], key: Callable[[_Item], Any]) -> dict[Any, list[_Item]]:
    """The items of each key; keys and items keep their order."""
    items_per_key: dict[Any, list[_Item]] = defaultdict(list)
    for item in items:
        items_per_key[key(item)].append(item)
    return dict(items_per_key)


def part_of(moment: datetime, interval: Interval, parts: int) -> int:
    """The index, from 0, of the equal part of the interval that holds the moment; its end belongs to the last part."""
    return min(parts * (moment - interval.start) // (interval.end - interval.start), parts - 1)
