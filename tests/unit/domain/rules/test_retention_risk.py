"""Messages that are deleted before they are consumed."""

from dataclasses import replace
from typing import Any

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.finding import FindingQueue, RuleHit
from spark_jobs.domain.model.history import TopicSamples
from spark_jobs.domain.rules.retention_risk import RULE, retention_cause
from spark_jobs.domain.status.time_left import QueueOffsets
from tests.support.builders import allocation, audited_step, interval, members, span, with_samples
from tests.support.samples import QueueSample, oldest, progress
from tests.support.tables import cells
from tests.support.times import micros

#: consumer offset, oldest offset, consumed/s, deleted/s (`-`: unknown), within seconds | cause
_RETENTIONS = """
    99   100 -  -   3600 | LOST
    99   100 5  1   3600 | LOST
    100  100 1  1   3600 | -
    100  100 1  2   3600 | EXPIRING
    3700 100 1  2   3600 | EXPIRING
    3701 100 1  2   3600 | -
    3700 100 2  2   3600 | -
    3700 100 -  2   3600 | -
    3700 100 1  -   3600 | -
"""
#: lag, consumer offset (`-`: unknown) | finding; half a message a second is consumed, one is deleted, 6000 is the
#: oldest at 1000 s
_FOUND = """
    33 5999  | 0-1100 LOST
    32 5999  |
    -  5999  |
    33 6000  | 0-1100 EXPIRING
    33 16800 | 0-1100 EXPIRING
    33 16801 |
    33 -     |
"""
#: Looked at from the start on; what is seen after the sample is not yet known to it.
LOOKS = oldest([("b", 0)], {0: ["5000/99999"], 500: ["5900/99999"], 1000: ["6000/99999"], 1020: ["9000/99999"]})
LISTED = members("c1")


def _number(text: str) -> int | None:
    return None if text == "-" else int(text)


def step_with(
    lag: int | None, consumer_offset: int | None, looks: TopicSamples, at: int = 1000, consumed: int | None = 500
) -> AuditedStep:
    """One queue, behind by `lag` at its last sample; 10,800 s (3 h) are left at least."""
    return behind(looks, lag_last=lag, consumer_offset=consumer_offset, consumed=consumed, last_reading_at=at)


def behind(looks: TopicSamples, **measured: int | None) -> AuditedStep:
    of = interval(-100, 1100, LISTED, allocation(LISTED, "0"), view="broker-a")
    columns: dict[str, Any] = {name: [value] for name, value in measured.items()}
    of_queue = progress(of, 0, 1100, produced=[2000], **columns)
    return with_samples(audited_step(of), topics={"t": looks}, progress=[of_queue])


def hits(consumer_offset: int, looks: TopicSamples, *, at: int = 1000, consumed: int | None = 500) -> list[RuleHit]:
    return list(RULE.hits(step_with(100, consumer_offset, looks, at, consumed)))


def test_what_becomes_of_messages_that_wait() -> None:
    for case, cause in cells(_RETENTIONS):
        consumer, least, consumed, deleted, within = case.split()
        queue = QueueOffsets(int(consumer), int(least), _number(consumed), _number(deleted))
        assert (retention_cause(queue, int(within)) or "-") == cause, case


def test_messages_that_wait_for_too_long() -> None:
    for case, finding in cells(_FOUND):
        lag, consumer_offset = map(_number, case.split())
        found = RULE.hits(step_with(lag, consumer_offset, LOOKS))
        assert [f"{span(hit)} {hit.cause}" for hit in found] == ([finding] if finding else []), case


def test_what_a_finding_says() -> None:
    (lost,), (expiring,), (later,) = hits(5999, LOOKS), hits(6000, LOOKS), hits(16_800, LOOKS)
    assert (lost.severity, lost.minimum_seconds, lost.weight) == ("ERROR", None, 1)
    assert (expiring.severity, expiring.minimum_seconds, expiring.weight) == ("WARN", 120, 0)
    rates = {"deleted_per_second": 1, "consumed_per_second": 0.5}
    assert later.measures == {"consumer_offset": 16_800, "min_offset": 6000, **rates}
    assert (later.queue, later.topic, later.view) == (FindingQueue("t", "b", 0, "AT_RISK"), "t", "broker-a")


def test_the_rate_is_since_the_first_snapshot_of_the_window_that_has_the_queue() -> None:
    """The window begins at −420 s."""

    def rate(looks: dict[float, list[QueueSample | None]]) -> float | None:
        (hit,) = hits(5999, oldest([("b", 0)], looks))
        assert hit.measures
        assert hit.measures["min_offset"] == 6000
        return hit.measures["deleted_per_second"]

    assert rate({-421: [(0, 9)], 800: [(5000, 9)], 1000: [(6000, 9)]}) == 5
    assert rate({-420: [(3160, 9)], 800: [(5000, 9)], 1000: [(6000, 9)]}) == 2
    assert rate({0: [None], 800: [(5000, 9)], 1000: [(6000, 9)]}) == 5
    assert rate({0: [(None, 9)], 800: [(5000, 9)], 1000: [(6000, 9)]}) is None
    # The last that has it stands for the queue.
    assert rate({0: [(5000, 9)], 800: [(6000, 9)], 1000: [None]}) == 1.25
    assert rate({900: [(6000, 9)]}) is None


def test_what_nobody_looked_at_is_unknown() -> None:
    late, early, gone = {1001: ["6000/9"]}, {-421: ["6000/9"]}, {0: ["5000/9"], 900: ["?/9"]}
    for looks in (late, early, gone, {900: ["-"]}, {900: ["?/9"]}):
        assert hits(0, oldest([("b", 0)], looks)) == [], looks
    assert hits(0, oldest([("b", 7)], {900: [(6000, 9)]})) == []
    assert list(RULE.hits(with_samples(step_with(100, 0, LOOKS)))) == []


def test_without_both_rates_nothing_expires() -> None:
    assert hits(6000, LOOKS, consumed=None) == []
    (lost,) = hits(5999, LOOKS, consumed=None)
    assert (lost.measures or {})["consumed_per_second"] is None
    # An interval's first moment has no rate.
    assert hits(5000, LOOKS, at=0) == []
    # A queue that is consumed as fast as it is deleted.
    assert hits(6000, LOOKS, consumed=1000) == []


def test_the_rate_of_consumption_is_since_the_interval_began() -> None:
    step = step_with(100, 5999, LOOKS)
    (hit,) = RULE.hits(replace(step, progress=[replace(part, start=micros(500)) for part in step.progress]))
    assert (span(hit), (hit.measures or {})["consumed_per_second"]) == ("500-1100", 1)


def test_one_look_serves_all_intervals_of_a_topic() -> None:
    step = step_with(100, 5999, LOOKS)
    twice = replace(step, progress=[*step.progress, *step.progress])
    assert [span(hit) for hit in RULE.hits(twice)] == ["0-1100", "0-1100"]


#: age in hours (`-`: unknown), lag at the first and the last sample | finding; brokers keep messages for 72 hours, and
#: 6 hours before that they are at risk; a day after it they are gone
_AGED = """
    66    100 100 | 0-1100 AGED
    65.9  100 100 |
    95.9  33  33  | 0-1100 AGED
    96    33  33  |
    95.9  32  33  |
    95.9  -   33  |
    95.9  33  32  |
    -     100 100 |
"""


def aged(hours: float | None, first: int | None, last: int, consumer_offset: int | None = None) -> AuditedStep:
    age = None if hours is None else int(hours * 3_600_000)
    known = {"lag_first": first, "lag_last": last, "consumer_offset": consumer_offset, "last_reading_at": 1000}
    return behind(LOOKS, age_ms=age, **known)


def test_messages_that_are_nearly_as_old_as_the_broker_keeps_them() -> None:
    for case, finding in cells(_AGED):
        hours, first, last = case.split()
        found = RULE.hits(aged(None if hours == "-" else float(hours), _number(first), int(last)))
        assert [f"{span(hit)} {hit.cause}" for hit in found] == ([finding] if finding else []), case


def test_what_is_aged_says_how_old_and_what_is_lost_already_is_only_that() -> None:
    (hit,) = RULE.hits(aged(70, 100, 100))
    assert hit.measures == {"oldest_message_seconds": 252_000, "reserved_seconds": 259_200}
    assert (hit.severity, hit.queue) == ("WARN", FindingQueue("t", "b", 0, "AT_RISK"))
    assert [hit.cause for hit in RULE.hits(aged(70, 100, 100, consumer_offset=5999))] == ["LOST"]
