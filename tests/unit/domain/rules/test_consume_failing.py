"""CONSUME_FAILING on hours written by hand: what clients say, what the retry topic shows, what is given up.

Times are seconds after 10:00, a snapshot every 20 s.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from schemas import CLIENT_SNAPSHOTS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, TOPIC_SNAPSHOTS, Table
from spark_jobs.domain.model.finding import Finding
from spark_jobs.domain.model.window import SECOND, to_micros
from spark_jobs.domain.rules.consume_failing import RULE
from tests.support.kernel import evaluated
from tests.support.snapshots import client, healthy_group, membership, offsets, route
from tests.support.times import HOUR, at

TIMES = range(0, 620, 20)
START = to_micros(HOUR.start)


def reported(
    second: int,
    topic: str = "t",
    *,
    well: float | None = 9.0,
    failed: float | None = 0.0,
    rt: float | None = 1.0,
    **more: Any,
) -> dict[str, Any]:
    """What `c1` measured of one topic over its last minute."""
    status = {"topic": topic, "consume_rt_ms": rt, "consume_ok_tps": well, "consume_failed_tps": failed}
    subscriptions = membership(0, "c1", topics=["t", "%RETRY%g"])["subscriptions"]
    return client(second, subscriptions=subscriptions, consume_status=[status], **more)


def findings_of(rows: dict[Table, list[dict[str, Any]]]) -> list[Finding]:
    (step,) = evaluated(rows, HOUR)
    return [finding for finding in step.findings if finding.rule == "CONSUME_FAILING"]


def of_clients(statuses: Iterable[dict[str, Any]]) -> list[Finding]:
    return findings_of(healthy_group(TIMES, "c1") | {CLIENT_SNAPSHOTS: list(statuses)})


def test_a_listener_that_rejects_a_third_is_a_warning_of_its_topic() -> None:
    """3 of 9 a second, from 200 to 400: what is seen at 400 holds until 420."""
    statuses = [reported(second, well=6.0, failed=3.0 if 200 <= second <= 400 else 0.0) for second in TIMES]
    (finding,) = of_clients(statuses)
    assert (finding.cause, finding.severity, finding.topic, finding.subject) == ("LISTENER_FAILS", "WARN", "t", "t")
    assert (finding.started_at - START, finding.ended_at - START) == (200 * SECOND, 420 * SECOND)
    assert finding.evidence.client_ids == ["c1"]
    measures = {"consumed_per_second": 9.0, "failed_per_second": 3.0, "failed_percent": 300 / 9}
    assert finding.evidence.measures == [*measures.items()]
    assert RULE.detail
    assert RULE.detail(finding) == "33 % of the messages of a consumer"


@pytest.mark.parametrize(
    ("well", "failed", "severity"),
    [
        (5.0, 5.0, "ERROR"),  # half
        (5.1, 4.9, "WARN"),
        (0.0, 0.2, "ERROR"),  # 12 a minute, all of them
        (0.0, 0.16, None),  # 9.6 a minute
        (9.0, 1.0, "WARN"),  # a tenth
        (9.1, 0.9, "INFO"),
        (9.9, 0.1, None),  # 6 a minute
        (99.0, 1.0, "INFO"),  # a hundredth
        (99.1, 0.9, None),
        (None, 5.0, None),  # what is not known does not fail
        (5.0, None, None),
    ],
)
def test_how_much_must_fail(well: float | None, failed: float | None, severity: str | None) -> None:
    findings = of_clients(reported(second, well=well, failed=failed) for second in TIMES)
    assert [finding.severity for finding in findings] == ([severity] if severity else [])


def test_what_fails_of_few_messages_is_worth_a_word() -> None:
    """4 % on average, in turns 2 and 6 %, for five minutes; where it is a tenth, it is a warning instead."""
    rates = [0.6 if second % 40 else 0.2 for second in TIMES]
    statuses = [reported(second, well=10 - rate, failed=rate) for second, rate in zip(TIMES, rates, strict=True)]
    (finding,) = of_clients(statuses)
    assert (finding.cause, finding.severity, finding.topic, finding.subject) == ("SOME_FAIL", "INFO", None, "g")
    assert finding.evidence.client_ids == ["c1"]
    measures = dict(finding.evidence.measures or ())
    assert {name: round(value or 0) for name, value in measures.items()} == {
        "consumed_per_second": 10,
        "failed_per_second": 0,
        "failed_percent": 4,
    }
    # 300 s, with the minute that the last one holds for.
    assert [len(of_clients(statuses[:number])) for number in (12, 13)] == [0, 1]


@pytest.mark.parametrize(
    ("joins", "fails", "both", "is_said"),
    [
        (200, 200, False, True),
        (200, 280, False, True),  # a minute and a round later
        (200, 300, False, False),
        (200, 200, True, False),
        (0, 200, False, False),
    ],
)
def test_the_only_member_that_fails_and_has_just_joined_may_not_belong_to_the_group(
    joins: int, fails: int, both: bool, is_said: bool
) -> None:
    statuses = [
        reported(second, failed=9.0 if second >= fails and (both or of == "c2") else 0.0, client_id=of)
        for second in TIMES
        for of in ("c1", "c2")
        if of == "c1" or second >= joins
    ]
    listed = [membership(second, "c1", *(["c2"] if second >= joins else [])) for second in TIMES]
    (finding,) = findings_of(healthy_group(TIMES) | {MEMBERSHIP_SNAPSHOTS: listed, CLIENT_SNAPSHOTS: statuses})
    assert ("c2 joined at 2026-03-01T10:03:20Z, and no other member fails" in finding.advice) is is_said


def test_what_fails_for_a_moment_or_again_is_no_finding() -> None:
    """Less than two minutes; the retry topic only brings back what failed before."""
    assert of_clients(reported(second, failed=9.0 if 200 <= second < 300 else 0.0) for second in TIMES) == []
    assert of_clients(reported(second, "%RETRY%g", failed=9.0) for second in TIMES) == []


def sent_back(consumed: int, retried: int, *statuses: dict[str, Any], members: str = "c1") -> list[Finding]:
    """In an hour in which so many messages were consumed of `t`, and so many came into the retry topic."""
    counts = {"t": consumed, "%RETRY%g": retried}

    def sample(topic: str, second: int) -> tuple[int, int, int]:
        offset = 9 + counts[topic] * second // TIMES[-1]
        return offset, offset, 1

    return findings_of(retrying(sample, members) | {CLIENT_SNAPSHOTS: list(statuses)})


def retrying(
    sample: Callable[[str, int], tuple[int, int, int]], members: str = "c1"
) -> dict[Table, list[dict[str, Any]]]:
    """A group with its retry topic, each with one queue of which this is read."""
    times = [(topic, second) for topic in ("t", "%RETRY%g") for second in TIMES]
    return {
        MEMBERSHIP_SNAPSHOTS: [membership(second, *members.split(), topics=["t", "%RETRY%g"]) for second in TIMES],
        ROUTE_SNAPSHOTS: [route(second, 1, topic) for topic, second in times],
        OFFSET_SNAPSHOTS: [offsets(second, sample(topic, second), topic=topic) for topic, second in times],
    }


def test_where_no_client_reports_failures_the_retry_topic_shows_them() -> None:
    (finding,) = sent_back(100, 10)
    assert (finding.cause, finding.severity, finding.subject) == ("SENT_BACK", "WARN", "b:0")
    assert finding.evidence.measures == [("consumed", 100.0), ("sent_back", 10.0)]
    assert [(queue.topic, queue.role) for queue in finding.evidence.queues] == [("%RETRY%g", "RETRIED")]
    # Running info is to be recorded.
    assert "of the listener. If there are none, a listener may take longer than consumeTimeout" in finding.advice
    assert finding.advice.endswith("it says which clients fail, how often, and how long they take.")
    assert sent_back(101, 10) == []
    assert sent_back(50, 9) == []
    # Clients that say how much fails are enough.
    (finding,) = sent_back(100, 10, *(reported(second, well=1.0, failed=1.0) for second in TIMES))
    assert finding.cause == "LISTENER_FAILS"
    assert RULE.detail
    words = "50 % of the messages of a consumer, and 10 messages came back while 100 were consumed"
    assert RULE.detail(finding) == words


def test_that_nothing_came_back_of_what_listeners_reject_is_named() -> None:
    """Unless they consume in order, and so retry it in its place."""
    for retried, orderly, is_named in ((0, False, True), (1, False, False), (0, True, False)):
        statuses = [reported(second, well=1.0, failed=1.0, consume_orderly=orderly) for second in TIMES]
        (finding,) = (each for each in sent_back(100, retried, *statuses) if each.cause == "LISTENER_FAILS")
        assert ("the broker delivers no delayed messages" in finding.advice) is is_named


@pytest.mark.parametrize(("retried", "severity"), [(49, "WARN"), (50, "ERROR")])
def test_half_of_what_is_consumed_sent_back_is_an_error(retried: int, severity: str) -> None:
    assert [finding.severity for finding in sent_back(100, retried)] == [severity]


@pytest.mark.parametrize(
    ("rt", "failed", "settings", "cause", "says"),
    [
        (900_001.0, 0.0, {"consume_timeout_minutes": 15}, "TIMED_OUT", "Raise consumeTimeout"),
        (900_000.0, 0.0, {"consume_timeout_minutes": 15}, "SENT_BACK", "No client reports failures"),
        (900_001.0, 0.0, {"consume_timeout_minutes": 16}, "SENT_BACK", "No client reports failures"),
        (900_001.0, 0.0, {}, "SENT_BACK", "No client reports failures"),
        (900_001.0, 0.0, {"consume_timeout_minutes": 15, "consume_orderly": True}, "SENT_BACK", "No client reports"),
        # A failure now and then: which of both it is, is not known.
        (900_001.0, 0.01, {"consume_timeout_minutes": 15}, "SENT_BACK", "takes longer than consumeTimeout, too"),
        (1.0, 0.01, {"consume_timeout_minutes": 15}, "SENT_BACK", "exceptions of the listener.$"),
    ],
)
def test_time_is_the_cause_where_no_listener_fails_and_one_takes_longer(
    rt: float, failed: float, settings: dict[str, Any], cause: str, says: str
) -> None:
    statuses = [reported(second, well=0.01, failed=failed, rt=rt, **settings) for second in TIMES]
    (finding,) = sent_back(100, 10, *statuses)
    assert (finding.cause, finding.evidence.client_ids) == (cause, ["c1"] if cause == "TIMED_OUT" else [])
    assert re.search(says, finding.advice)
    assert "Record the clients" not in finding.advice
    assert ("exceptions" in finding.advice) is (cause == "SENT_BACK")


@pytest.mark.parametrize(
    ("longest", "failed", "members", "cause"),
    [
        (59_999.0, 0.0, "c1", "DELIVERED_AGAIN"),
        (60_000.0, 0.0, "c1", "SENT_BACK"),
        (None, 0.0, "c1", "SENT_BACK"),
        (1.0, 0.01, "c1", "SENT_BACK"),
        # The other member does not report what it does.
        (1.0, 0.0, "c1 c2", "SENT_BACK"),
    ],
)
def test_where_all_members_report_that_nothing_failed_it_was_delivered_again(
    longest: float | None, failed: float, members: str, cause: str
) -> None:
    statuses = [reported(second, well=0.01, failed=failed, rt=longest) for second in TIMES]
    (finding,) = sent_back(100, 10, *statuses, members=members)
    assert (finding.cause, "exceptions" in finding.advice) == (cause, cause == "SENT_BACK")


def test_it_lasts_until_a_client_looks_for_messages_that_take_longer_again() -> None:
    """After 60 s less than a tenth comes back; in 10 min it looks again."""
    (finding,) = sent_back(100, 10, *[reported(second, rt=600_001.0, consume_timeout_minutes=10) for second in TIMES])
    assert (finding.started_at - START, finding.ended_at - START) == (40 * SECOND, 660 * SECOND)
    measures = {"consume_rt_ms": 600_001.0, "consume_timeout_minutes": 10.0, "consumed": 100.0, "sent_back": 10.0}
    assert finding.evidence.measures == [*measures.items()]


def test_without_any_commit_nobody_can_say_how_much_of_it_fails() -> None:
    never = retrying(lambda topic, second: (second, 0, 0))
    assert [finding for finding in findings_of(never) if finding.cause == "SENT_BACK"] == []


def dead(second: int, *counts: int) -> dict[str, Any]:
    names = ("broker_name", "queue_id", "min_offset", "max_offset")
    queues = [dict(zip(names, ("b", place, 0, count), strict=True)) for place, count in enumerate(counts)]
    return {"cluster": "c", "topic": "%DLQ%g", "captured_at": at(second), "queues": queues}


def test_what_is_given_up_is_counted_while_it_grows() -> None:
    """5 are there before the hour; 2 more until 120, one until 300; a topic that is created again counts anew."""
    letters = [dead(-60, 5, 0), dead(60, 5, 0), dead(120, 6, 1), dead(240, 6, 1), dead(300, 7, 1), dead(360, 0, 0)]
    (finding,) = findings_of(healthy_group(TIMES, "c1") | {TOPIC_SNAPSHOTS: letters})
    assert (finding.cause, finding.severity, finding.subject) == ("GIVEN_UP", "WARN", "g")
    assert (finding.started_at - START, finding.ended_at - START) == (60 * SECOND, 300 * SECOND)
    assert finding.evidence.measures == [("dead_letters", 3.0)]
    (lasting,) = findings_of(healthy_group(TIMES, "c1") | {TOPIC_SNAPSHOTS: letters[:-1]})
    assert lasting.ended_at - START == (300 + 60) * SECOND  # a snapshot holds for three rounds of 20 s
    quiet = [dead(-60, 1), dead(-20, 5), dead(60, 5), dead(120, 5)]
    for none in (quiet, [letter | {"topic": "%DLQ%other"} for letter in letters]):
        assert findings_of(healthy_group(TIMES, "c1") | {TOPIC_SNAPSHOTS: none}) == []
