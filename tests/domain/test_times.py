"""What times share, and what one leaves of another."""

from __future__ import annotations

from spark_jobs.domain.times import common, without


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
