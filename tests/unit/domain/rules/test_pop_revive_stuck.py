"""Revive offsets that stand still. Times are seconds since the step began, a sample every 20 s."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from spark_jobs.domain.model.finding import FindingQueue, RuleHit
from spark_jobs.domain.model.history import GroupHistory
from spark_jobs.domain.rules.popped import POP_REVIVE_STUCK as RULE
from tests.support.builders import audited_step, span
from tests.support.samples import QueueSample, offsets
from tests.support.times import micros

TOPIC, GROUP = "rmq_sys_REVIVE_LOG_Main", "CID_RMQ_SYS_REVIVE_GROUP"
QUEUES = [("broker-a", 0), ("broker-a", 1)]
#: Milliseconds: second 1.
STORED = micros(1) // 1000


def hits(samples: Mapping[float, list[QueueSample | None]], group: str = GROUP, topic: str = TOPIC) -> list[RuleHit]:
    history = GroupHistory("c", group, offsets={topic: offsets(QUEUES[: len(samples[0])], samples)})
    return list(RULE.hits(replace(audited_step(), history=history)))


def growing(per_sample: int, until: int, *, moves_at: int = 9999, consumed_to: int | None = 100) -> list[QueueSample]:
    """Of each sample: the end grows from 101 on until that sample, and the consumer offset moves at one of them."""
    return [
        (101 + per_sample * min(number, until), consumed_to and consumed_to + (number >= moves_at), None, STORED)
        for number in range(30)
    ]


def every_20(said: list[QueueSample]) -> dict[float, list[QueueSample | None]]:
    return {20 * number: [sample] for number, sample in enumerate(said)}


def test_a_queue_that_stands_while_the_other_goes_on_is_named_alone() -> None:
    """3 entries a sample until 400 s, 20 samples later: 60 entries beyond the one that the group received."""
    standing = growing(3, until=20)
    other = [(101 + 3 * number, 100 + 3 * number, None, STORED) for number in range(30)]
    (hit,) = hits({20 * number: [*both] for number, both in enumerate(zip(standing, other, strict=True))})
    assert (span(hit), hit.severity, hit.topic) == ("0-400", "ERROR", TOPIC)
    assert hit.queue == FindingQueue(TOPIC, "broker-a", 0, "STUCK")
    assert hit.measures == {"age_seconds": 399.0, "came_meanwhile": 60.0, "lag": 61.0}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (growing(3, until=15), ["0-300"]),
        (growing(3, until=14), []),  # 280 s: within its waits
        (growing(3, until=29, moves_at=14), ["280-580"]),
        (growing(3, until=29, moves_at=15), []),  # it moved at 300 s: 280 s before, 280 s behind
        (growing(2, until=17), ["0-340"]),  # 34 entries
        (growing(2, until=16), []),  # 32: acknowledgements of one pop
        (growing(0, until=29), []),  # nothing comes, nothing is due
        (growing(3, until=29, consumed_to=None), []),  # unknown
        (growing(3, until=29, consumed_to=0), ["0-580"]),
    ],
)
def test_for_how_long_and_how_much(said: list[QueueSample], expected: list[str]) -> None:
    assert [span(hit) for hit in hits(every_20(said))] == expected


def test_who_never_committed_is_unknown() -> None:
    assert hits(every_20([(101 + 3 * number, 0, None, 0) for number in range(30)])) == []


def test_no_stand_reaches_over_a_gap_or_a_topic_that_is_created_again() -> None:
    """A gap is longer than 60 s."""
    said = every_20(growing(3, until=29))
    assert [span(hit) for hit in hits({at: sample for at, sample in said.items() if at not in (280, 300)})] == ["0-580"]
    assert hits({at: sample for at, sample in said.items() if at not in (280, 300, 320)}) == []
    assert hits(every_20(growing(3, until=14)[:15] + growing(3, until=14)[:15])) == []


def test_before_the_window_nothing_counts_and_the_age_may_be_unknown() -> None:
    """The window of the step begins 420 s before it."""
    said = growing(3, until=29)
    before: dict[float, list[QueueSample | None]] = {20 * number - 600: [sample] for number, sample in enumerate(said)}
    assert [span(hit) for hit in hits(before | {0: [said[-1]]})] == ["-420--20"]
    (hit,) = hits(every_20([(end, to, pull, None) for end, to, pull, _ in said]))
    assert hit.measures == {"age_seconds": None, "came_meanwhile": 87.0, "lag": 88.0}


def test_other_groups_and_topics_have_nothing_to_revive() -> None:
    said = every_20(growing(3, until=29))
    assert hits(said, group="orders") == []
    assert hits(said, topic="orders") == []
    assert len(hits(said)) == 1
