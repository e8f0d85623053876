"""Offsets of groups with a filter that do not move: who hangs, and who waits for messages of its own."""

from dataclasses import replace
from typing import Any

import pytest

from spark_jobs.domain.kernel.verdicts import VerdictSpan
from spark_jobs.domain.model.statuses import Verdict
from spark_jobs.domain.rules import consumer_stalled, consumer_stopped
from tests.support.client_groups import held, measured
from tests.support.client_steps import recorded_step, replayed
from tests.support.samples import progress
from tests.support.snapshots import client, offsets
from tests.support.times import micros

TIMES = range(0, 640, 20)


def severities(
    filtered: bool = True, recorded: bool = True, language: str = "GO", failed: float = 0.0, **queue: Any
) -> list[tuple[str | None, str | None]]:
    """What is said of a queue that does not move from 0 s to 660 s, by cause and severity."""
    status = measured("t", 1.0, 0.0, failed, 1.0, 1.0)
    rows = [client(at, owned_queues=[held("t", 0, at, dict(queue))], consume_status=[status]) for at in TIMES]
    read = [offsets(second, (second + 100, 50, 1)) for second in TIMES]
    own = replayed("t", 0, 660, {"c1": [0]}, 1)
    own = replace(own, members=tuple(member._replace(language=language) for member in own.members or ()))
    step, found = recorded_step(rows if recorded else [], own, read=read), []
    for rule, verdict in ((consumer_stopped.RULE, Verdict.STOP), (consumer_stalled.RULE, Verdict.STALL)):
        span = VerdictSpan(0, verdict, micros(0), micros(660), 50, 700, 7)
        stuck = replace(progress(own, 0, 660, (span,)), is_filtered=filtered)
        found += [(hit.cause, hit.severity) for hit in rule.hits(replace(step, progress=[stuck]))]
    return found


NOTE = [("FILTERED", "INFO")] * 2
ERRORS = [("NO_COMMITS", "ERROR"), ("NO_PROGRESS", "ERROR")]


@pytest.mark.parametrize(
    ("differs", "expected"),
    [
        ({}, NOTE),
        ({"language": "JAVA"}, NOTE),
        ({"filtered": False}, ERRORS),
        ({"last_pull": 1}, ERRORS),
        ({"cached_count": 3}, ERRORS),
        ({"failed": 0.5}, ERRORS),
        ({"recorded": False}, NOTE),
        ({"recorded": False, "language": "JAVA"}, ERRORS),
    ],
    ids=str,
)
def test_a_filter_is_a_reason_if_nothing_shows_a_hang(differs: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert severities(**differs) == expected
