"""Source rows, past the ingest: good ones, odd ones that keep every rule, and ones that break rules on purpose.

Which rules these break is known by hand, from what was done to them.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from schemas import CLIENT_SNAPSHOTS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, TOPIC_SNAPSHOTS, Table
from tests.end_to_end.reliability.names import NAMES
from tests.support.snapshots import membership, offsets, route
from tests.support.times import at
from tests.unit.expectations import client_snapshots

Row = dict[str, Any]
_MANY_QUEUES: Final = 100_000
_NO_NAMES: Final = ("", "x" * 256, "\U0001f600" * 256, "\0" * 256)
_NOT_NAMED: Final = (None, *_NO_NAMES)
_NOT_SMALL: Final = (None, -1, -(2**31), 2**31 - 1, 65_536)
_NO_RATES: Final = (-0.5, float("nan"), float("inf"), float("-inf"), 2e15)
_NO_TIMES: Final = (-1, -(2**63), 2**63 - 1, 253_402_300_800_000)
_LOW, _HIGH = (-1, -(2**63)), (2**63 - 1, 10**15 + 1)

POSSIBLE: Final = "OFFSETS_ARE_POSSIBLE"


class Break(NamedTuple):
    """Columns that a good row of a table gets, and every rule that it breaks by them.

    A list of a dict stands for a change of the first element of the array; other values are put as they are.
    """

    table: Table
    column: str
    value: Any
    reasons: frozenset[str]
    is_heavy: bool = False


class Broken(NamedTuple):
    """A row that must go to quarantine, and the reasons."""

    table: Table
    row: Row
    reasons: frozenset[str]


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
    answer = client_snapshots.ANSWER | {"owned_queues": [owned, owned | {"queue_id": 1}]}
    return key | {"consumer_group": group, "client_id": "c1"} | answer


def _breaks(table: Table, column: str, values: Iterable[Any], *reasons: str) -> Iterator[Break]:
    return (Break(table, column, value, frozenset(reasons)) for value in values)


def _fields(table: Table, column: str, field: str, values: Iterable[Any], *reasons: str) -> Iterator[Break]:
    return _breaks(table, column, ([{field: value}] for value in values), *reasons)


def _null_among(table: Table, column: str) -> Iterator[Break]:
    return _breaks(table, column, [[None], [None, {}], [{}, None]], f"{column.upper()}_HAVE_NO_NULL")


def _of_memberships() -> Iterator[Break]:
    table = MEMBERSHIP_SNAPSHOTS
    for column in ("cluster", "consumer_group", "broker_name"):
        yield from _breaks(table, column, _NO_NAMES, f"{column.upper()}_IS_A_NAME")
    yield from _fields(table, "connections", "client_id", _NOT_NAMED, "CLIENT_IDS_ARE_NAMES")
    addresses = ("", "10.0.0.1", "10.0.0.1:", ":5000", "10.0.0.1:5000\n", "10.0.0.1:123456", "a:1\0", "=1+1")
    yield from _fields(table, "connections", "client_addr", addresses, "CLIENT_ADDRESSES_ARE_HOST_AND_PORT")
    yield from _fields(table, "subscriptions", "topic", _NOT_NAMED, "SUBSCRIBED_TOPICS_ARE_NAMES")
    yield from _null_among(table, "connections")
    yield from _null_among(table, "subscriptions")
    modes: tuple[tuple[Any, Any, Any], ...] = (
        *(("t", mode, 1) for mode in (None, "", "pop", "POP ", "=1+1", "\0")),
        *((topic, "PULL", 0) for topic in _NOT_NAMED),
        ("t", "POP", None),
    )
    given = ([dict(zip(("topic", "mode", "pop_share_queue_num"), mode, strict=True))] for mode in modes)
    yield from _breaks(table, "request_modes", map(tuple, given), "REQUEST_MODES_ARE_KNOWN")


def _of_routes() -> Iterator[Break]:
    table = ROUTE_SNAPSHOTS
    yield from _breaks(table, "topic", _NO_NAMES, "TOPIC_IS_A_NAME")
    yield from _fields(table, "queues", "broker_name", _NOT_NAMED, "BROKERS_ARE_NAMES")
    yield from _fields(table, "queues", "perm", (*_NOT_SMALL, 8), "PERM_IS_0_TO_7")
    for field in ("read_queue_nums", "write_queue_nums"):
        yield from _fields(table, "queues", field, (*_NOT_SMALL, _MANY_QUEUES), "QUEUE_COUNTS_ARE_0_TO_65535")
    yield from _breaks(table, "queues", [[{}, {}], [{}, {"perm": 4}]], "BROKERS_ARE_THERE_ONCE")
    yield from _null_among(table, "queues")


def _of_topics() -> Iterator[Break]:
    """A good queue has messages from 0 to 100."""
    table = TOPIC_SNAPSHOTS
    yield from _breaks(table, "topic", _NO_NAMES, "TOPIC_IS_A_NAME")
    yield from _fields(table, "queues", "broker_name", _NOT_NAMED, "QUEUES_ARE_NAMED")
    yield from _fields(table, "queues", "queue_id", _NOT_SMALL, "QUEUES_ARE_NAMED")
    behind = "MIN_OFFSET_IS_NOT_ABOVE_MAX_OFFSET"
    yield from _fields(table, "queues", "min_offset", _LOW, POSSIBLE)
    yield from _fields(table, "queues", "min_offset", _HIGH, POSSIBLE, behind)
    yield from _fields(table, "queues", "min_offset", (101, 10**15), behind)
    yield from _fields(table, "queues", "max_offset", _LOW, POSSIBLE, behind)
    yield from _fields(table, "queues", "max_offset", _HIGH, POSSIBLE)
    yield from _breaks(table, "queues", [[{}, {}], [{}, {"max_offset": 7}]], "QUEUES_ARE_THERE_ONCE")
    yield from _null_among(table, "queues")
    many = tuple({"broker_name": "b", "queue_id": n, "min_offset": 0, "max_offset": 1} for n in range(_MANY_QUEUES))
    yield Break(table, "queues", many, frozenset({"QUEUES_ARE_NAMED"}), is_heavy=True)


def _of_offsets() -> Iterator[Break]:
    """A good queue: 100 in the broker, 90 consumed; 10,000 ahead are allowed."""
    table, ahead = OFFSET_SNAPSHOTS, "CONSUMER_IS_NOT_AHEAD_OF_BROKER"
    for column in ("consumer_group", "topic"):
        yield from _breaks(table, column, _NO_NAMES, f"{column.upper()}_IS_A_NAME")
    yield from _fields(table, "offsets", "broker_name", _NOT_NAMED, "QUEUES_ARE_NAMED")
    yield from _fields(table, "offsets", "queue_id", _NOT_SMALL, "QUEUES_ARE_NAMED")
    yield from _fields(table, "offsets", "broker_offset", (-1, *_HIGH), POSSIBLE)
    yield from _fields(table, "offsets", "broker_offset", (-(2**63),), POSSIBLE, ahead)
    yield from _fields(table, "offsets", "consumer_offset", _LOW, POSSIBLE)
    yield from _fields(table, "offsets", "consumer_offset", _HIGH, POSSIBLE, ahead)
    yield from _fields(table, "offsets", "consumer_offset", (10_101, 10**15), ahead)
    yield from _fields(table, "offsets", "pull_offset", (*_LOW, *_HIGH), POSSIBLE)
    yield from _fields(table, "offsets", "last_timestamp", _NO_TIMES, "TIMES_ARE_POSSIBLE")
    yield from _breaks(table, "offsets", [[{}, {}], [{}, {"broker_offset": 101}]], "QUEUES_ARE_THERE_ONCE")
    yield from _null_among(table, "offsets")


def _of_clients() -> Iterator[Break]:
    table = CLIENT_SNAPSHOTS
    for column in ("consumer_group", "client_id"):
        yield from _breaks(table, column, _NO_NAMES, f"{column.upper()}_IS_A_NAME")
    yield from _breaks(table, "answered", [False], "WHO_DID_NOT_ANSWER_SAYS_NOTHING")
    yield from _breaks(table, "message_model", NAMES, "MESSAGE_MODEL_IS_KNOWN")
    yield from _breaks(table, "consume_threads", (0, -1, -(2**31), 65_536, 2**31 - 1), "THREADS_ARE_1_TO_65535")
    for column in ("consume_batch_size", "pull_threshold_for_queue", "consume_max_span"):
        yield from _breaks(table, column, (0, -1, -(2**31)), "SETTINGS_ARE_POSSIBLE")
    yield from _breaks(table, "pull_interval_ms", (-1, -(2**31)), "SETTINGS_ARE_POSSIBLE")
    for column in ("subscriptions", "owned_queues", "consume_status"):
        yield from _null_among(table, column)
    for field in ("topic", "broker_name"):
        yield from _fields(table, "owned_queues", field, _NOT_NAMED, "OWNED_QUEUES_ARE_NAMED")
    yield from _fields(table, "owned_queues", "queue_id", _NOT_SMALL, "OWNED_QUEUES_ARE_NAMED")
    for field in ("cached_count", "cached_mib"):
        yield from _fields(table, "owned_queues", field, (-1, -(2**31)), "CACHES_ARE_NOT_NEGATIVE")
    for field in ("cached_min_offset", "cached_max_offset"):
        yield from _fields(table, "owned_queues", field, (*_LOW, *_HIGH), "CACHED_OFFSETS_ARE_POSSIBLE")
    for field in ("last_pull", "last_consume"):
        yield from _fields(table, "owned_queues", field, _NO_TIMES, "TIMES_ARE_POSSIBLE")
    for field in ("consume_rt_ms", "consume_ok_tps", "consume_failed_tps", "pull_rt_ms", "pull_tps"):
        yield from _fields(table, "consume_status", field, _NO_RATES, "RATES_ARE_POSSIBLE")


def _long() -> Iterator[Break]:
    names = (
        (MEMBERSHIP_SNAPSHOTS, "consumer_group", "CONSUMER_GROUP_IS_A_NAME"),
        (ROUTE_SNAPSHOTS, "topic", "TOPIC_IS_A_NAME"),
        (CLIENT_SNAPSHOTS, "client_id", "CLIENT_ID_IS_A_NAME"),
    )
    for table, column, reason in names:
        yield Break(table, column, "m" * 10 * 1024 * 1024, frozenset({reason}), is_heavy=True)


BREAKS: Final = (*_of_memberships(), *_of_routes(), *_of_topics(), *_of_offsets(), *_of_clients(), *_long())
_TEXTS: Final = (None, "", *NAMES)
_INTS: Final = (None, -1, -(2**31), 2**31 - 1)
_LONGS: Final = (None, -1, -(2**63), 2**63 - 1)
_COUNTS: Final = (None, 0, 2**31 - 1)
_FROM_1: Final = (None, 1, 2**31 - 1)
_OFFSETS: Final = (None, 0, 10**15)
_TIMES: Final = (None, 0, 253_402_300_799_999)
_RATES: Final = (None, 0.0, 10.0**15)
_OTHER_MODELS: Final = (None, "BROADCASTING")
_SUBSCRIBED: Final[dict[str, Sequence[Any]]] = {
    "topic": NAMES,
    "expression_type": _TEXTS,
    "sub_string": _TEXTS,
    "sub_version": _LONGS,
}
#: By table, what its columns and, by array, the fields of an element may also hold.
ODD: Final[dict[Table, dict[str, Sequence[Any] | dict[str, Sequence[Any]]]]] = {
    MEMBERSHIP_SNAPSHOTS: {
        **dict.fromkeys(("consumer_group", "broker_name"), NAMES),
        **dict.fromkeys(("consume_type", "consume_from_where"), _TEXTS),
        "message_model": _OTHER_MODELS,
        "connections": {"client_id": NAMES, "client_addr": (None, "[::1]:0"), "language": _TEXTS, "version": _INTS},
        "subscriptions": _SUBSCRIBED,
    },
    ROUTE_SNAPSHOTS: {
        "topic": NAMES,
        "queues": {"broker_name": NAMES, "perm": (0, 7), "read_queue_nums": (0, 40), "write_queue_nums": (0, 40)},
        "addresses": {"broker_name": NAMES, "broker_id": (0, 2**40), "address": NAMES},
    },
    TOPIC_SNAPSHOTS: {
        "topic": NAMES,
        "queues": {"broker_name": NAMES, "queue_id": (65_535,), "min_offset": (None, 0), "max_offset": (None, 10**15)},
    },
    OFFSET_SNAPSHOTS: {
        **dict.fromkeys(("consumer_group", "topic"), NAMES),
        "offsets": {
            "broker_name": NAMES,
            "queue_id": (65_535,),
            "broker_offset": _OFFSETS,
            "consumer_offset": (None, 0),
            "pull_offset": _OFFSETS,
            "last_timestamp": _TIMES,
        },
    },
    CLIENT_SNAPSHOTS: {
        **dict.fromkeys(("consumer_group", "client_id"), NAMES),
        "in_group": (None, False),
        "strategy_class": _TEXTS,
        "message_model": _OTHER_MODELS,
        "consume_orderly": (None, True),
        "client_rebalance": (None, False),
        "started_at": (None, datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)),
        "consume_threads": (None, 1, 65_535),
        **dict.fromkeys(("consume_batch_size", "pull_batch_size", "consume_max_span"), _FROM_1),
        **dict.fromkeys(("pull_threshold_for_queue", "pull_threshold_size_for_queue"), _FROM_1),
        "pull_interval_ms": _COUNTS,
        "consume_timeout_minutes": (None, 0, -1, 2**63 - 1),
        "subscriptions": _SUBSCRIBED,
        "owned_queues": {
            **dict.fromkeys(("topic", "broker_name"), NAMES),
            "queue_id": (65_535,),
            **dict.fromkeys(("locked", "dropped"), (None,)),
            **dict.fromkeys(("cached_count", "cached_mib"), _COUNTS),
            **dict.fromkeys(("cached_min_offset", "cached_max_offset"), _OFFSETS),
            "commit_offset": _LONGS,
            **dict.fromkeys(("last_pull", "last_consume", "last_lock"), _TIMES),
        },
        "consume_status": {
            "topic": _TEXTS,
            **dict.fromkeys(
                ("consume_rt_ms", "consume_ok_tps", "consume_failed_tps", "pull_rt_ms", "pull_tps"), _RATES
            ),
        },
    },
}


def odd_rows(seed: int, count: int) -> Iterator[tuple[Table, Row]]:
    """So many rows, each with one or two columns of `ODD`, or an array without elements; no two captured together."""
    draw = random.Random(seed)
    for number in range(count):
        table = draw.choice(list(ODD))
        row = good_row(table, draw.randrange(20), -268.9995 + number * 3_800 / count)
        for column in draw.sample(list(ODD[table]), draw.choice((1, 1, 2))):
            row[column] = _odd(draw, ODD[table][column], row[column])
        yield table, row


def _odd(draw: random.Random, values: Sequence[Any] | dict[str, Sequence[Any]], value: Any) -> Any:
    if not isinstance(values, dict):
        return draw.choice(values)
    field = draw.choice(list(values))
    changed = value[0] | {field: draw.choice(values[field])}
    return [] if draw.random() < 0.15 else [changed, *value[1:]]


#: Columns that name a group or topic, which may be any name.
_NAMED: Final = {"consumer_group": "consumer_group", "topic": "topic"}


def broken_rows(seed: int, count: int, *, heavy: bool = False) -> Iterator[Broken]:
    """Every break in turn, until there are so many rows, those that are megabytes once; half of good names, half of
    hostile ones. No two rows were captured together, but pairs of one key and two contents, of which none is used.
    """
    draw = random.Random(seed)
    turns: Sequence[Break] = [one for one in BREAKS if not one.is_heavy]
    once = [one for one in BREAKS if one.is_heavy and heavy]
    for number in range(count):
        one = once[number] if number < len(once) else turns[number % len(turns)]
        row = _named(draw, good_row(one.table, draw.randrange(20), -269 + number * 3_800 / count))
        if number % 97 == 96:
            yield from _two_contents(row)
        else:
            yield Broken(one.table, row | {one.column: _put(row, one)}, one.reasons)


def _put(row: Row, one: Break) -> Any:
    """The value; of an array that good rows have, its first element is repeated with the changes."""
    if not isinstance(one.value, list):
        return list(one.value) if isinstance(one.value, tuple) else one.value
    first = row[one.column][0]
    return [None if changes is None else first | changes for changes in one.value]


def _named(draw: random.Random, row: Row) -> Row:
    hostile = draw.random() < 0.5
    return row | {name: draw.choice(NAMES) for name in _NAMED if hostile and name in row}


def _two_contents(row: Row) -> Iterator[Broken]:
    """Two routes of one topic and time: which is true is not known."""
    key = {name: row["captured_at"] if name == "captured_at" else "twice" for name in ROUTE_SNAPSHOTS.key}
    for queues in (4, 5):
        entry = {"broker_name": "b", "perm": 6, "read_queue_nums": queues, "write_queue_nums": queues}
        yield Broken(ROUTE_SNAPSHOTS, key | {"queues": [entry]}, frozenset({"KEYS_ARE_UNIQUE"}))
