"""Calls are spread, and who is silent is left alone for a while."""

from __future__ import annotations

import pytest

from spark_jobs.capture.asking import Backoff, RateLimit


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
    assert backoff.is_due("a")
    for _ in range(4):
        backoff.heard("a", silent=True)
        before = clock.now
        while not backoff.is_due("a"):
            clock.now += 0.5
        pauses.append(clock.now - before)
    assert pauses == [1.0, 2.0, 3.0, 3.0]
    backoff.heard("a", silent=False)
    assert backoff.is_due("a")
    backoff.heard("a", silent=True)
    clock.now += 1
    assert backoff.is_due("a")


def test_one_caller_tries_after_a_pause_and_others_are_not_concerned() -> None:
    clock = Clock()
    backoff = Backoff(60, clock)
    backoff.heard("a", silent=True)
    assert backoff.is_due("b")
    assert not backoff.is_due("a")
    clock.now += 1
    assert [backoff.is_due("a"), backoff.is_due("a")] == [True, False]


def test_calls_that_were_under_way_together_are_one_silence() -> None:
    clock = Clock()
    backoff = Backoff(60, clock)
    for _ in range(5):
        backoff.heard("a", silent=True)
    clock.now += 1
    assert backoff.is_due("a")
