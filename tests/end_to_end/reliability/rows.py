"""Source rows, past the ingest: good ones, odd ones that keep every rule, and ones that break a rule.

What breaks a rule, and what just keeps it, stands by hand in `tests/unit/expectations`; names are hostile besides.
"""

import random
from collections.abc import Iterable, Iterator
from itertools import chain, cycle, islice
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


class Broken(NamedTuple):
    """A row, or the columns that a good row gets instead, and the rule that it breaks by them."""

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


def _breaks() -> Iterator[Broken]:
    for cases in SUITES:
        for rule, several in cases.breaks.items():
            if rule not in _NOT_ASIDE and (cases.suite.table, rule) != _NEVER_STORED:
                yield from (Broken(cases.suite.table, row, rule.upper()) for row in _changes(cases, several))


BREAKS: Final = (*_breaks(),)
_LONG: Final = "m" * 10 * 1024 * 1024
_QUEUE: Final = {"broker_name": "b", "min_offset": 0, "max_offset": 1}
#: Those of megabytes.
_HEAVY: Final = (
    Broken(MEMBERSHIP_SNAPSHOTS, {"consumer_group": _LONG}, "CONSUMER_GROUP_IS_A_NAME"),
    Broken(ROUTE_SNAPSHOTS, {"topic": _LONG}, "TOPIC_IS_A_NAME"),
    Broken(CLIENT_SNAPSHOTS, {"client_id": _LONG}, "CLIENT_ID_IS_A_NAME"),
    Broken(TOPIC_SNAPSHOTS, {"queues": [_QUEUE | {"queue_id": id_} for id_ in range(100_000)]}, "QUEUES_ARE_NAMED"),
)
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


def broken_rows(seed: int, count: int, *, heavy: bool = False) -> Iterator[Broken]:
    """Every break in turn, until there are so many rows, those that are megabytes once; half of good names, half of
    hostile ones. No two rows were captured together, but pairs of one key and two contents, of which none is used.
    """
    draw = random.Random(seed)
    turns = islice(chain(_HEAVY if heavy else (), cycle(BREAKS)), count)
    for number, (table, changes, reason) in enumerate(turns):
        seconds = -269 + number * 3_800 / count
        row = good_row(table, draw.randrange(20), seconds)
        if draw.random() < 0.5:
            row |= {name: draw.choice(NAMES) for name in ("consumer_group", "topic") if name in row}
        if number % 97 == 96:
            yield from (
                Broken(ROUTE_SNAPSHOTS, route(seconds, queues, topic="twice"), "KEYS_ARE_UNIQUE") for queues in (4, 5)
            )
        else:
            yield Broken(table, row | changes, reason)
