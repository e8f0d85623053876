"""Queues that no consumer may read."""

from typing import Any

from spark_jobs.domain.model.finding import Condition, FindingQueue
from spark_jobs.domain.rules.queue_owners import STRANDED_WRITE_QUEUES as RULE
from tests.support.builders import allocation, audited_step, interval, members
from tests.support.findings import rule_hit


def test_the_queues_beyond_the_read_queues_and_no_others() -> None:
    listed = members("c1 c2-")
    owned = allocation(
        listed,
        "0 -",
        unassigned={1: ("MEMBER_NOT_SUBSCRIBED", "c2")},
        unreadable=["BROKER_NOT_READABLE", "BEYOND_READ_QUEUES", "BEYOND_READ_QUEUES"],
    )
    # For 50 s: queues are added, and members follow the route.
    about: dict[str, Any] = {"topic": "t", "view": "*", "seen_at": 40, "minimum_seconds": 50}
    assert list(RULE.hits(audited_step(interval(0, 60, listed, owned, seen_at=40)))) == [
        rule_hit(0, 60, "BEYOND_READ_QUEUES", f"t b:{queue_id} UNASSIGNED", **about) for queue_id in (3, 4)
    ]


def test_no_consumer_reads_them_though_every_readable_queue_has_an_owner() -> None:
    listed = members("c1")
    alone = allocation(listed, "0", unreadable=["BEYOND_READ_QUEUES"])
    (found,) = RULE.hits(audited_step(interval(0, 60, listed, alone)))
    assert found.queue == FindingQueue("t", "b", 1, "UNASSIGNED")


def test_all_may_be_read_no_hit() -> None:
    listed = members("c1")
    owned = allocation(listed, "0 -", unassigned={1: ("CONFIG_HOLE", None)})
    assert list(RULE.hits(audited_step(interval(0, 60, listed, owned)))) == []


def test_its_harm_decides() -> None:
    assert RULE.severity(Condition(None, "BEYOND_READ_QUEUES", (), True, 0, 5)) == "ERROR"
    assert RULE.severity(Condition(None, "BEYOND_READ_QUEUES", (), True, 0, 0)) == "INFO"
