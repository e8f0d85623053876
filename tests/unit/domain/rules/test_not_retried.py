"""What listeners reject and what comes back to each broker: CONSUME_FAILING/NOT_RETRIED and RETRIED_IN_PART on hours
written by hand.

Times are seconds after 10:00, a snapshot every 20 s. Broker `a` has the first queue of each topic and `b` the second.
"""

from collections.abc import Callable
from typing import Any

import pytest

from schemas import CLIENT_SNAPSHOTS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, TOPIC_SNAPSHOTS
from spark_jobs.domain.model.finding import Finding
from spark_jobs.domain.model.window import SECOND, to_micros
from spark_jobs.domain.rules.consume_failing import RULE
from tests.support.kernel import evaluated
from tests.support.snapshots import client, membership, offsets, route
from tests.support.times import HOUR, at

TIMES = range(0, 1300, 20)
TOPICS = ("t", "%RETRY%g")
START = to_micros(HOUR.start)
#: A number at a second: messages that came to a retry queue so far, or those that fail a second.
At = Callable[[int], float]


def until(second: int, rate: float = 0.5, since: int = 0, begin: int = 100) -> At:
    """`begin` messages, and so many more a second up to then."""
    return lambda now: begin + rate * (min(max(now, since), second) - since)


def missing(
    to_a: At = until(300),  # noqa: B008
    to_b: At = until(9999),  # noqa: B008
    of_c1: At = lambda _: 0.5,
    of_c2: At | None = lambda _: 0.5,
    dead: int = 0,
    cause: str = "NOT_RETRIED",
    **more: Any,
) -> list[Finding]:
    """The findings, if so many messages come to the brokers' retry queues, and fail of members: c1 owns the queues of
    `a`, and c2 those of `b`, or c1 all (`of_c2` None).
    """
    members = {"c1": of_c1, "c2": of_c2}
    ids = [name for name, fails in members.items() if fails]
    rows = {
        MEMBERSHIP_SNAPSHOTS: [membership(s, *ids, broker=broker, topics=TOPICS) for s in TIMES for broker in "ab"],
        ROUTE_SNAPSHOTS: [
            route(s, 1, topic) | {"queues": [route(s, 1, broker=broker)["queues"][0] for broker in "ab"]}
            for s in TIMES
            for topic in TOPICS
        ],
        OFFSET_SNAPSHOTS: [
            *(of_brokers(s, "t", 100 + 9 * s, 100 + 9 * s) for s in TIMES),
            *(of_brokers(s, "%RETRY%g", int(to_a(s)), int(to_b(s))) for s in TIMES),
        ],
        CLIENT_SNAPSHOTS: [
            reported(s, name, fails(s), **more) for s in TIMES for name, fails in members.items() if fails
        ],
        TOPIC_SNAPSHOTS: [dead_letters(s, dead if s >= 900 else 0) for s in TIMES],
    }
    (step,) = evaluated(rows, HOUR)
    return [finding for finding in step.findings if finding.cause == cause]


def of_brokers(second: int, topic: str, *ends: int) -> dict[str, Any]:
    """All of it is consumed."""
    row = offsets(second, *((end, end, 1) for end in ends), topic=topic)
    row["offsets"] = [
        each | {"broker_name": broker, "queue_id": 0} for each, broker in zip(row["offsets"], "ab", strict=True)
    ]
    return row


def reported(second: int, client_id: str, failed: float, **more: Any) -> dict[str, Any]:
    status = {"topic": "t", "consume_rt_ms": 1.0, "consume_ok_tps": 9.0, "consume_failed_tps": failed}
    subscriptions = membership(0, "c1", topics=TOPICS)["subscriptions"]
    return client(second, client_id, subscriptions=subscriptions, consume_status=[status], **more)


def dead_letters(second: int, count: int) -> dict[str, Any]:
    queue = {"broker_name": "a", "queue_id": 0, "min_offset": 0, "max_offset": count}
    return {"cluster": "c", "topic": "%DLQ%g", "captured_at": at(second), "queues": [queue]}


def test_nothing_comes_back_to_one_broker_whose_owner_goes_on_failing() -> None:
    """From 300 on; the last snapshot holds for a minute, so half of 1,040 fail since then."""
    (finding,) = missing()
    assert (finding.severity, finding.topic, finding.subject) == ("WARN", "%RETRY%g", "a:0")
    assert (finding.started_at - START, finding.ended_at - START) == (300 * SECOND, 1340 * SECOND)
    assert (finding.evidence.client_ids, finding.evidence.measures) == (["c1"], [("not_retried", 520.0)])
    assert RULE.detail
    assert (RULE.detail(finding), RULE.broker(finding)) == ("about 520 messages", "a")


def test_it_is_over_when_what_waited_comes() -> None:
    (finding,) = missing(lambda second: until(300)(second) + (400 if second > 1100 else 0))
    assert (finding.started_at - START, finding.ended_at - START) == (300 * SECOND, 1120 * SECOND)


def test_nothing_came_to_any_broker_of_late() -> None:
    """Nor since the second snapshot, which shows that."""
    for last, since in ((300, 300), (0, 20)):
        (finding,) = missing(until(last), until(last))
        assert (finding.subject, finding.started_at - START) == ("a:0, b:0", since * SECOND)
        assert RULE.detail
        assert (RULE.detail(finding), RULE.broker(finding)) == (
            f"about {(1340 - since) // 2} messages of one of them",
            None,
        )


@pytest.mark.parametrize(
    "otherwise",
    [
        {"to_a": until(0, begin=0)},  # it never got any: what fails may be given up at once
        {"to_a": until(1020)},  # less than five minutes ago
        {"to_a": until(840)},  # and what failed in the last five minutes may be due later
        {"of_c1": until(360, 0, begin=0)},
        {"of_c1": lambda second: 0.5 if second <= 360 else 0.0},  # it reports its last minute
        {"of_c1": lambda _: 0.04},  # 29 until 1,040
        {"to_b": until(9999, 1.0)},  # clients send it to the other broker where this one refuses it
        {"of_c2": None, "to_b": until(9999, 0.5)},  # all that fails is of the other broker
        {"dead": 900},
        {"consume_orderly": True},
    ],
)
def test_what_comes_back_or_may_come_is_not_missing(otherwise: dict[str, Any]) -> None:
    assert missing(**otherwise) == []


def test_a_delay_of_five_minutes_is_awaited() -> None:
    """It fails from 400 on, and comes back from 700 on."""
    late: dict[str, Any] = {"of_c1": lambda second: 0.5 if second >= 400 else 0.0, "to_b": until(9999)}
    assert missing(until(9999, since=700), **late) == []
    assert [finding.subject for finding in missing(until(9999, since=1100), **late)] == ["a:0"]


def halved(second: int) -> float:
    """As many as fail, and from 600 on half of them."""
    return 100 + 0.5 * min(second, 600) + 0.25 * max(second - 600, 0)


def test_a_part_of_what_fails_comes_back_where_all_did_before() -> None:
    """One a second fails from 600 to 1,340, and 340 come."""
    (finding,) = missing(halved, halved, cause="RETRIED_IN_PART")
    assert (finding.severity, finding.topic, finding.subject) == ("WARN", "%RETRY%g", "a:0, b:0")
    assert (finding.started_at - START, finding.ended_at - START) == (600 * SECOND, 1340 * SECOND)
    assert (finding.evidence.client_ids, finding.evidence.measures) == (["c1", "c2"], [("not_retried", 400.0)])
    assert RULE.detail
    assert (RULE.detail(finding), RULE.broker(finding)) == ("about 400 messages", None)
    assert missing(halved, halved) == []


@pytest.mark.parametrize(
    "otherwise",
    [
        {"to_b": until(9999, 0.52)},  # three quarters and more
        {"to_a": until(9999, 0.25), "to_b": until(9999, 0.25)},  # it was never otherwise: some may be given up at once
        {"of_c1": lambda second: 0.5 if second < 600 else 1.5},  # more fails, which may be due later
        {"dead": 400},
        {"consume_orderly": True},
    ],
)
def test_a_part_that_may_come_later_or_was_given_up(otherwise: dict[str, Any]) -> None:
    assert missing(**{"to_a": halved, "to_b": halved} | otherwise, cause="RETRIED_IN_PART") == []
