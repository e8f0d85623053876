"""Messages through queues, computed on paper."""

from typing import Any

import numpy as np
import pytest

from spark_jobs.what_if.fluid import Service, flow

ONE_OF_TWO = Service(np.array([0, 0]), np.array([0, 1]))


def played(
    start: list[float], came: list[list[float]], service: Service, capacity: list[list[float]]
) -> tuple[Any, Any, Any]:
    found = flow(np.array(start, float), np.array(came, float), service, np.array(capacity, float))
    return found.waiting.tolist(), found.served.tolist(), found.strained.tolist()


def test_a_member_serves_the_same_part_of_each_of_its_queues() -> None:
    # 60 messages and 30 served: half of each is left; then 30 and 30: nothing.
    waiting = [[25, 5], [0, 0], [0, 0]]
    assert played([0, 0], [[50, 10], [0, 0], [0, 0]], ONE_OF_TWO, [[30]] * 3) == (waiting, [50, 10], [True])


def test_what_waits_at_first_is_served_too_and_what_was_not_used_is_not_saved() -> None:
    # 40 + 0 − 30 = 10; 10 + 0 − 30 → 0; 0 + 50 − 30 = 20, of which all is queue 1's.
    waiting = [[10, 0], [0, 0], [0, 20]]
    assert played([40, 0], [[0, 0], [0, 0], [0, 50]], ONE_OF_TWO, [[30]] * 3) == (waiting, [40, 30], [True])


def test_in_a_queue_without_an_owner_everything_waits() -> None:
    only_second = Service(np.array([0]), np.array([1]))
    assert played([1, 0], [[5, 5], [5, 5]], only_second, [[9], [9]]) == ([[6, 0], [11, 0]], [10], [False])


def test_of_a_queue_with_two_owners_the_fastest_leaves_what_waits_and_both_serve_it() -> None:
    both = Service(np.array([0, 1]), np.array([0, 0]))
    assert played([0], [[10], [10]], both, [[4, 7], [4, 7]]) == ([[3], [6]], [8, 14], [True, True])


def test_many_times_are_as_one_after_the_other() -> None:
    random = np.random.default_rng(1)
    came, capacity = random.uniform(0, 20, (50, 3)), random.uniform(0, 40, (50, 2))
    service = Service(np.array([0, 0, 1]), np.array([0, 2, 1]))
    now, expected = np.array([5.0, 0.0, 7.0]), []
    for more, served in zip(came, capacity, strict=True):
        now = now + more
        for server, own in enumerate(([0, 2], [1])):
            now[own] *= max(now[own].sum() - served[server], 0) / now[own].sum()
        expected.append(now.copy())
    np.testing.assert_allclose(flow(np.array([5.0, 0.0, 7.0]), came, service, capacity).waiting, expected, atol=1e-9)


def test_each_queue_is_pulled_by_itself_and_what_is_pulled_waits_for_the_listener() -> None:
    # 100 and 4 messages wait, 20 of a queue are pulled in each time, and 22 served: 20 + 4, 20, 20.
    found = flow(np.array([100.0, 4.0]), np.zeros((3, 2)), ONE_OF_TWO, np.full((3, 1), 22.0), np.full((3, 2), 20.0))
    # Of 24 pulled 2 are left, 20:4 as they came; of 22 nothing; nothing.
    assert found.waiting.sum(axis=1).tolist() == pytest.approx([82, 60, 40])
    assert found.waiting[0].tolist() == pytest.approx([80 + 20 / 12, 4 / 12])
    assert found.by_pulls.tolist() == [True]


def test_what_has_no_limit_leaves_nothing() -> None:
    found = flow(np.array([5.0, 0.0]), np.full((2, 2), 1e6), ONE_OF_TWO, np.full((2, 1), np.inf))
    assert found.waiting.tolist() == [[0, 0], [0, 0]]
    assert found.strained.tolist() == [False]


def test_without_members_or_messages_nothing_is_consumed() -> None:
    nobody = Service(np.array([], np.int64), np.array([], np.int64))
    assert played([3], [[0], [0]], nobody, [[], []]) == ([[3], [3]], [], [])
    assert played([0, 0], [[0, 0]], ONE_OF_TWO, [[0]]) == ([[0, 0]], [0, 0], [False])
