"""Queues that several connections consume."""

from spark_jobs.domain.model.finding import Condition
from spark_jobs.domain.rules.queue_owners import DOUBLE_OWNED_QUEUE as RULE
from tests.support.builders import allocation, audited_step, interval, members
from tests.support.findings import rule_hit


def test_each_queue_with_every_different_owner() -> None:
    listed = members("c1 c1 c2")
    owned = allocation(listed, "0+1 2 0+1+2", double_owned={0: "DUPLICATE_CLIENT_ID", 2: "MIXED_STRATEGIES"})
    assert list(RULE.hits(audited_step(interval(0, 60, listed, owned, view="b", seen_at=40)))) == [
        rule_hit(0, 60, cause, f"t b:{number} DOUBLE_OWNED", topic="t", view="b", seen_at=40, implicated=client_id)
        for number, cause, client_id in (
            (0, "DUPLICATE_CLIENT_ID", "c1"),
            (2, "MIXED_STRATEGIES", "c1"),
            (2, "MIXED_STRATEGIES", "c2"),
        )
    ]


def test_its_harm_decides() -> None:
    assert RULE.severity(Condition(None, "CONFIG_OVERLAP", (), True, 1, None)) == "ERROR"
    assert RULE.severity(Condition(None, "CONFIG_OVERLAP", (), True, 0, None)) == "INFO"
