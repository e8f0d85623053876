"""When rebalances are a storm."""

from dataclasses import replace

import pytest

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.statuses import Trigger
from spark_jobs.domain.model.thresholds import Thresholds
from spark_jobs.domain.rules.rebalancing import REBALANCE_STORM as RULE
from tests.support.builders import audited_step, rebalance, span
from tests.support.kernel import SETTINGS
from tests.support.tables import cells

#: Moments of a group's rebalances, 3 within 100 s are a storm | storms
_MOMENTS = """
    0 50 99                    | 0-99 3
    0 50 100                   |
    0 50 99.9                  | 0-99.9 3
    0 50                       |
    0 10 20                    | 0-20 3
    0 40 80 120 160            | 0-160 5
    0 20 40 500 520 540        | 0-40 3, 500-540 3
    0 20 40 300 600 620 640    | 0-40 3, 600-640 3
    0 45 90 135 300            | 0-135 4
    0 49 98 147 196 245        | 0-245 6
    0 10 20 80 90 100          | 0-100 6
    0 50 99 160 190            | 0-190 5
    0 10 20 110 120 130        | 0-20 3, 110-130 3
                               |
"""
SOON = replace(SETTINGS, thresholds=Thresholds(storm_rebalances=3, storm_seconds=100))


def step_with(*moments: float, trigger: Trigger = Trigger.MEMBER_LEFT) -> AuditedStep:
    rebalances = [rebalance(moment, trigger) for moment in moments]
    return replace(audited_step(settings=SOON), rebalances=rebalances)


def only(step: AuditedStep) -> RuleHit:
    (hit,) = RULE.hits(step)
    return hit


def test_rebalances_that_follow_each_other_soon_are_a_storm() -> None:
    for moments, expected in cells(_MOMENTS):
        hits = RULE.hits(step_with(*map(float, moments.split())))
        found = [f"{span(hit)} {(hit.measures or {})['rebalances']:g}" for hit in hits]
        assert ", ".join(found) == expected, moments


def test_one_change_of_several_topics_is_one_rebalance_and_moves_the_queues_of_all() -> None:
    topics = [rebalance(0), rebalance(3, moment=0, topic="u"), rebalance(50), rebalance(99)]
    hit = only(replace(audited_step(settings=SOON), rebalances=topics))
    assert span(hit) == "0-99"
    assert hit.measures == {"rebalances": 3, "queues_moved": 8, "minimum_moves": 4}
    assert (hit.severity, hit.minimum_seconds, hit.topic) == ("WARN", 0, None)
    assert list(RULE.hits(replace(audited_step(settings=SOON), rebalances=topics[:3]))) == []


def test_the_cause_is_what_began_most_of_them() -> None:
    def cause(*triggers: Trigger) -> str | None:
        found = [rebalance(10 * place, trigger) for place, trigger in enumerate(triggers)]
        return only(replace(audited_step(settings=SOON), rebalances=found)).cause

    member, broker = Trigger.MEMBER_JOINED, Trigger.BROKER_GONE
    assert cause(member, member, broker, broker) == "MEMBER_CHANGES"
    assert cause(member, broker, broker) == "ROUTE_CHANGES"
    assert cause(Trigger.MEMBER_EXPIRED, Trigger.MEMBER_RESTARTED, broker) == "MEMBER_CHANGES"
    assert cause(Trigger.SUBSCRIPTION_CHANGED, Trigger.STRATEGY_CHANGED, member) == "ROUTE_CHANGES"


def test_the_client_that_joined_or_left_in_half_of_them_is_named() -> None:
    def client(*moments: str) -> str | None:
        """Per rebalance who left, or joined as `+c`, in one topic or two."""
        rebalances = []
        for place, changed in enumerate(moments):
            for topic, who in zip("tu", changed.split(), strict=False):
                ids = {"joined": [who[1:]]} if who[0] == "+" else {"left": [who]}
                rebalances.append(rebalance(10 * place + 1, moment=10 * place, topic=topic, **ids))  # type: ignore[arg-type]
        return only(replace(audited_step(settings=SOON), rebalances=rebalances)).implicated

    assert client("c", "+c", "a") == "c"
    assert client("c", "+c", "a", "b") == "c"
    assert client("c", "+c", "a", "b", "d") is None
    # One change of two topics is one.
    assert client("c c", "a", "b", "d") is None


def test_a_change_of_members_in_one_topic_is_the_reason_of_the_rebalance() -> None:
    found = [rebalance(0, Trigger.QUEUES_ADDED), rebalance(1, Trigger.MEMBER_LEFT, moment=0, topic="u")]
    found += [rebalance(20), rebalance(40, Trigger.BROKER_GONE)]
    assert only(replace(audited_step(settings=SOON), rebalances=found)).cause == "MEMBER_CHANGES"


def test_five_in_ten_minutes_are_a_storm_by_default() -> None:
    def hits(*moments: float) -> list[str]:
        found = RULE.hits(replace(audited_step(), rebalances=[rebalance(moment) for moment in moments]))
        return [span(hit) for hit in found]

    assert hits(0, 100, 200, 300) == []
    assert hits(0, 100, 200, 300, 599) == ["0-599"]
    assert hits(0, 100, 200, 300, 600) == []
    assert hits(-100, 0, 10, 20, 30) == ["-100-30"]


def test_two_are_enough_if_so_configured() -> None:
    settings = replace(SETTINGS, thresholds=Thresholds(storm_rebalances=2, storm_seconds=10))
    step = replace(audited_step(settings=settings), rebalances=[rebalance(moment) for moment in (0, 5, 20, 24)])
    assert [span(hit) for hit in RULE.hits(step)] == ["0-5", "20-24"]


@pytest.mark.parametrize(
    ("changes", "severity"),
    [
        # Each of three pods leaves, and comes back with another id.
        ("-a@1 +a@2 -b@1 +b@2 -c@1 +c@2", "INFO"),
        ("+a@1 +b@1 +c@1", "INFO"),
        ("-a@1 +a@2 -a@2", "WARN"),
        ("+a@1 -b@1 +a@1", "WARN"),
        # A host may have several members.
        ("+a@1 +a@2 +b@1", "INFO"),
    ],
)
def test_a_rolling_deployment_is_no_storm(changes: str, severity: str) -> None:
    found = [
        rebalance(
            10 * place, joined=(change[1:],) if change[0] == "+" else (), left=(change[1:],) if change[0] == "-" else ()
        )
        for place, change in enumerate(changes.split())
    ]
    assert only(replace(audited_step(settings=SOON), rebalances=found)).severity == severity
