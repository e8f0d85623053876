"""Messages that are popped again. Times are seconds of the step, a sample every 20 s until 580 s."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from spark_jobs.domain.model.finding import FindingQueue, RuleHit
from spark_jobs.domain.model.history import GroupHistory, OffsetSamples, Place
from spark_jobs.domain.rocketmq.pop import popped_topic
from spark_jobs.domain.rules.popped import POP_REDELIVERING as RULE
from tests.support.builders import audited_step, span
from tests.support.samples import offsets

RETRY = "%RETRY%g_t"
ONE: Sequence[Place] = [("b", 0)]


def consuming(per_sample: int, at: int | None = None) -> OffsetSamples:
    """Of the topic: so many messages from each sample to the next one, or only to that at this time."""
    counts = [per_sample * (number if at is None else 20 * number >= at) for number in range(30)]
    return offsets(ONE, {20 * number: [(500 + count, 500 + count, None, 1)] for number, count in enumerate(counts)})


def coming_again(per_sample: int, times: Sequence[int]) -> OffsetSamples:
    """Of a retry topic: so many messages came since the sample before each of these."""
    counts = {20 * number: per_sample * sum(at <= 20 * number for at in times) for number in range(30)}
    return offsets(ONE, {at: [(7 + count, 7, None, 1)] for at, count in counts.items()})


def hits(popped: OffsetSamples | None, retry: OffsetSamples, topic: str = RETRY) -> list[RuleHit]:
    samples = {topic: retry} | ({} if popped is None else {"t": popped})
    return list(RULE.hits(replace(audited_step(), history=GroupHistory("c", "g", offsets=samples))))


def test_a_group_that_gets_a_fifth_again() -> None:
    """From 100 to 300 s: 2 a sample in ten samples, while 10 a sample are consumed."""
    (hit,) = hits(consuming(10), coming_again(2, range(100, 301, 20)))
    assert (span(hit), hit.severity, hit.topic) == ("100-300", "WARN", "t")
    assert hit.queue == FindingQueue(RETRY, "b", 0, "REDELIVERED")
    assert hit.measures == {"consumed": 100.0, "redelivered": 20.0}


def test_it_lasts_as_long_as_no_later_sample_shows_that_it_is_over() -> None:
    """The last sample, at 580, counts for 60 s; it is over if nothing came again for 120 s."""
    assert span(hits(consuming(10), coming_again(2, range(300, 581, 20)))[0]) == "300-640"
    assert span(hits(consuming(10), coming_again(2, range(300, 481, 20)))[0]) == "300-640"
    assert span(hits(consuming(10), coming_again(2, range(280, 461, 20)))[0]) == "280-460"


@pytest.mark.parametrize(
    ("consumed", "again", "times", "severity"),
    [
        (10, 1, range(100, 301, 20), "WARN"),  # 10 of 100
        (11, 1, range(100, 301, 20), None),  # 10 of 110
        (10, 1, range(100, 281, 20), None),  # 9
        (10, 5, range(100, 301, 20), "ERROR"),  # half
        (10, 4, range(100, 301, 20), "WARN"),
        (0, 1, range(100, 301, 20), "ERROR"),  # nothing else is consumed
        (10, 9, range(100, 221, 20), "ERROR"),  # for 120 s
        (10, 9, range(100, 201, 20), None),  # for 100 s: what a member had that died
        (10, 60, (100, 220, 340), "ERROR"),  # pauses of 120 s
        (10, 99, (100, 240, 380), None),  # of 140 s
        (10, 5, (), None),  # nothing comes again
    ],
)
def test_how_much_and_for_how_long(consumed: int, again: int, times: Sequence[int], severity: str | None) -> None:
    found = hits(consuming(consumed), coming_again(again, times))
    assert [hit.severity for hit in found] == ([severity] if severity else [])


def test_both_versions_of_retry_topics_count_and_no_other() -> None:
    popped, retry = consuming(10), coming_again(5, range(100, 301, 20))
    assert len(hits(popped, retry, "%RETRY%g+t")) == 1
    assert hits(popped, retry, "%RETRY%g") == []
    assert hits(popped, retry, "%RETRY%other_t") == []
    assert hits(popped, retry, "%RETRY%g_u") == []


def test_without_consumed_messages_nothing_is_reported() -> None:
    retry = coming_again(5, range(100, 301, 20))
    assert hits(None, retry) == []
    assert hits(offsets(ONE, {20 * number: [(500, 0, None, 0)] for number in range(30)}), retry) == []


def test_what_came_meanwhile_is_counted_alone() -> None:
    """400 messages were consumed until 80 s, before anything came again; 28 came in the 280 s behind the first."""
    retry = coming_again(2, range(300, 581, 20))
    (hit,) = hits(consuming(400, at=80), retry)
    assert hit.measures == {"consumed": 0.0, "redelivered": 28.0}


def test_queues_that_did_not_grow_are_not_named() -> None:
    retry = offsets(
        [("a", 0), ("b", 0)], {20 * number: [(5, 5, None, 1), (9 + 2 * number, 9, None, 1)] for number in range(30)}
    )
    assert [hit.queue and hit.queue.broker_name for hit in hits(consuming(10), retry)] == ["b"]


def test_of_which_topic_a_retry_topic_is() -> None:
    assert popped_topic("%RETRY%g_t", "g") == "t"
    assert popped_topic("%RETRY%g+t_1", "g") == "t_1"
    assert popped_topic("%RETRY%g_a_t", "g_a") == "t"
    assert popped_topic("%RETRY%g", "g") is None
    assert popped_topic("%RETRY%gg_t", "g") is None
    assert popped_topic("t", "g") is None
