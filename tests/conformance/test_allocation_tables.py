"""Allocations that tests of RocketMQ and of other clients expect, and the sweeps of RocketMQ's own.

`tests/data/other_projects/README.md` says where they differ, and why Java is right.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.rocketmq.allocation import KeepsAllocation, shares
from spark_jobs.domain.rocketmq.hash_ring import java_ring
from spark_jobs.domain.rocketmq.strategies import (
    AVG,
    AVG_BY_CIRCLE,
    CONFIG,
    CONSISTENT_HASH,
    ConfigQueues,
    Strategy,
    Variant,
)
from spark_jobs.errors import StrategyError
from tests.support.oracle.client import ALL_QUEUES_OF_BROKER, allocate, pop_assignment

ROOT = Path(__file__).parents[2]
TABLES = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "tests" / "data" / "other_projects").glob("*.json"))
    if path.stem != "burrow"
}
#: The queue ids that a client gets, how many where the test says no more, or why it is refused; None: Go's nil.
Gets = list[int] | int | str | None


class Case(NamedTuple):
    """What one client gets; `expected`: by the project's test, `java`: by Java's classes."""

    table: str
    inputs: dict[str, Any]
    client_id: str
    expected: Gets
    java: Gets


CASES = [
    Case(name, inputs, client_id, expected, inputs.get("java", {}).get(client_id, expected))
    for name, table in TABLES.items()
    for inputs in table["cases"]
    for client_id, expected in inputs["gets"].items()
]


def queues_of(ids: Mapping[str, Sequence[int]], topic: str = "topic") -> list[MessageQueue]:
    return [MessageQueue(topic, broker, queue_id) for broker, of_broker in ids.items() for queue_id in of_broker]


def strategy_of(inputs: Mapping[str, Any], variant: Variant = Variant.JAVA) -> Strategy:
    rooms, room = frozenset(inputs["rooms"]) if "rooms" in inputs else None, inputs.get("room")
    configured = inputs.get("configured", {}).items()
    queues = tuple(ConfigQueues(".*", "topic", broker, tuple(ids)) for broker, ids in configured)
    return Strategy(inputs["strategy"], inputs.get("virtual_node_cnt", 10), rooms, room, room, queues, variant)


def answer(case: Case, variant: Variant = Variant.JAVA) -> Gets:
    try:
        strategy = strategy_of(case.inputs, variant)
        found = allocate(strategy, case.client_id, queues_of(case.inputs["queues"]), case.inputs["clients"])
    except KeepsAllocation as kept:
        return str(kept)
    except StrategyError as error:
        return str(error).partition(";")[0]  # the advice after it is ours
    ids = sorted(queue.queue_id for queue in found or ())
    return len(ids) if isinstance(case.expected, int) else ids


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.table}-{case.inputs['strategy']}-{case.client_id}")
def test_a_client_gets_what_java_gives_it(case: Case) -> None:
    assert answer(case) == case.java


@pytest.mark.parametrize("case", [case for case in CASES if case.table == "rocketmq_client_go"], ids=str)
def test_a_client_of_go_gets_what_go_gives_it(case: Case) -> None:
    if case.inputs["strategy"] != CONFIG:
        assert answer(case, Variant.GO) == (case.expected or [])


def test_a_ring_with_a_hash_of_its_own() -> None:
    """mxsm/rocketmq-rust 0.9.0, `allocate_consistent_hash_uses_custom_hash_function_like_java`."""
    hashes = {"cid-a-0": 100, "cid-b-0": 200}
    queues = queues_of({"broker-a": [0, 1, 2]})
    hashes |= {str(queue): at for queue, at in zip(queues, (50, 150, 250), strict=True)}
    ring = java_ring(["cid-a", "cid-b"], 1, hashes.__getitem__)
    assert [ring.owner(str(queue)) for queue in queues] == ["cid-a", "cid-b", "cid-a"]


def test_the_page_counts_the_cases() -> None:
    """`tests/data/other_projects/README.md`: per file the cases, those that agree with Java, those that do not."""
    page = (ROOT / "tests" / "data" / "other_projects" / "README.md").read_text(encoding="utf-8")
    agree, all_of = Counter(case.table for case in CASES if case.expected == case.java), Counter(c.table for c in CASES)
    for name, table in TABLES.items():
        numbers = f"{all_of[name]} | {agree[name]} | {all_of[name] - agree[name]}"
        assert f"`{name}.json` | {numbers} |" in page, (name, numbers)
        assert table["commit"][:10] in page


# Sweeps of RocketMQ's own tests. Ids are unique, so the shares of positions are what clients get.


def ids_in_rooms(rooms: int, members: int) -> list[str]:
    return [f"IDC{room}-CID-{number}" for room in range(1, rooms + 1) for number in range(members)]


def check_rooms(inner: str, broker_rooms: int, client_rooms: int, queue_count: int, members: int) -> None:
    """Every queue has one owner, of its own room where the room has members."""
    client_ids = ids_in_rooms(client_rooms, members)
    queues = queues_of({f"IDC{room}-brokerName": range(queue_count) for room in range(1, broker_rooms + 1)})
    nearby = Strategy(f"MACHINE_ROOM_NEARBY-{inner}", broker_room="^([^-]+)-", client_room="^([^-]+)-")
    found = shares(nearby, queues, client_ids)
    assert sorted(queue for queue, _ in found) == (list(range(len(queues))) if client_ids else [])
    rooms_with_members = {client_id.partition("-")[0] for client_id in client_ids}
    for queue, position in found:
        room = queues[queue].broker_name.partition("-")[0]
        assert room not in rooms_with_members or client_ids[position].startswith(f"{room}-")


@pytest.mark.parametrize("inner", [AVG, AVG_BY_CIRCLE])
@pytest.mark.parametrize(
    ("broker_rooms", "client_rooms", "queue_count", "members"),
    [
        *((5, 5, 20, members) for members in (10, 20, 30, 0)),
        *((5, 6, 10, members) for members in (10, 5, 20, 0)),
        *((5, 3, 10, members) for members in (10, 5, 20, 0)),
    ],
)
def test_a_queue_is_owned_in_its_room_if_the_room_has_members(
    inner: str, broker_rooms: int, client_rooms: int, queue_count: int, members: int
) -> None:
    """`AllocateMachineRoomNearByTest`; rocketmq-rust runs it with AVG_BY_CIRCLE inside."""
    check_rooms(inner, broker_rooms, client_rooms, queue_count, members)


@given(st.integers(1, 10), st.integers(1, 10), st.integers(1, 100), st.integers(1, 200))
def test_a_queue_is_owned_in_its_room_at_random_sizes(
    broker_rooms: int, client_rooms: int, queue_count: int, members: int
) -> None:
    """`AllocateMachineRoomNearByTest.testRun10RandomCase`."""
    check_rooms(AVG, broker_rooms, client_rooms, queue_count, members)


def ring_owners(queues: Sequence[MessageQueue], client_ids: Sequence[str]) -> dict[int, str]:
    strategy = Strategy(CONSISTENT_HASH, virtual_node_cnt=3)
    return {queue: client_ids[position] for queue, position in shares(strategy, queues, client_ids)}


@pytest.mark.parametrize("member_count", range(1, 21))
def test_a_ring_moves_only_what_it_must(member_count: int) -> None:
    """`AllocateMessageQueueConsitentHashTest.testAllocate`, for all sizes that it draws."""
    for queue_count in range(1, 21):
        queues = queues_of({"brokerName": range(queue_count)})
        gone, *others = [f"CID-{number}" for number in range(member_count)]
        before, without = ring_owners(queues, [gone, *others]), ring_owners(queues, others)
        joined = ring_owners(queues, [*others, "CID-NEW"])
        assert set(before) == set(joined) == set(range(queue_count))
        assert set(without) == (set(range(queue_count)) if others else set())
        assert all(without[queue] == owner for queue, owner in before.items() if owner != gone)
        assert all(without[queue] == owner for queue, owner in joined.items() if owner != "CID-NEW")


@pytest.mark.parametrize("name", [AVG, AVG_BY_CIRCLE, CONSISTENT_HASH])
@pytest.mark.parametrize("queue_count", range(1, 17))
def test_what_a_client_may_pop(queue_count: int, name: str) -> None:
    """`QueryAssignmentProcessorTest.testAllocate4Pop`: 16 × 16 × 16 sizes, the last client of each.

    Where everybody pops everything, Java's list has the broker once per queue, the client's set of it once. By a ring a
    client may have no queue; with the names of this test each has some.
    """
    queues = queues_of({"defaultBroker": range(queue_count)}, topic="FooBar")
    for member_count, share in product(range(1, 17), range(16)):
        client_ids = [str(number) for number in range(member_count)]
        found = pop_assignment(Strategy(name), share, client_ids[-1], queues, client_ids)
        if share == 0 or share >= member_count - 1:
            assert found == [MessageQueue("FooBar", "defaultBroker", ALL_QUEUES_OF_BROKER)]
        elif queue_count < member_count:
            assert len(found) == 1
        elif name == CONSISTENT_HASH:
            assert 0 < len(found) <= queue_count
        else:
            least, rest = divmod(queue_count, member_count)
            assert least * (share + 1) <= len(found) <= (least + (rest > 0)) * (share + 1)
