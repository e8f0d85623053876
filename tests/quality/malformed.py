"""Seeded source rows that scripts and brokers under stress might write: some break a rule, some are only odd."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from schemas import (
    CLIENT_SNAPSHOTS,
    MEMBERSHIP_SNAPSHOTS,
    OFFSET_SNAPSHOTS,
    ROUTE_SNAPSHOTS,
    SOURCES,
    TOPIC_SNAPSHOTS,
    Table,
)
from tests.expectations import client_snapshots
from tests.snapshots import at, membership, offsets, route

Row = dict[str, Any]


class Values(NamedTuple):
    """What a field may be given: what breaks a rule, and what is only odd."""

    bad: tuple[Any, ...]
    odd: tuple[Any, ...] = ()


class Malformed(NamedTuple):
    """A row for a table, and whether it breaks a rule for sure."""

    table: Table
    row: Row
    is_bad: bool


HOSTILE = (
    "<script>alert(1)</script>",
    "'; DROP TABLE offset_snapshots; --",
    "\u202e",
    "\u200f",
    "\x00\x07\x1b[31m",
    *("\n", " ", "\\"),
    "%s {0} ${x}",
    "\U0001f600" * 255,
    "a" * 255,
)
LONG = "m" * 1_000_000
_NAMES = Values(("", "x" * 256), HOSTILE)
_NAMED = Values((None, "", "x" * 256), HOSTILE)
_INTS = (-1, -(2**31), 2**31 - 1)
_LONGS = (-1, -(2**63), 2**63 - 1, 10**15 + 1)
_TEXT = Values((), (None, "", *HOSTILE))
_NUMBER = Values((None, *_INTS, 65536), (0, 65535))
_OFFSET = Values(_LONGS, (None, 0, 10**15))
_TIME = Values((-1, -(2**63), 2**63 - 1), (None, 0, 253_402_300_799_999))
_RATE = Values((-0.5, float("nan"), float("inf"), float("-inf")), (None, 0.0, 10.0**15))
_COUNT = Values((-1, -(2**31)), (None, 0, 2**31 - 1))
_FROM_1 = Values((0, -1, -(2**31)), (None, 1, 2**31 - 1))
_COUNTS = Values((None, *_INTS, 65536), (0, 40))
_SUBSCRIPTION = {"topic": _NAMED, "expression_type": _TEXT, "sub_string": _TEXT, "sub_version": Values((), _LONGS)}

#: By table, what its columns and, by array, the fields of its elements may be given.
_COLUMNS: dict[Table, dict[str, Values]] = {
    MEMBERSHIP_SNAPSHOTS: {
        "consumer_group": _NAMES,
        "broker_name": _NAMES,
        "message_model": Values((), (None, "BROADCASTING")),
        "consume_type": _TEXT,
        "consume_from_where": _TEXT,
    },
    ROUTE_SNAPSHOTS: {"topic": _NAMES},
    TOPIC_SNAPSHOTS: {"topic": _NAMES},
    OFFSET_SNAPSHOTS: {"consumer_group": _NAMES, "topic": _NAMES},
    CLIENT_SNAPSHOTS: {
        "consumer_group": _NAMES,
        "client_id": _NAMES,
        "answered": Values((False,)),
        "in_group": Values((), (None, False)),
        "strategy_class": _TEXT,
        "message_model": Values(("", *HOSTILE), (None, "BROADCASTING")),
        "consume_orderly": Values((), (None, True)),
        "client_rebalance": Values((), (None, False)),
        "started_at": Values((), (None, datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC))),
        "consume_threads": Values((0, *_INTS), (None, 1, 65535)),
        "consume_batch_size": _FROM_1,
        "pull_batch_size": _FROM_1,
        "pull_interval_ms": _COUNT,
        "pull_threshold_for_queue": _FROM_1,
        "pull_threshold_size_for_queue": _FROM_1,
        "consume_max_span": _FROM_1,
    },
}
_ELEMENTS: dict[Table, dict[str, dict[str, Values]]] = {
    MEMBERSHIP_SNAPSHOTS: {
        "connections": {
            "client_id": _NAMED,
            "client_addr": Values(("", "10.0.0.1", "10.0.0.1:5000\n", *HOSTILE), (None, "[::1]:0")),
            "language": _TEXT,
            "version": Values((), (None, *_INTS)),
        },
        "subscriptions": _SUBSCRIPTION,
    },
    ROUTE_SNAPSHOTS: {
        "queues": {
            "broker_name": _NAMED,
            "perm": Values((None, *_INTS, 8), (0, 7)),
            "read_queue_nums": _COUNTS,
            "write_queue_nums": _COUNTS,
        },
        "addresses": {"broker_name": _NAMED, "broker_id": Values((None, -1), (0, 2**40)), "address": _NAMED},
    },
    TOPIC_SNAPSHOTS: {
        "queues": {"broker_name": _NAMED, "queue_id": _NUMBER, "min_offset": _OFFSET, "max_offset": _OFFSET}
    },
    OFFSET_SNAPSHOTS: {
        "offsets": {
            "broker_name": _NAMED,
            "queue_id": _NUMBER,
            "broker_offset": _OFFSET,
            "consumer_offset": _OFFSET,
            "pull_offset": _OFFSET,
            "last_timestamp": _TIME,
        }
    },
    CLIENT_SNAPSHOTS: {
        "subscriptions": _SUBSCRIPTION,
        "owned_queues": {
            "topic": Values((None,), HOSTILE),
            "broker_name": _NAMED,
            "queue_id": _NUMBER,
            "locked": Values((), (None,)),
            "dropped": Values((), (None,)),
            "cached_count": _COUNT,
            "cached_mib": _COUNT,
            "cached_min_offset": _OFFSET,
            "cached_max_offset": _OFFSET,
            "commit_offset": Values((), (None, *_LONGS)),
            "last_pull": _TIME,
            "last_consume": _TIME,
        },
        "consume_status": {
            "topic": _TEXT,
            **dict.fromkeys(("consume_rt_ms", "consume_ok_tps", "consume_failed_tps", "pull_rt_ms", "pull_tps"), _RATE),
        },
    },
}


def good_row(table: Table, number: int, seconds: float) -> Row:
    """What the recorder writes of one of 20 groups, each with a topic of its own."""
    group, topic = f"g{number % 20}", f"t{number % 20}"
    if table is MEMBERSHIP_SNAPSHOTS:
        return membership(seconds, "c1", "c2", group=group, topics=(topic,))
    if table is ROUTE_SNAPSHOTS:
        return route(seconds, 2, topic=topic) | {"addresses": [{"broker_name": "b", "broker_id": 0, "address": "h:1"}]}
    if table is OFFSET_SNAPSHOTS:
        return offsets(seconds, (100, 90, 1), (100, 95, 1), topic=topic, group=group)
    key = {"cluster": "c", "captured_at": at(seconds)}
    if table is TOPIC_SNAPSHOTS:
        queue = {"broker_name": "b", "queue_id": 0, "min_offset": 0, "max_offset": 100}
        return key | {"topic": topic, "queues": [queue, queue | {"queue_id": 1}]}
    owned = client_snapshots.queue(topic=topic)
    said = client_snapshots.ANSWER | {"owned_queues": [owned, owned | {"queue_id": 1}]}
    return key | {"consumer_group": group, "client_id": "c1"} | said


def malformed_rows(seed: int, count: int) -> Iterator[Malformed]:
    """At least so many rows, each with one or two changes, no two captured together but those of a repeated key."""
    draw = random.Random(seed)
    number = 0
    while number < count:
        table = draw.choice(SOURCES)
        row = good_row(table, draw.randrange(20), draw.randrange(-270, 3600) + number / 1_000_000)
        names = draw.sample([*_COLUMNS[table], *_ELEMENTS[table]], draw.choice((1, 1, 2)))
        is_bad = sum(_change(draw, table, row, name) for name in names) > 0
        if draw.random() < 0.002:
            column = draw.choice([name for name, values in _COLUMNS[table].items() if "x" * 256 in values.bad])
            row, is_bad = row | {column: LONG}, True
        number += 1
        yield Malformed(table, row, is_bad)
        if draw.random() < 0.05:
            number += 1
            yield Malformed(table, dict(row), is_bad)


def _change(draw: random.Random, table: Table, row: Row, name: str) -> bool:
    """Changes a column of the row, or an element of it; whether that breaks a rule for sure."""
    if name in _COLUMNS[table]:
        row[name], is_bad = _draw(draw, _COLUMNS[table][name])
        return is_bad
    elements, kind = list(row[name]), draw.random()
    if kind < 0.3:
        row[name] = [*elements, None] if kind < 0.15 else []
        return kind < 0.15
    field, values = draw.choice(sorted(_ELEMENTS[table][name].items()))
    value, is_bad = _draw(draw, values)
    place = draw.randrange(len(elements))
    elements[place] = elements[place] | {field: value}
    row[name] = elements
    return is_bad


def _draw(draw: random.Random, values: Values) -> tuple[Any, bool]:
    bad = bool(values.bad) and (not values.odd or draw.random() < 0.5)
    return draw.choice(values.bad if bad else values.odd), bad
