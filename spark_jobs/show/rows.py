"""Helpers for rows of published tables: their keys, and parts of an interval."""

from collections.abc import Mapping
from datetime import datetime
from operator import itemgetter
from typing import Any

from spark_jobs.domain.model.intervals import Interval

#: A row of a published table, or one derived from it, by column.
Row = Mapping[str, Any]
#: The values of some columns of a row.
Key = tuple[Any, ...]

GROUP = ("cluster", "consumer_group")
TOPIC = (*GROUP, "topic")
QUEUE = (*TOPIC, "broker_name", "queue_id")
#: The cluster and the consumer group of a row.
group_of = itemgetter(*GROUP)


def part_of(moment: datetime, interval: Interval, parts: int) -> int:
    """The index, from 0, of the equal part of the interval that holds the moment; its end belongs to the last part."""
    return min(parts * (moment - interval.start) // (interval.end - interval.start), parts - 1)
