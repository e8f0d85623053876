"""Allocations that tests of RocketMQ and of other clients expect.

`tests/data/other_projects/README.md` says where they differ, and why Java is right.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.rocketmq.allocation import KeepsAllocation, java_ring
from spark_jobs.domain.rocketmq.strategies import CONFIG, ConfigQueues, Strategy, Variant
from spark_jobs.errors import StrategyError
from tests.support.oracle.client import allocate

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


def queues_of(ids: Mapping[str, Sequence[int]]) -> list[MessageQueue]:
    return [MessageQueue("topic", broker, queue_id) for broker, of_broker in ids.items() for queue_id in of_broker]


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
