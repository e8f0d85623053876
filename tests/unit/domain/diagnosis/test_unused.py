"""Groups that are not used any more, and how bad it is that nothing of them is consumed."""

from dataclasses import replace

import numpy as np
import pytest

from spark_jobs.domain.model.finding import Finding
from spark_jobs.domain.model.history import Connection, Membership
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.rules.catalog import RULES
from spark_jobs.domain.rules.findings import findings
from tests.support.builders import allocation, audited_step, interval
from tests.support.samples import offsets, oldest
from tests.support.times import micros

QUEUES = [("b", 0), ("b", 1)]


def reported(first: str, minimums: str, connected: bool = False, stored: int = 1) -> set[tuple[str, str | None, str]]:
    """Rule, cause and severity of a group without members from 0 s on. `first`: end and consumer offset of each queue
    at the first sample, to which 100 messages come; `minimums`: oldest and next messages; `connected`: a member was
    there before; `stored`: the store time of the message before each offset.
    """
    ends = [cell.split("/") for cell in first.split()]
    rows = {0: first.split(), 600: [f"{int(end) + 100}/{consumed}" for end, consumed in ends]}
    samples = offsets(QUEUES, rows)
    samples = replace(samples, last_timestamp=np.where(samples.last_timestamp == 1, stored, samples.last_timestamp))
    step = audited_step(
        interval(-400, 3600, (), allocation((), "- -"), seen_at=3590),
        offsets={"t": samples},
        topics={"t": oldest(QUEUES, {0: minimums.split(), 600: minimums.split()})},
    )
    connections = (Connection("c1"),) if connected else ()
    listed = [Membership(each, frozenset({"t"}), frozenset(), "CLUSTERING") for each in (connections, ())]
    spans = [Span(micros(-400), micros(-300), micros(-310), listed[0]), Span(micros(-300), micros(3600), 0, listed[1])]
    step = replace(step, memberships={"b": spans if connected else [spans[1]]})
    found: list[Finding] = findings(step, RULES)
    return {(each.rule, each.cause, each.severity) for each in found if each.rule != "UNOBSERVED"}


@pytest.mark.parametrize(
    ("first", "minimums"),
    [("900/100 800/50", "500/900 400/800"), ("900/? 800/?", "0/900 0/800"), ("900/100 0/0", "500/900 0/0")],
    ids=["below the oldest message", "never committed", "nothing came to one queue"],
)
def test_a_group_that_is_not_used_is_a_warning_and_its_deleted_messages_are_none(first: str, minimums: str) -> None:
    assert reported(first, minimums) == {("GROUP_OFFLINE", "UNUSED", "WARN")}


@pytest.mark.parametrize(
    ("minimums", "stored", "rule"),
    [
        ("500/900 400/800", 0, ("GROUP_OFFLINE", "UNUSED", "WARN")),
        ("500/900 400/800", 1, ("GROUP_OFFLINE", "NO_MEMBERS", "ERROR")),
        ("700/900 650/800", 0, ("GROUP_OFFLINE", "NO_MEMBERS", "ERROR")),  # what waits is still there
    ],
)
def test_without_the_message_before_the_offset_and_with_a_lower_oldest_offset_none_is_left(
    minimums: str, stored: int, rule: tuple[str, str, str]
) -> None:
    assert rule in reported("900/700 800/650", minimums, stored=stored)


@pytest.mark.parametrize(
    ("first", "minimums", "connected"),
    [("900/700 800/50", "500/900 400/800", False), ("900/100 800/50", "500/900 400/800", True)],
    ids=["one offset is among the messages", "a member was there five minutes ago"],
)
def test_a_group_that_was_used_is_an_error(first: str, minimums: str, connected: bool) -> None:
    assert ("GROUP_OFFLINE", "NO_MEMBERS", "ERROR") in reported(first, minimums, connected)
