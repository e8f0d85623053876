"""Published rows as spans of time, for charts: owners of queues, members, states of topics, backlog."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any

from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.statuses import Status
from spark_jobs.domain.phrases import known_sum
from spark_jobs.show.rows import GROUP, QUEUE, TOPIC, Key, Row

#: Points per line of backlog, at most.
PARTS = 240
_INTERVAL = ("step_start", *TOPIC, "membership_view", "interval_start", "broker_name", "queue_id")
_OWNED = (*QUEUE, "membership_view", "readable", "unassigned_cause", "unassigned_client_id", "double_owned_cause")
_LAGS = ("lag_first", "lag_last", "lag_max")
_CLIENT = ("client_id", "client_addr")
_FACTS = (
    *("status", "reason", "strategy", "strategy_source", "member_count", "distinct_members", "queue_count"),
    *("unassigned_queues", "double_owned_queues", "idle_members"),
)
_CHANGE = ("trigger_type", "trigger_subject", "queues_moved", "queues_preserved", "minimum_moves")
_STATE = (*TOPIC, "membership_view", *_FACTS, *_CHANGE)
#: The columns that are read here.
ALLOCATION_COLUMNS = sorted({*_INTERVAL, *_OWNED, "interval_end", "owners"})
PROGRESS_COLUMNS = (*_INTERVAL, "interval_end", *_LAGS, "produced", "consumed")
INTERVAL_COLUMNS = (*_STATE, "interval_start", "interval_end", "members")


def ownership(allocations: Iterable[Row], progress: Iterable[Row]) -> list[Row]:
    """One row per (queue, membership view, maximal span with the same owners), with its first, last and highest lag."""
    interval_of, queue_state_of, client_of = itemgetter(*_INTERVAL), itemgetter(*_OWNED), itemgetter(*_CLIENT)
    lags = {interval_of(row): _picked(row, _LAGS) for row in progress}
    unknown = dict.fromkeys(_LAGS)
    rows = ({**row, **_time(row), **lags.get(interval_of(row), unknown)} for row in allocations)

    def owned(row: Row) -> Key:
        return *queue_state_of(row), tuple(map(client_of, row["owners"]))

    names = (*_OWNED, "owners")
    return [_picked(span[0], names) | _whole_time(span) | _known_lags(span) for span in _without_gaps(rows, owned)]


def members(intervals: Iterable[Row]) -> list[Row]:
    """One row per (group, connection, maximal span of membership); `shares_id`: another one had the client id."""
    names = (*GROUP, *_CLIENT, "shares_id")
    spans = _without_gaps(_connections(intervals), itemgetter(*names))
    return [_picked(span[0], names) | _whole_time(span) | _picked(span[-1], ("strategy", "version")) for span in spans]


def _connections(intervals: Iterable[Row]) -> Iterator[Row]:
    """One row per (replayed interval, member)."""
    for row in intervals:
        if row["status"] == Status.REPLAYED:
            connections = Counter(member["client_id"] for member in row["members"])
            for member in row["members"]:
                client = _picked(member, (*_CLIENT, "strategy", "version"))
                yield _picked(row, GROUP) | client | _time(row) | {"shares_id": connections[member["client_id"]] > 1}


def _without_gaps(rows: Iterable[Row], key: Callable[[Row], Key]) -> Iterator[list[Row]]:
    """Splits the rows of each key, in the order of time, wherever a gap in time lies between them."""
    for key_rows in by_key(rows, key).values():
        span: list[Row] = []
        covered_until: datetime | None = None
        for row in sorted(key_rows, key=itemgetter("start", "end")):
            if covered_until is not None and row["start"] > covered_until:
                yield span
                span, covered_until = [], None
            span.append(row)
            covered_until = row["end"] if covered_until is None else max(covered_until, row["end"])
        yield span


def states(intervals: Iterable[Row]) -> list[Row]:
    """One row per (topic, membership view, time without a rebalance), with trigger and facts; null: they change."""
    spans: list[dict[str, Any]] = []
    for view_intervals in by_key(intervals, itemgetter(*TOPIC, "membership_view")).values():
        previous = None
        for row in sorted(view_intervals, key=itemgetter("interval_start")):
            if previous is not None and _continues(previous, row):
                changed = (name for name in _FACTS if row[name] != spans[-1][name])
                spans[-1] |= {"end": row["interval_end"]} | dict.fromkeys(changed)
            else:
                spans.append(_picked(row, _STATE) | _time(row))
            previous = row
    return [*spans]


def _continues(previous: Row, row: Row) -> bool:
    follows = previous["interval_end"] == row["interval_start"]
    is_rebalance = row["status"] == Status.REPLAYED and row["trigger_type"] is not None
    return follows and not is_rebalance and _facts(previous) == _facts(row)


def _facts(row: Row) -> Key:
    """The facts that make two intervals one state; where nothing was replayed, only status and reason."""
    facts: Key = itemgetter(*(_FACTS if row["status"] == Status.REPLAYED else ("status", "reason")))(row)
    return facts


def backlog(progress: Iterable[Row], interval: Interval) -> list[Row]:
    """One row per (queue, part of the interval, of `PARTS`, in which an interval of it begins): `start`, `end`;
    `lag_first`, `lag_last`, `lag_max`, `produced`, `consumed` in messages, null: unknown; `seconds` of counting.
    """

    def part(row: Row) -> Key:
        return *queue_of(row), min(PARTS * (row["interval_start"] - interval.start) // length, PARTS - 1)

    queue_of, length = itemgetter(*QUEUE), interval.end - interval.start
    in_order = sorted(progress, key=itemgetter("interval_start"))
    return [
        _picked(rows[0], QUEUE)
        | {"start": rows[0]["interval_start"], "end": max(row["interval_end"] for row in rows)}
        | _known_lags(rows)
        | {name: known_sum(row[name] for row in rows) for name in ("produced", "consumed")}
        | {"seconds": known_sum(_seconds(row) for row in rows if row["produced"] is not None)}
        for rows in by_key(in_order, part).values()
    ]


def _seconds(row: Row) -> float:
    seconds: float = (row["interval_end"] - row["interval_start"]).total_seconds()
    return seconds


def _known_lags(rows: Sequence[Row]) -> dict[str, int | None]:
    """The first, last and highest known lag (messages) of rows in the order of time; null where none is known."""
    first_lags, last_lags, max_lags = ([row[name] for row in rows if row[name] is not None] for name in _LAGS)
    return {
        "lag_first": first_lags[0] if first_lags else None,
        "lag_last": last_lags[-1] if last_lags else None,
        "lag_max": max(max_lags, default=None),
    }


def _picked(row: Row, names: Iterable[str]) -> dict[str, Any]:
    return {name: row[name] for name in names}


def _time(row: Row) -> dict[str, datetime]:
    return {"start": row["interval_start"], "end": row["interval_end"]}


def _whole_time(rows: Sequence[Row]) -> dict[str, datetime]:
    return {"start": rows[0]["start"], "end": max(row["end"] for row in rows)}
