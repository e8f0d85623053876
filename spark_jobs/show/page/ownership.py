"""Who owned each queue when, and who was in the group: spans for the timelines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from spark_jobs.show.page.keys import GROUP, QUEUE, TOPIC, Row, by_key, islands, known_lags, values_of

_INTERVAL = ("step_start", *TOPIC, "membership_view", "interval_start", "broker_name", "queue_id")
_STATE = ("readable", "unassigned_cause", "unassigned_client_id", "double_owned_cause")
_UNKNOWN = dict.fromkeys(("lag_first", "lag_last", "lag_max"))
#: The columns that are looked at here.
ALLOCATION_COLUMNS = (*_INTERVAL, "interval_end", "owners", *_STATE)
PROGRESS_COLUMNS = (*_INTERVAL, *_UNKNOWN)
INTERVAL_COLUMNS = (*GROUP, "interval_start", "interval_end", "status", "members")


def ownership(allocations: Iterable[Row], progress: Iterable[Row]) -> list[Row]:
    """One row per (queue, membership view, maximal time with the same owners): `start`, `end`.

    `lag_first` and `lag_last` are the first and last known lag inside it, `lag_max` the highest, in messages.
    """
    lags = {values_of(row, _INTERVAL): row for row in progress}
    spans = (
        {
            **row,
            **{name: lags.get(values_of(row, _INTERVAL), _UNKNOWN)[name] for name in _UNKNOWN},
            "start": row["interval_start"],
            "end": row["interval_end"],
        }
        for row in allocations
    )
    same = by_key(
        spans,
        lambda row: (
            *values_of(row, (*QUEUE, "membership_view", *_STATE)),
            tuple((owner["client_id"], owner["client_addr"]) for owner in row["owners"]),
        ),
    )
    names = (*QUEUE, "membership_view", *_STATE, "owners")
    return [
        {name: island[0][name] for name in names} | _span(island) | known_lags(island)
        for found in same.values()
        for island in islands(found)
    ]


def members(intervals: Iterable[Row]) -> list[Row]:
    """One row per (group, connection, maximal time in which some topic's allocation counted it): `start`, `end`.

    `strategy` and `version` are those it was last seen with; `twins` whether another connection had its client id then.
    """
    names = (*GROUP, "client_id", "client_addr", "twins")
    same = by_key(_connections(intervals), lambda row: values_of(row, names))
    return [
        {name: island[0][name] for name in names}
        | _span(island)
        | {name: max(island, key=lambda row: row["start"])[name] for name in ("strategy", "version")}
        for found in same.values()
        for island in islands(found)
    ]


def _connections(intervals: Iterable[Row]) -> Iterator[Row]:
    for row in intervals:
        if row["status"] == "REPLAYED":
            times = Counter(member["client_id"] for member in row["members"])
            for member in row["members"]:
                told = {name: member[name] for name in ("client_id", "client_addr", "strategy", "version")}
                span = {"start": row["interval_start"], "end": row["interval_end"]}
                yield {name: row[name] for name in GROUP} | told | span | {"twins": times[member["client_id"]] > 1}


def _span(island: list[Row]) -> dict[str, Any]:
    return {"start": island[0]["start"], "end": max(row["end"] for row in island)}
