"""What times share, and what one leaves of another."""

from __future__ import annotations

from spark_jobs.domain.model.window import common, covered, without


def test_what_two_times_share() -> None:
    assert common((0, 10), (5, 20)) == (5, 10)
    assert common((0, 10), (-5, 20)) == (0, 10)
    assert common((0, 10), (10, 20)) is None


def test_what_parts_leave_of_a_time() -> None:
    for parts, left in (
        ([], [(10, 20)]),
        ([(0, 10), (20, 30)], [(10, 20)]),
        ([(0, 12), (18, 30)], [(12, 18)]),
        ([(12, 14), (14, 16)], [(10, 12), (16, 20)]),
        ([(10, 20)], []),
        ([(0, 30)], []),
        ([(0, 5), (25, 30)], [(10, 20)]),
    ):
        assert list(without((10, 20), parts)) == left, parts


def test_how_long_times_are_together() -> None:
    for times, long in (
        ([], 0),
        ([(-5, 0)], 5),
        ([(0, 2), (2, 3)], 3),
        ([(4, 6), (0, 2)], 4),
        ([(0, 10), (2, 3), (8, 12)], 12),
    ):
        assert covered(times) == long, times
