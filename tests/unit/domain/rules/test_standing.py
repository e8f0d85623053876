"""Queues that stand while messages wait: for how long they must, by whom, and how bad it is."""

from dataclasses import replace

import pytest

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.history import Connection, Membership
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.rules import standing
from tests.support.builders import allocation, audited_step, interval, members, span
from tests.support.samples import QueueSample, offsets
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
    """`STALLED 0-220 c1 NOT_REPORTED ERROR 58`: rule, span, owner, cause, severity, messages that wait."""
    return [
        f"{rule.name.removeprefix('CONSUMER_')} {span(hit)} {hit.implicated} {hit.cause} {hit.severity} {hit.weight}"
        for rule in (standing.CONSUMER_STOPPED, standing.CONSUMER_STALLED)
        for hit in rule.hits(step)
        if hit.queue and hit.queue.queue_id == 0
    ]


@pytest.mark.parametrize(
    ("owners", "queue", "other", "expected"),
    described("""
        more than 32 messages for 120 s   | 0-3600 c1 | 150+1/100 0-120 | commits | STALLED 0-180 c1 NOT_REPORTED ERROR 56
        … for less                        | 0-3600 c1 | 150+1/100 0-100 | commits | STALLED 0-160 c1 NOT_REPORTED WARN 55
        … for 60 s                        | 0-3600 c1 | 150+1/100 0-60  | commits | STALLED 0-120 c1 NOT_REPORTED WARN 53
        … for less than a pause           | 0-3600 c1 | 150+1/100 0-40  | commits |
        … which moved since its owner has it | 0-3600 c1 | 150+1/100 0-20, 152+1/101 40-160 | commits | STOPPED 40-220 c1 NOT_REPORTED ERROR 57
        … and no message comes            | 0-3600 c1 | 150+0/100 0-300 | commits | STALLED 0-360 c1 NOT_REPORTED ERROR 50
        … for less than a window          | 0-3600 c1 | 150+0/100 0-280 | commits |
        few messages for 600 s            | 0-3600 c1 | 102+1/100 0-600 | commits | STALLED 0-660 c1 NOT_REPORTED WARN 32
        … of which none comes             | 0-3600 c1 | 120+0/100 0-600 | commits |
        … for less                        | 0-3600 c1 | 102+1/100 0-580 | commits |
        … one too many                    | 0-3600 c1 | 103+1/100 0-600 | commits | STALLED 0-660 c1 NOT_REPORTED ERROR 33
        nothing committed of many         | 0-3600 c1 | 100+6/? 0-120   | commits | STALLED 0-180 c1 NEVER_COMMITTED ERROR 36
        … by any queue                    | 0-3600 c1 | 100+6/? 0-120   | never   | STALLED 0-180 c1 NEVER_COMMITTED WARN 36
        … since the first one came        | 0-3600 c1 | 100+0/? 0-100, 106+6/? 120-220 | commits | STALLED 100-280 c1 NEVER_COMMITTED ERROR 36
        … of 32, which is few             | 0-3600 c1 | 100+4/? 0-160   | commits |
        … of few, for 600 s               | 0-3600 c1 | 100+1/? 0-600   | commits | STALLED 0-660 c1 NEVER_COMMITTED WARN 30
        … for less                        | 0-3600 c1 | 100+1/? 0-580   | commits |
        no owner                          | 0-3600 -  | 150+1/100 0-600 | commits |
        members pop                       | 0-3600 c1/POP-AVG+1 | 150+1/100 0-600 | commits | STALLED 0-660 c1 NOT_CONSUMED ERROR 80
        … for less                        | 0-3600 c1/POP-AVG+1 | 150+1/100 0-100 | commits |
        … few                             | 0-3600 c1/POP-AVG+1 | 102+1/100 0-600 | commits |
        an owner after the other          | 0-300 c1, 300-3600 c2 | 150+1/100 0-600 | commits | STALLED 0-300 c1 NOT_REPORTED ERROR 65; STALLED 300-660 c2 NOT_REPORTED ERROR 80
        … and the offset moved before     | 0-300 c1, 300-3600 c2 | 150+1/100 0-20, 152+1/101 40-600 | commits | STOPPED 40-300 c1 NOT_REPORTED ERROR 64; STOPPED 300-660 c2 NOT_REPORTED ERROR 79
        … who takes its time              | 0-100 c1, 100-3600 c2 | 150+1/100 0-200 | commits | STALLED 0-100 c1 NOT_REPORTED WARN 55
        … and more                        | 0-100 c1, 100-3600 c2 | 150+1/100 0-210 | commits | STALLED 0-100 c1 NOT_REPORTED WARN 55
        … and neither commits             | 0-100 c1, 100-3600 c2 | 100+6/? 0-120 | commits | STALLED 0-100 c1 NEVER_COMMITTED ERROR 36; STALLED 100-180 c2 NEVER_COMMITTED ERROR 36
        an owner only at first            | 0-200 c1, 200-3600 - | 150+1/100 0-600 | commits | STALLED 0-200 c1 NOT_REPORTED ERROR 60
    """),  # noqa: E501 - a table
)
def test_a_queue_stands_if_messages_wait_and_its_owner_commits_none(
    owners: str, queue: str, other: str, expected: str
) -> None:
    assert "; ".join(lines(step_of(owners, queue, other))) == expected


STANDS = step_of("0-3600 c1", "150+1/100 0-600")
UNCOMMITTED = step_of("0-3600 c1", "100+6/? 0-600")


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (STANDS, ["STALLED 0-660 c1 NOT_REPORTED ERROR 80"]),
        (step_of("0-3600 c1", "150+1/100 0-280"), []),
        (UNCOMMITTED, ["STALLED 0-660 c1 NOT_PULLED ERROR 180"]),
        (step_of("0-3600 c1", "100+6/? 0-600", "never"), ["STALLED 0-660 c1 NEVER_COMMITTED WARN 180"]),
    ],
    ids=["for long", "for less", "never", "like all others"],
)
def test_of_who_pulls_by_hand_only_a_long_time_says_anything(step: AuditedStep, expected: list[str]) -> None:
    by_hand = Membership((Connection("c1"),), frozenset(), frozenset(), "CLUSTERING", "CONSUME_ACTIVELY")
    listed = {"b": [Span(micros(0), micros(3600), micros(3600), by_hand)]}
    assert lines(replace(step, memberships=listed)) == expected
