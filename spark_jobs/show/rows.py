"""Rows of published tables, and what is made of them: by key, and by parts of a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from spark_jobs.domain.model.intervals import Interval

#: A row of a published table, or of what is made of it.
Row = Mapping[str, Any]
#: A value of each of some columns.
Key = tuple[Any, ...]

GROUP = ("cluster", "consumer_group")
TOPIC = (*GROUP, "topic")
QUEUE = (*TOPIC, "broker_name", "queue_id")


def by_key(rows: Iterable[Row], key: Callable[[Row], Key]) -> dict[Key, list[Row]]:
    """The rows of each key, in their order."""
    found: dict[Key, list[Row]] = defaultdict(list)
    for row in rows:
        found[key(row)].append(row)
    return dict(found)


def values_of(row: Row, names: Sequence[str]) -> Key:
    """The row's values in these columns."""
    return tuple(row[name] for name in names)


def part_of(moment: datetime, interval: Interval, parts: int) -> int:
    """Which of so many equal parts of the interval holds the moment, from 0; the interval's end belongs to the last."""
    return min(parts * (moment - interval.start) // (interval.end - interval.start), parts - 1)
