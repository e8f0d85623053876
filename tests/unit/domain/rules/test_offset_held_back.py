"""OFFSET_HELD_BACK: offsets that do not move while their client consumes, on rows written by hand."""

from dataclasses import replace
from typing import Any

import pytest

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.rules.findings import findings
from spark_jobs.domain.rules.standing import CONSUMER_STOPPED
from spark_jobs.domain.rules.standing import OFFSET_HELD_BACK as RULE
from tests.support.builders import span
from tests.support.client_groups import held
from tests.support.client_steps import recorded_step, replayed
from tests.support.findings import rule_hit
from tests.support.snapshots import client, offsets
from tests.support.times import second_of

TIMES = range(0, 640, 20)


def step_of(
    orderly: bool = False, first_offset: int = 100, until: int = 640, jitter_ms: int = 0, end: int = 640, **queue: Any
) -> AuditedStep:
    """A message a second; the offset is 100 from 100 s on. The client holds the message at 100, finishes those behind
    it, and consumes until `until`. Every other snapshot shows a time of that which is `jitter_ms` later.
    """
    times = range(0, end, 20)
    read = [offsets(second, (second, min(second, 100), 1)) for second in times]
    holding = {"cached_count": 1, "cached_min_offset": first_offset, "cached_max_offset": 400}
    rows = []
    for second in times:
        own = held("t", 0, second, (holding | queue) if second >= 100 else {})
        own["last_consume"] = held("t", 0, min(second, until), {})["last_consume"] + jitter_ms * (second // 20 % 2)
        rows.append(client(second, owned_queues=[own], consume_orderly=orderly))
    return recorded_step(rows, replayed("t", 0, end + 20, {"c1": [0], "c2": []}, 1), read=read)


def test_one_message_holds_back_the_offset() -> None:
    (hit,) = RULE.hits(step_of())
    about = {"implicated": "c1", "minimum_seconds": 300, "severity": "WARN", "weight": 519}
    measures = {"consumer_offset": 100, "consumed_again": 519}
    hint = "The message at offset 100 of b:0 is not finished; 519 behind it are consumed again after a restart."
    assert hit == rule_hit(100, 660, "ONE_MESSAGE", "t b:0 HELD_BACK", topic="t", measures=measures, hint=hint, **about)


@pytest.mark.parametrize(
    "differs",
    [
        {"orderly": True},  # the same message again and again
        {"first_offset": 150},  # the message at the offset is finished: a commit does not arrive
        {"cached_count": 0},
        {"cached_count": 600},  # nothing behind it is finished
        {"until": 100},  # the client does not consume
        {"dropped": True},
    ],
    ids=str,
)
def test_all_else_is_another_matter(differs: dict[str, Any]) -> None:
    assert list(RULE.hits(step_of(**differs))) == []


def test_messages_that_came_after_the_client_last_consumed_are_not_consumed() -> None:
    # A Go client whose listener hangs makes its process queue anew after 120 s without a pull, at 460 s here: then
    # `last_consume` advances, and the client holds all of the 360 messages from the offset on.
    read = [offsets(second, (second, min(second, 100), 1)) for second in TIMES]
    rows = []
    for second in TIMES:
        cached = 0 if second <= 100 else 99 if second < 460 else 360
        own = held("t", 0, second, {"cached_count": cached, "cached_min_offset": 100 if cached else 0})
        own["last_consume"] = held("t", 0, second if second <= 100 else 100 if second < 460 else 460, {})[
            "last_consume"
        ]
        rows.append(client(second, owned_queues=[own], consume_orderly=False))
    step = recorded_step(rows, replayed("t", 0, 660, {"c1": [0], "c2": []}, 1), read=read)
    assert list(RULE.hits(step)) == []
    assert _stopped(step) == ["100-660 LISTENER_HANGS"]


def test_it_ends_when_the_client_consumes_no_more_and_the_stall_is_the_rest() -> None:
    step = step_of(until=200)
    assert [(second_of(hit.start), second_of(hit.end)) for hit in RULE.hits(step)] == [(100, 200)]
    assert _stopped(step) == ["200-660 LISTENER_HANGS"]
    assert _stopped(step_of()) == []
    assert _stopped(step_of(until=100)) == ["100-660 LISTENER_HANGS"]


@pytest.mark.parametrize(("language", "may_panic"), [("GO", True), ("JAVA", False)])
def test_only_listeners_of_go_clients_may_panic(language: str, may_panic: bool) -> None:
    step = step_of(until=100)
    (interval,) = step.intervals
    members = tuple(member._replace(language=language) for member in interval.members or ())
    (hit,) = CONSUMER_STOPPED.hits(replace(step, intervals=[replace(interval, members=members)]))
    assert (hit.hint or "").startswith("Look for panics in the log of the Go client") == may_panic


@pytest.mark.parametrize(("jitter_ms", "until"), [(999, 200), (1000, 660)])
def test_a_last_time_that_moves_by_less_than_a_second_is_that_of_the_same_messages(jitter_ms: int, until: int) -> None:
    hits = RULE.hits(step_of(until=200, jitter_ms=jitter_ms))
    assert [(second_of(hit.start), second_of(hit.end)) for hit in hits] == [(100, until)]


def test_a_client_that_finishes_nothing_any_more_is_the_cause_of_what_was_held_back_before() -> None:
    (held_back,), (stopped,) = (
        [each for each in findings(step_of(until=400, end=800), [RULE, CONSUMER_STOPPED]) if each.rule == name]
        for name in ("OFFSET_HELD_BACK", "CONSUMER_STOPPED")
    )
    assert (held_back.root_finding_id, stopped.root_finding_id) == (stopped.finding_id, None)


def _stopped(step: AuditedStep) -> list[str]:
    """The hits of CONSUMER_STOPPED: time and cause."""
    return [f"{span(hit)} {hit.cause}" for hit in CONSUMER_STOPPED.hits(step)]
