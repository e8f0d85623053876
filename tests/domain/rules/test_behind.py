"""Consumers that have a queue and do not get on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spark_jobs.domain.rules import consumer_lagging, consumer_stalled, consumer_stopped
from spark_jobs.domain.rules.rule import FindingQueue, Rule, RuleHit
from spark_jobs.domain.window import SECOND
from tests.domain.rules.builders import allocation, audited_step, interval, members
from tests.domain.rules.readings import progress, span

LISTED = members("c1 c1 c2")
#: Owners of queue 0 … 5: one, twins, two, nobody, one, one.
OF = interval(-100, 3600, LISTED, allocation(LISTED, "0 0+1 0+2 - 0 0"), view="broker-a")


def hits(rule: Rule, *verdicts: str | None) -> list[RuleHit]:
    behind = progress(
        OF,
        100,
        3600,
        verdicts,
        moved_at=[200, 201, 202, None, 204, None],
        lag_first=[100] * 6,
        lag_last=[400, 401, 402, 403, 404, 405],
        age_ms=[7, 7, 7, 7, 7, None],
    )
    return list(rule.hits(replace(audited_step(OF), progress=[behind])))


@pytest.mark.parametrize(
    ("rule", "verdict", "severity", "cause", "starts"),
    [
        (consumer_stopped.RULE, "STOP", "ERROR", "NO_COMMITS", [200, 201, 202, 202]),
        (consumer_stalled.RULE, "STALL", "ERROR", "NO_PROGRESS", [100, 100, 100, 100]),
        (consumer_lagging.RULE, "WARN", "WARN", "FALLING_BEHIND", [100, 100, 100, 100]),
    ],
)
def test_each_owner_of_a_queue_with_the_verdict(
    rule: Rule, verdict: str, severity: str, cause: str, starts: list[int]
) -> None:
    found = hits(rule, verdict, verdict, verdict, verdict, "OK", "REWIND")
    # Twins are one client, and a queue that nobody owns stands still for another reason.
    assert [(hit.queue, hit.implicated) for hit in found] == [
        (FindingQueue("t", "b", 0, "BEHIND"), "c1"),
        (FindingQueue("t", "b", 1, "BEHIND"), "c1"),
        (FindingQueue("t", "b", 2, "BEHIND"), "c1"),
        (FindingQueue("t", "b", 2, "BEHIND"), "c2"),
    ]
    assert [span(hit) for hit in found] == [f"{start}-3600" for start in starts]
    assert {(hit.severity, hit.cause, hit.topic, hit.view) for hit in found} == {(severity, cause, "t", "broker-a")}
    # For two minutes at least; the queue with the greatest lag speaks for all.
    assert {hit.minimum_seconds for hit in found} == {120}
    assert [hit.weight for hit in found] == [400, 401, 402, 402]
    assert found[0].measures == {"lag_first": 100, "lag_last": 400, "age_ms": 7}


@pytest.mark.parametrize("rule", [consumer_stopped.RULE, consumer_stalled.RULE, consumer_lagging.RULE])
def test_any_other_verdict_is_left_alone(rule: Rule) -> None:
    theirs = {"CONSUMER_STOPPED": "STOP", "CONSUMER_STALLED": "STALL", "CONSUMER_LAGGING": "WARN"}
    others = [one for one in ("STOP", "STALL", "WARN", "OK", "REWIND", None, None) if one != theirs[rule.name]]
    assert hits(rule, *others) == []


def test_an_unknown_age_stays_unknown() -> None:
    (hit,) = hits(consumer_stalled.RULE, "OK", "OK", "OK", "OK", "OK", "STALL")
    assert hit.measures == {"lag_first": 100, "lag_last": 405, "age_ms": None}
    assert (hit.start, hit.end) == (100 * SECOND, 3600 * SECOND)
