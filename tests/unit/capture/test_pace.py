"""Calls are spread, and a kind of request that a broker does not answer is not made for a while."""

import pytest

from spark_jobs.capture.asking import Backoff, RateLimit
from spark_jobs.capture.calls import Request

STATS_OF_A = "a", Request.STATS


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_calls_start_one_after_the_other() -> None:
    clock = Clock()
    pace = RateLimit(4, clock)
    assert [pace.wait_seconds() for _ in range(3)] == [0.0, 0.25, 0.5]
    clock.now += 0.5
    assert pace.wait_seconds() == pytest.approx(0.25)


def test_what_was_not_used_is_not_made_up_for() -> None:
    clock = Clock()
    pace = RateLimit(4, clock)
    clock.now += 10
    assert [pace.wait_seconds() for _ in range(2)] == [0.0, 0.25]


def test_pauses_grow_until_the_longest_and_end_with_an_answer() -> None:
    clock = Clock()
    backoff = Backoff(3, clock)
    pauses = []
    assert backoff.pause(*STATS_OF_A) is None
    for _ in range(4):
        backoff.heard(*STATS_OF_A, silence="late")
        before = clock.now
        while backoff.pause(*STATS_OF_A):
            clock.now += 0.5
        pauses.append(clock.now - before)
    assert pauses == [1.0, 2.0, 3.0, 3.0]
    backoff.heard(*STATS_OF_A, silence=None)
    assert backoff.pause(*STATS_OF_A) is None
    backoff.heard(*STATS_OF_A, silence="late")
    clock.now += 1
    assert backoff.pause(*STATS_OF_A) is None


def test_one_caller_tries_after_a_pause_and_others_are_not_concerned() -> None:
    clock = Clock()
    backoff = Backoff(60, clock)
    backoff.heard(*STATS_OF_A, silence="late")
    assert backoff.pause("b", Request.STATS) is None
    assert backoff.pause("a", Request.CONNECTION) is None
    assert backoff.pause(*STATS_OF_A) == "late"
    clock.now += 1
    assert [backoff.pause(*STATS_OF_A), backoff.pause(*STATS_OF_A)] == [None, "late"]


def test_calls_that_were_under_way_together_are_one_silence() -> None:
    clock = Clock()
    backoff = Backoff(60, clock)
    for _ in range(5):
        backoff.heard(*STATS_OF_A, silence="late")
    clock.now += 1
    assert backoff.pause(*STATS_OF_A) is None
