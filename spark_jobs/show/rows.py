"""Helpers for rows of published tables: grouping by key, and by parts of an interval."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from spark_jobs.domain.model.intervals import Interval

#: A row of a published table, or one derived from it, by column.
Row = Mapping[str, Any]
#: The values of some columns of a row.
Key = tuple[Any, ...]

GROUP = ("cluster", "consumer_group")
TOPIC = (*GROUP, "topic")
QUEUE = (*TOPIC, "broker_name", "queue_id")


def by_key(rows: Iterable[Row], key: Callable[[Row], Key]) -> dict[Key, list[Row]]:
    """The rows of each key; keys and rows keep their order."""
    rows_per_key: dict[Key, list[Row]] = defaultdict(list)
    for row in rows:
        rows_per_key[key(row)].append(row)
    return dict(rows_per_key)


def values_of(row: Row, names: Sequence[str]) -> Key:
    """The row's values in these columns."""
    return tuple(row[name] for name in names)


def part_of(moment: datetime, interval: Interval, parts: int) -> int:
    """The index, from 0, of the equal part of the interval that holds the moment; its end belongs to the last part."""
    return min(parts * (moment - interval.start) // (interval.end - interval.start), parts - 1)
