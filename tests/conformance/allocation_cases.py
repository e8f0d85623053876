"""Allocations worked out by hand, read from `tests/data/allocations.txt`, which says how they are written."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from spark_jobs.domain.model.message_queue import MessageQueue, RouteEntry
from spark_jobs.domain.rocketmq.strategies import (
    AVG,
    AVG_BY_CIRCLE,
    CONFIG,
    CONSISTENT_HASH,
    MACHINE_ROOM,
    ConfigQueues,
    Strategy,
    Variant,
)
from tests.support.oracle.ownership import Member

_FILE = Path(__file__).parents[1] / "data" / "allocations.txt"
_NEARBY = Strategy("MACHINE_ROOM_NEARBY-AVG", broker_room="^([^-]+)-", client_room="^([^-]+)-")
_LISTS = Strategy(
    CONFIG, config_queues=(ConfigQueues("c1|x.*", "T", "a", (0, 1)), ConfigQueues("c2", "T", "a", (1, 2)))
)
#: By the title of a section.
_STRATEGIES = {
    "AVG": Strategy(AVG),
    "AVG_BY_CIRCLE": Strategy(AVG_BY_CIRCLE),
    "CONFIG c1|x.* a:0-1, c2 a:1-2": _LISTS,
    "CONFIG c1|x.* a:0-1, c2 a:1-2, rooms room1": replace(_LISTS, rooms=frozenset({"room1"})),
    "CONSISTENT_HASH": Strategy(CONSISTENT_HASH),
    **{f"CONSISTENT_HASH, {count} virtual nodes": Strategy(CONSISTENT_HASH, count) for count in (0, 2, 3)},
    "MACHINE_ROOM_NEARBY-AVG": _NEARBY,
    "MACHINE_ROOM_NEARBY-AVG_BY_CIRCLE": replace(_NEARBY, name="MACHINE_ROOM_NEARBY-AVG_BY_CIRCLE"),
    "MACHINE_ROOM_NEARBY-CONSISTENT_HASH, 0 virtual nodes": replace(
        _NEARBY, name="MACHINE_ROOM_NEARBY-CONSISTENT_HASH", virtual_node_cnt=0
    ),
}


class Expected(NamedTuple):
    """One queue; `cause`: why it is unassigned or double-owned, `share_of`: in whose share it lies then."""

    owners: tuple[str, ...]
    cause: str | None
    share_of: str | None


@dataclass(frozen=True)
class Case:
    """One allocation with its outcome."""

    name: str
    members: list[Member]
    topic: str
    route: tuple[RouteEntry, ...]
    expected: dict[MessageQueue, Expected]
    #: The section's, which a member of its own does not run.
    strategy: Strategy

    @property
    def client_ids(self) -> list[str]:
        return [member.client_id for member in self.members]


def _cases() -> Iterator[Case]:
    text = "\n".join(line for line in _FILE.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    for section in text.split("== ")[1:]:
        (title, *_), (_, *cases) = section.splitlines(), section.split("\n* ")
        strategy, _, topic = title.partition(" of ")
        yield from (_case(case.strip().splitlines(), _strategy(strategy), topic or "T") for case in cases)


def _strategy(title: str) -> Strategy:
    """`MACHINE_ROOM`'s title names its rooms."""
    name, _, rooms = title.partition(" ")
    if name == MACHINE_ROOM:
        return Strategy(name, rooms=frozenset(room.strip('"') for room in rooms.split(", ")))
    return _STRATEGIES[title]


def _case(lines: list[str], strategy: Strategy, topic: str) -> Case:
    (name, clients), rows = (cell.strip() for cell in lines[0].split("|")), lines[1:]
    route = tuple(_entries(rows.pop(0).partition("route:")[2])) if "route:" in rows[0] else ()
    expected = dict(row for line in rows for row in _queues(line, topic))
    counts = Counter(queue.broker_name for queue in expected)
    route = route or tuple(RouteEntry(broker, 6, count, count) for broker, count in counts.items())
    return Case(name, [_member(text, strategy) for text in clients.split()], topic, route, expected, strategy)


def _entries(text: str) -> Iterator[RouteEntry]:
    for broker, perm, read, write in (entry.split() for entry in text.split(",")):
        yield RouteEntry(broker, int(perm), int(read), int(write))


def _member(text: str, strategy: Strategy) -> Member:
    text, subscribes = text.rstrip("!"), not text.endswith("!")
    text, _, variant = text.partition("~")
    client_id, _, other = text.partition("/")
    return Member(
        client_id, replace(strategy, name=other or strategy.name, variant=Variant(variant or "JAVA")), subscribes
    )


def _queues(line: str, topic: str) -> Iterator[tuple[MessageQueue, Expected]]:
    queues, owners, causes, *_ = (*(cell.split() for cell in line.split("|")), [])
    cause, share_of, *_ = (*causes, None, None)
    broker, ids = queues
    for queue_id in _numbers(ids):
        yield MessageQueue(topic, broker, queue_id), Expected(tuple(owners), cause, share_of)


def _numbers(text: str) -> Iterator[int]:
    """`0-2,6` is 0, 1, 2, 6."""
    for part in text.split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


CASES = tuple(_cases())
