"""Source rows, past the ingest: good ones, odd ones that keep every rule, and ones that break a rule.

What breaks a rule, and what just keeps it, stands by hand in `tests/unit/expectations`; names are hostile besides.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from schemas import CLIENT_SNAPSHOTS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, TOPIC_SNAPSHOTS, Table
from schemas.types import STRING, Array, Struct
from tests.end_to_end.reliability.names import NAMES
from tests.support.snapshots import membership, offsets, route
from tests.support.times import at
from tests.unit.expectations import (
    client_snapshots,
    membership_snapshots,
    offset_snapshots,
    route_snapshots,
    topic_snapshots,
)
from tests.unit.expectations.cases import Cases, Rows

Row = dict[str, Any]
SUITES: Final = (
    *(membership_snapshots.CASES, route_snapshots.CASES, topic_snapshots.CASES),
    *(offset_snapshots.CASES, client_snapshots.CASES),
)
#: Rules that set no row aside by itself, and one that a constraint of its table keeps from being broken.
_NOT_ASIDE: Final = ("brokers_are_the_hosts", "keys_are_unique", "captured_at_is_of_the_run")
_NEVER_STORED: Final = (MEMBERSHIP_SNAPSHOTS, "message_model_is_known")


class Break(NamedTuple):
    """Columns that a good row of a table gets, and the rule that it breaks by them."""

    table: Table
    changes: Row
    reason: str
    is_heavy: bool = False


class Broken(NamedTuple):
    """A row that must go to quarantine, and the reason."""

    table: Table
    row: Row
    reason: str


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


def _changes(cases: Cases, several: Iterable[Rows]) -> Iterator[Row]:
    """Of each case of one row that can be stored: the columns that are not as usual, the time aside."""
    table = cases.suite.table
    (usual,) = cases.keeps[0][table]
    required = {field.name for field in table.schema if not field.nullable}
    for case in several:
        row, *others = case[table]
        changed = {name: value for name, value in row.items() if value != usual.get(name)}
        nulls = {name for name, value in changed.items() if value is None}
        if not (others or nulls & required or "captured_at" in changed):
            yield changed


def _breaks() -> Iterator[Break]:
    for cases in SUITES:
        for rule, several in cases.breaks.items():
            if rule not in _NOT_ASIDE and (cases.suite.table, rule) != _NEVER_STORED:
                for changes in _changes(cases, several):
                    yield Break(cases.suite.table, changes, rule.upper())
    named = (MEMBERSHIP_SNAPSHOTS, "consumer_group"), (ROUTE_SNAPSHOTS, "topic"), (CLIENT_SNAPSHOTS, "client_id")
    for table, column in named:
        yield Break(table, {column: "m" * 10 * 1024 * 1024}, f"{column.upper()}_IS_A_NAME", is_heavy=True)
    queue = {"broker_name": "b", "min_offset": 0, "max_offset": 1}
    many = [queue | {"queue_id": number} for number in range(100_000)]
    yield Break(TOPIC_SNAPSHOTS, {"queues": many}, "QUEUES_ARE_NAMED", is_heavy=True)


BREAKS: Final = (*_breaks(),)
#: What good rows may have instead, by table.
_KEPT: Final = {cases.suite.table: [*_changes(cases, cases.keeps)] for cases in SUITES}
#: Texts that a rule restricts.
_NOT_ANY: Final = ("cluster", "message_model", "client_addr")


def _texts(row: Row, table: Table) -> Iterator[tuple[str, str | None]]:
    """The columns, and the fields of the arrays that a row has, that may hold any text."""
    for field in table.schema:
        if field.type == STRING and field.name in row and field.name not in _NOT_ANY:
            yield field.name, None
        elif isinstance(field.type, Array) and isinstance(field.type.element, Struct) and row.get(field.name):
            texts = (one.name for one in field.type.element if one.type == STRING and one.name not in _NOT_ANY)
            yield from ((field.name, name) for name in texts)


def odd_rows(seed: int, count: int) -> Iterator[tuple[Table, Row]]:
    """So many rows, every other one with a hostile name, the rest at the edge of a rule; no two captured together."""
    draw = random.Random(seed)
    for number in range(count):
        table = draw.choice(list(_KEPT))
        row = good_row(table, draw.randrange(20), -268.9995 + number * 3_800 / count)
        if number % 2:
            yield table, row | draw.choice(_KEPT[table])
            continue
        column, field = draw.choice([*_texts(row, table)])
        name = draw.choice(NAMES)
        yield table, row | {column: name if field is None else [row[column][0] | {field: name}, *row[column][1:]]}


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
            yield Broken(one.table, row | one.changes, one.reason)


def _named(draw: random.Random, row: Row) -> Row:
    hostile = draw.random() < 0.5
    return row | {name: draw.choice(NAMES) for name in _NAMED if hostile and name in row}


def _two_contents(row: Row) -> Iterator[Broken]:
    """Two routes of one topic and time: which is true is not known."""
    key = {name: row["captured_at"] if name == "captured_at" else "twice" for name in ROUTE_SNAPSHOTS.key}
    for queues in (4, 5):
        entry = {"broker_name": "b", "perm": 6, "read_queue_nums": queues, "write_queue_nums": queues}
        yield Broken(ROUTE_SNAPSHOTS, key | {"queues": [entry]}, "KEYS_ARE_UNIQUE")
