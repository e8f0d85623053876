"""Queues that stand while messages come in, however few, and have no verdict."""

from dataclasses import replace

import pytest

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.verdicts import VerdictSpan
from spark_jobs.domain.model.history import Connection, Membership
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.statuses import Verdict
from spark_jobs.domain.rules.consumer_stalled import RULE
from tests.support.builders import allocation, audited_step, interval, members, span
from tests.support.samples import QueueSample, offsets, progress
from tests.support.tables import described
from tests.support.times import micros


def step_of(owners: str, queue: str, other: str = "commits") -> AuditedStep:
    """`owners`, as `0-300 c1, 300-3600 -`: the member that owns both queues (`-`: none does; `c1/POP`: it pops).
    `queue`, as `100+5/50 0-80, 200+5/60 100-600`: a sample every 20 s, the end and its growth by sample, and the
    consumer offset (`?`: never committed). `other`: whether the other queue `commits`.
    """
    intervals = []
    for time, owner in (words.split() for words in owners.split(", ")):
        client_id, _, strategy = owner.partition("/")
        start, end = map(int, time.split("-"))
        listed = members(client_id, strategy or "AVG")
        intervals.append(interval(start, end, listed, allocation(listed, "- -" if owner == "-" else "0 0")))
    other_sample = (100, 100, 100, 1) if other == "commits" else (100, 0, 0, 0)
    samples: dict[int, list[QueueSample | None]] = {}
    for numbers, time in map(str.split, queue.split(", ")):
        first, last = map(int, time.split("-"))
        ends, _, offset = numbers.partition("/")
        start, growth = map(int, ends.split("+"))
        committed = (0, 0, 0) if offset == "?" else (int(offset), int(offset), 1)
        for number, second in enumerate(range(first, last + 1, 20)):
            samples[second] = [(start + growth * number, *committed), other_sample]
    return audited_step(*intervals, offsets={"t": offsets([("b", 0), ("b", 1)], samples)})


def lines(step: AuditedStep) -> list[str]:
    """`0-220 c1 NO_PROGRESS ERROR 58`: span, owner, cause, severity, messages that wait."""
    hits = [hit for hit in RULE.hits(step) if hit.queue and hit.queue.queue_id == 0]
    return [f"{span(hit)} {hit.implicated} {hit.cause} {hit.severity} {hit.weight}" for hit in hits]


@pytest.mark.parametrize(
    ("owners", "queue", "other", "expected"),
    described("""
        more than 32 messages for 120 s   | 0-3600 c1 | 150+1/100 0-120 | commits | 0-180 c1 NO_PROGRESS ERROR 56
        … for less                        | 0-3600 c1 | 150+1/100 0-100 | commits |
        … which moved since its owner has it | 0-3600 c1 | 150+1/100 0-20, 152+1/101 40-600 | commits |
        … or moved in the owner's first round | 0-3600 c1 | 150+1/100 0-0, 152+1/101 20-140 | commits | 20-200 c1 NO_PROGRESS ERROR 57
        … and no message comes            | 0-3600 c1 | 150+0/100 0-600 | commits |
        few messages for 600 s            | 0-3600 c1 | 102+1/100 0-600 | commits | 0-660 c1 FEW_MESSAGES WARN 32
        … for less                        | 0-3600 c1 | 102+1/100 0-580 | commits |
        … one too many                    | 0-3600 c1 | 103+1/100 0-600 | commits | 0-660 c1 NO_PROGRESS ERROR 33
        nothing committed of many         | 0-3600 c1 | 100+6/? 0-120   | commits | 0-180 c1 NEVER_COMMITTED ERROR 36
        … by any queue                    | 0-3600 c1 | 100+6/? 0-120   | never   | 0-180 c1 NEVER_COMMITTED WARN 36
        … since the first one came        | 0-3600 c1 | 100+0/? 0-100, 106+6/? 120-220 | commits | 100-280 c1 NEVER_COMMITTED ERROR 36
        … of 32, which is few             | 0-3600 c1 | 100+4/? 0-160   | commits |
        … of few, for 600 s               | 0-3600 c1 | 100+1/? 0-600   | commits | 0-660 c1 NEVER_COMMITTED WARN 30
        … for less                        | 0-3600 c1 | 100+1/? 0-580   | commits |
        no owner                          | 0-3600 -  | 150+1/100 0-600 | commits |
        members pop                       | 0-3600 c1/POP-AVG+1 | 150+1/100 0-600 | commits |
        an owner after the other          | 0-300 c1, 300-3600 c2 | 150+1/100 0-600 | commits | 0-300 c1 NO_PROGRESS ERROR 80; 300-660 c2 NO_PROGRESS ERROR 80
        … each too short                  | 0-100 c1, 100-3600 c2 | 150+1/100 0-180 | commits |
        … and neither commits             | 0-100 c1, 100-3600 c2 | 100+6/? 0-120 | commits | 0-100 c1 NEVER_COMMITTED ERROR 36; 100-180 c2 NEVER_COMMITTED ERROR 36
        an owner only at first            | 0-200 c1, 200-3600 - | 150+1/100 0-600 | commits | 0-200 c1 NO_PROGRESS ERROR 80
    """),  # noqa: E501 - a table
)
def test_a_queue_stands_if_messages_come_and_its_owner_commits_none(
    owners: str, queue: str, other: str, expected: str
) -> None:
    assert "; ".join(lines(step_of(owners, queue, other))) == expected


STANDS = step_of("0-3600 c1", "150+1/100 0-600")
UNCOMMITTED = step_of("0-3600 c1", "100+6/? 0-600")


def test_a_verdict_of_the_queue_explains_its_time() -> None:
    verdict = VerdictSpan(0, Verdict.STOP, micros(0), micros(400), 50, 70, 7)
    evaluated = replace(STANDS, progress=[progress(STANDS.intervals[0], 0, 3600, (verdict,))])
    assert lines(evaluated) == ["400-660 c1 NO_PROGRESS ERROR 80"]


def test_a_topic_with_a_filter_may_have_no_message_for_the_group() -> None:
    filtered = replace(progress(STANDS.intervals[0], 0, 3600), is_filtered=True)
    assert lines(replace(STANDS, progress=[filtered])) == []


@pytest.mark.parametrize(
    ("step", "expected"), [(STANDS, []), (UNCOMMITTED, ["0-660 c1 NEVER_COMMITTED ERROR 180"])], ids=["old", "never"]
)
def test_who_pulls_by_hand_may_keep_its_offsets_elsewhere_unless_it_commits_others(
    step: AuditedStep, expected: list[str]
) -> None:
    by_hand = Membership((Connection("c1"),), frozenset(), frozenset(), "CLUSTERING", "CONSUME_ACTIVELY")
    listed = {"b": [Span(micros(0), micros(3600), micros(3600), by_hand)]}
    assert lines(replace(step, memberships=listed)) == expected
