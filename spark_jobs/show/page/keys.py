"""Keys, limits and time parts that the sections of the report share."""

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


def known_lags(rows: Sequence[Row]) -> dict[str, int | None]:
    """Of rows in the order of time: `lag_first` and `lag_last`, the first and last known lag, and `lag_max`, the
    highest, in messages; null where none is known.
    """
    first, last, highest = (
        [row[name] for row in rows if row[name] is not None] for name in ("lag_first", "lag_last", "lag_max")
    )
    return {
        "lag_first": first[0] if first else None,
        "lag_last": last[-1] if last else None,
        "lag_max": max(highest, default=None),
    }


def islands(rows: Iterable[Row]) -> list[list[Row]]:
    """Rows (`start`, `end`) in the order of time, those together that cover a time without a gap."""
    found: list[list[Row]] = []
    covered_until: datetime | None = None
    for row in sorted(rows, key=lambda row: (row["start"], row["end"])):
        if covered_until is not None and row["start"] <= covered_until:
            found[-1].append(row)
            covered_until = max(covered_until, row["end"])
        else:
            found.append([row])
            covered_until = row["end"]
    return found
