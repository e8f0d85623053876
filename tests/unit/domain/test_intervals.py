"""Intervals as text and as times, and sums of times."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from spark_jobs.domain.model.intervals import Interval, StepGrid, format_utc, parse_utc
from spark_jobs.domain.model.window import common, covered, without
from spark_jobs.errors import IntervalError

HOURS = StepGrid(timedelta(hours=1))


def at(hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 11, 21, hour, minute, tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["2026-11-21T02:00", "2026-11-21T02:00:00Z", " 2026-11-21 02:00+00:00 ", "2026-11-21T03:00+01:00"]
)
def test_times_are_utc_unless_they_say_otherwise(text: str) -> None:
    assert parse_utc(text) == at(2)
    assert parse_utc(text).tzinfo is UTC


def test_what_is_not_a_time() -> None:
    with pytest.raises(IntervalError, match="'yesterday' is not a time"):
        parse_utc("yesterday")


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (at(2), "2026-11-21T02:00Z"),
        (at(2).replace(second=5), "2026-11-21T02:00:05Z"),
        (at(2).replace(microsecond=278_000), "2026-11-21T02:00:00.278Z"),
        (datetime(2026, 11, 21, 3, tzinfo=timezone(timedelta(hours=1))), "2026-11-21T02:00Z"),
    ],
)
def test_times_are_printed_no_longer_than_needed(moment: datetime, text: str) -> None:
    assert format_utc(moment) == text


def test_an_interval_reads_back_what_it_prints() -> None:
    interval = Interval.parse("2026-11-21T02:00/2026-11-21T03:00")
    assert interval == Interval(at(2), at(3))
    assert str(interval) == "2026-11-21T02:00Z/2026-11-21T03:00Z"
    assert Interval.parse(str(interval)) == interval


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2026-11-21T02:00", "is not an interval: write START/END"),
        ("2026-11-21T02:00/2026-11-21T02:00", "is empty"),
        ("2026-11-21T03:00/2026-11-21T02:00", "is reversed"),
        ("2026-11-21T02:00/soon", "'soon' is not a time"),
    ],
)
def test_intervals_that_make_no_sense(text: str, message: str) -> None:
    with pytest.raises(IntervalError, match=message):
        Interval.parse(text)


def test_a_time_without_zone_is_refused() -> None:
    with pytest.raises(IntervalError, match="has no time zone"):
        Interval(datetime(2026, 11, 21, 2), datetime(2026, 11, 21, 3))


def test_intersections_are_half_open() -> None:
    assert Interval(at(1), at(3)).intersect(Interval(at(2), at(4))) == Interval(at(2), at(3))
    assert Interval(at(1), at(4)).intersect(Interval(at(2), at(3))) == Interval(at(2), at(3))
    assert Interval(at(1), at(2)).intersect(Interval(at(2), at(3))) is None
    assert Interval(at(1), at(2)).intersect(Interval(at(3), at(4))) is None


def test_steps_tile_the_interval() -> None:
    assert list(HOURS.steps(Interval(at(22), at(22) + timedelta(hours=3)))) == [
        Interval(at(22), at(23)),
        Interval(at(23), at(23) + timedelta(hours=1)),
        Interval(at(23) + timedelta(hours=1), at(23) + timedelta(hours=2)),
    ]


def test_the_step_of_a_moment_begins_at_or_before_it() -> None:
    assert HOURS.floor(at(2, 59)) == at(2)
    assert HOURS.floor(at(2)) == at(2)
    assert StepGrid(timedelta(minutes=5)).floor(at(2, 59)) == at(2, 55)


@pytest.mark.parametrize(("start", "end"), [(at(2, 1), at(3)), (at(2), at(2, 59)), (at(2, 30), at(2, 40))])
def test_off_the_grid_names_the_whole_steps_around(start: datetime, end: datetime) -> None:
    around = "whole steps around it are 2026-11-21T02:00Z/2026-11-21T03:00Z"
    with pytest.raises(IntervalError, match=around):
        HOURS.check_whole_steps(Interval(start, end))
    with pytest.raises(IntervalError, match=around):
        list(HOURS.steps(Interval(start, end)))


@pytest.mark.parametrize("seconds", [0, -3600, 7, 86_401, 172_800])
def test_steps_divide_a_day(seconds: int) -> None:
    with pytest.raises(IntervalError, match=f"a step of {seconds} s does not divide a day"):
        StepGrid(timedelta(seconds=seconds))


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
