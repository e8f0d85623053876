"""What happened to a group's topics: rebalances, and the backlog."""

from __future__ import annotations

from collections.abc import Iterable

from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.phrases import known_sum
from spark_jobs.show.page.keys import QUEUE, TOPIC, Key, Row, by_key, known_lags, part_of, values_of

#: Points per line of backlog, at most.
PARTS = 240
_FACTS = (
    *("status", "reason", "strategy", "strategy_source", "member_count", "distinct_members", "queue_count"),
    *("unassigned_queues", "double_owned_queues", "idle_members"),
)
_CHANGE = ("trigger", "trigger_subject", "queues_moved", "queues_preserved", "least_moves")
#: The columns that are looked at here.
INTERVAL_COLUMNS = (*TOPIC, "membership_view", "interval_start", "interval_end", *_FACTS, *_CHANGE)
PROGRESS_COLUMNS = (
    *QUEUE,
    "interval_start",
    "interval_end",
    "lag_first",
    "lag_last",
    "lag_max",
    "produced",
    "consumed",
)


def states(intervals: Iterable[Row]) -> list[Row]:
    """One row per (topic, membership view, maximal time without a rebalance): `start`, `end`, facts and what began it.

    An interval without trigger that follows one with the same facts (a new step began) goes on with it.
    """
    found: list[dict[str, object]] = []
    for of_view in by_key(intervals, lambda row: values_of(row, (*TOPIC, "membership_view"))).values():
        last = None
        for row in sorted(of_view, key=lambda row: row["interval_start"]):
            if last is not None and _goes_on(last, row):
                found[-1]["end"] = row["interval_end"]
            else:
                names = (*TOPIC, "membership_view", *_FACTS, *_CHANGE)
                span = {"start": row["interval_start"], "end": row["interval_end"]}
                found.append({name: row[name] for name in names} | span)
            last = row
    return [*found]


def _goes_on(last: Row, row: Row) -> bool:
    follows = last["interval_end"] == row["interval_start"]
    return follows and row["trigger"] is None and _facts(last) == _facts(row)


def _facts(row: Row) -> Key:
    """Of what was not replayed nothing is shown but why."""
    return values_of(row, _FACTS if row["status"] == "REPLAYED" else ("status", "reason"))


def backlog(progress: Iterable[Row], interval: Interval) -> list[Row]:
    """One row per (queue, one of `PARTS` parts of the interval in which an interval of it begins): `start`, `end`.

    `lag_first` and `lag_last` are its first and last known lag then, `lag_max` the highest, `produced` and `consumed`
    what went in and out, all in messages; null is unknown. `seconds` is the time in which they were counted.
    """
    in_order = sorted(progress, key=lambda row: row["interval_start"])
    of_parts = by_key(
        in_order, lambda row: (*values_of(row, QUEUE), part_of(row["interval_start"], interval, PARTS))
    ).values()
    return [
        {
            **{name: part[0][name] for name in QUEUE},
            "start": part[0]["interval_start"],
            "end": max(row["interval_end"] for row in part),
            **known_lags(part),
            "produced": known_sum(row["produced"] for row in part),
            "consumed": known_sum(row["consumed"] for row in part),
            "seconds": known_sum(_seconds(row) for row in part),
        }
        for part in of_parts
    ]


def _seconds(row: Row) -> float | None:
    if row["produced"] is None:
        return None
    seconds: float = (row["interval_end"] - row["interval_start"]).total_seconds()
    return seconds
