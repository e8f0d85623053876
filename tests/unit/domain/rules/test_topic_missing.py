"""Members that subscribe to a topic that no broker has."""

from collections.abc import Sequence

import pytest

from spark_jobs.domain.kernel.audited_step import RebalanceInterval
from spark_jobs.domain.model.history import Connection, Membership
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.statuses import Reason
from spark_jobs.domain.rules.owners_unknown import TOPIC_MISSING as RULE
from tests.support.builders import audited_step, interval
from tests.support.findings import rule_hit
from tests.support.times import micros

MISSING = interval(0, 600, topic="typo", reason=Reason.NO_ROUTE)
RETRY = interval(0, 600, topic="%RETRY%g")
CONSUMED = interval(0, 600, topic="t")


def severities(
    *intervals: RebalanceInterval, subscribed: Sequence[str] = ("typo",), connected: Sequence[str] = ("c1",)
) -> list[str | None]:
    listed = Membership(tuple(map(Connection, connected)), frozenset(subscribed), frozenset(), "CLUSTERING")
    step = audited_step(*intervals, memberships={"b": [Span(micros(0), micros(600), micros(600), listed)]})
    return [hit.severity for hit in RULE.hits(step)]


def test_it_is_a_warning_for_as_long_as_the_name_server_knows_no_broker() -> None:
    listed = Membership((Connection("c1"),), frozenset({"typo"}), frozenset(), "CLUSTERING")
    step = audited_step(MISSING, RETRY, memberships={"b": [Span(micros(0), micros(600), micros(600), listed)]})
    expected = rule_hit(0, 600, "NO_BROKER", topic="typo", severity="WARN", minimum_seconds=300.0)
    assert RULE.hits(step) == [expected]


def test_beside_a_topic_that_exists_it_may_be_left_over() -> None:
    assert severities(MISSING, RETRY, CONSUMED) == ["INFO"]


@pytest.mark.parametrize(
    ("intervals", "given"),
    [
        ([MISSING], {}),
        ([MISSING, RETRY], {"subscribed": ["t"]}),
        ([MISSING, RETRY], {"connected": []}),
        ([MISSING, RETRY, interval(600, 900, topic="typo")], {}),
        ([interval(0, 600, topic="typo", reason=Reason.NO_ROUTE_SNAPSHOT), RETRY], {}),
        ([interval(0, 600, topic="%RETRY%g", reason=Reason.NO_ROUTE), CONSUMED], {"subscribed": ["%RETRY%g"]}),
    ],
    ids=[
        "the name server knows no topic at all",
        "only an offset names it",
        "nobody is connected",
        "it had a route for a time",
        "its route was not recorded",
        "a retry topic that nobody needed yet",
    ],
)
def test_nothing_is_wrong(intervals: list[RebalanceInterval], given: dict[str, list[str]]) -> None:
    assert severities(*intervals, **given) == []
