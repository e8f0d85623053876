"""Queues that several connections consume."""

from typing import Any

from schemas import MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, Table
from spark_jobs.domain.model.finding import Condition
from spark_jobs.domain.rules.queue_owners import DOUBLE_OWNED_QUEUE as RULE
from tests.support.builders import allocation, audited_step, interval, members
from tests.support.findings import rule_hit
from tests.support.kernel import evaluated
from tests.support.snapshots import membership, offsets, route
from tests.support.times import HOUR, second_of


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


def renamed(since: int, until: int) -> dict[Table, list[dict[str, Any]]]:
    """The broker `b` is also `c` in routes of this time; samples have one of its names."""
    entry = route(0, 1)["queues"][0]

    def route_at(second: int) -> dict[str, Any]:
        names = "bc" if since <= second < until else "b"
        addresses = [{"broker_name": name, "broker_id": 0, "address": "10.0.0.1:10911"} for name in names]
        return route(second, 1) | {"queues": [entry | {"broker_name": name} for name in names], "addresses": addresses}

    times = range(0, 1200, 20)
    return {
        MEMBERSHIP_SNAPSHOTS: [membership(second, "c1", "c2") for second in times],
        ROUTE_SNAPSHOTS: [route_at(second) for second in times],
        OFFSET_SNAPSHOTS: [offsets(second, (100 + second, 100 + second, 1)) for second in times],
    }


def test_a_broker_with_two_names_has_each_queue_twice() -> None:
    (step,) = evaluated(renamed(600, 1200), HOUR)
    (finding,) = [each for each in step.findings if each.cause == "TWO_NAMES"]
    assert (finding.rule, finding.severity, finding.subject) == ("DOUBLE_OWNED_QUEUE", "ERROR", "b:0, c:0")
    assert (second_of(finding.started_at), second_of(finding.ended_at)) == (600, 1240)
    assert finding.evidence.client_ids == ["c1", "c2"]
    assert dict(finding.evidence.measures or ())["consumed_again"] == 580
    assert RULE.detail
    assert RULE.detail(finding) == "580 messages twice"


def test_a_broker_that_took_over_an_address_is_twice_in_the_route_for_two_minutes() -> None:
    (step,) = evaluated(renamed(600, 720), HOUR)
    assert [each for each in step.findings if each.cause == "TWO_NAMES"] == []
