"""Weeks of made intervals and incidents: what is counted, by hand. Times are hours after 2026-03-01T10:00."""

from collections.abc import Sequence

import numpy as np

from spark_jobs.domain.incidents.trends import (
    WEEK,
    Group,
    GroupTrend,
    GroupWeek,
    IncidentSpan,
    IntervalColumns,
    StepColumns,
    trends,
    weeks,
)
from spark_jobs.domain.model.severities import INFO, WARN
from spark_jobs.domain.model.window import HOUR
from tests.support.times import START

#: Group, start, end, wrong, rebalance, queues moved.
Row = tuple[str, float, float, bool, bool, int]
#: Group, start of a step, and how much of it was observed.
Seen = tuple[str, float, float]
TWO_WEEKS = weeks(START, START + 2 * WEEK)
#: The hours of a week.
LATER = 168


def hours(number: float) -> int:
    return START + round(number * HOUR)


def columns(groups: Sequence[Group], rows: Sequence[Row]) -> IntervalColumns:
    places = {name: place for place, (_, name) in enumerate(groups)}
    group, start, end, wrong, rebalance, moved = zip(*rows, strict=True)
    return IntervalColumns(
        np.array([places[name] for name in group]),
        np.array([*map(hours, start)]),
        np.array([*map(hours, end)]),
        np.array(wrong),
        np.array(rebalance),
        np.array(moved),
    )


def trends_of(*rows: Row, seen: Sequence[Seen], incidents: Sequence[IncidentSpan] = ()) -> list[GroupTrend]:
    groups = [("eu", name) for name in dict.fromkeys(row[0] for row in rows)]
    places = {name: place for place, (_, name) in enumerate(groups)}
    steps = StepColumns(
        np.array([places[name] for name, _, _ in seen], np.int64),
        np.array([hours(start) for _, start, _ in seen], np.int64),
        np.array([round(length * HOUR) for _, _, length in seen], np.int64),
    )
    return trends(groups, TWO_WEEKS, columns(groups, rows), steps, incidents)


def opened(begin: float, end: float | None, *groups: str) -> IncidentSpan:
    resolved = None if end is None else hours(end)
    return IncidentSpan("eu", groups, "CONSUMER_STALLED", WARN, hours(begin), resolved)


def test_weeks_are_counted_back_from_the_end() -> None:
    assert weeks(0, 2 * WEEK + 5) == [(0, 5), (5, WEEK + 5), (WEEK + 5, 2 * WEEK + 5)]
    assert weeks(0, WEEK) == [(0, WEEK)]


def test_time_counts_once_however_many_topics_and_views_say_so() -> None:
    """Topics of one group lie over each other, out of order; g2 and the second week have times of their own."""
    (one, two) = trends_of(
        ("g", 2, 4, True, True, 3),
        ("g", 0, 3, True, True, 5),
        ("g", 0, 2.5, True, True, 0),
        ("g", 4, 6, False, True, 1),
        ("g", 6, 7, False, False, 0),
        ("g2", 1, 3, True, False, 0),
        ("g", LATER, LATER + 1, True, False, 0),
        seen=[*(("g", hour, 1.0) for hour in range(5)), ("g", 5, 0.25), ("g", 6, 0), ("g2", 1, 1), ("g", LATER, 1)],
    )
    first, last = one.weeks if one.consumer_group == "g" else two.weeks
    # Wrong from 0 to 4; rebalances at 0, 2 and 4; observed from 0 to 5 h 15.
    assert first == GroupWeek(START, START + WEEK, 0, 240, 3, 9, None, 5.25 / 168)
    assert last == GroupWeek(START + WEEK, START + 2 * WEEK, 0, 60, 0, 0, None, 1 / 168)
    other = two if one.consumer_group == "g" else one
    assert [week.wrong_minutes for week in other.weeks] == [120, None]


def test_what_was_not_observed_is_unknown() -> None:
    (one,) = trends_of(("g", 0, 5, False, False, 0), seen=[("g", 0, 0)])
    assert one.weeks[0] == GroupWeek(START, START + WEEK, 0, None, None, None, None, 0)


def test_incidents_count_where_they_opened() -> None:
    row: Row = ("g", 0, 1, False, False, 0)
    found = [opened(1, 3, "g"), opened(2, 2.5, "g", "h"), opened(3, None, "g"), opened(LATER, LATER + 8, "g")]
    (one,) = trends_of(row, seen=[("g", 0, 1)], incidents=[*found, opened(-1, 5, "g"), opened(1, 2, "h")])
    assert [(week.incidents, week.seconds_to_resolve) for week in one.weeks] == [(3, 4500), (1, 8 * 3600)]


def test_rollouts_are_counted_apart_unless_they_cost_something() -> None:
    found = [opened(1, 2, "g")._replace(rule="ROLLOUT", severity=severity) for severity in (INFO, INFO, WARN)]
    (one,) = trends_of(("g", 0, 1, False, False, 0), seen=[("g", 0, 1)], incidents=[*found, opened(3, None, "g")])
    assert [(week.incidents, week.rollouts) for week in one.weeks] == [(2, 3), (0, 0)]
    assert one.weeks[0].seconds_to_resolve == 3600


def test_what_got_worse_first() -> None:
    """By minutes, then by incidents; what is unknown of one week is no change; equals by name."""

    def group(name: str, before: float, last: float) -> list[Row]:
        return [(name, 0, before, True, False, 0), (name, LATER, LATER + last, True, False, 0)]

    rows = [*group("better", 3, 1), *group("same", 2, 2), *group("worse", 1, 2), *group("worst", 1, 9)]
    rows += [("unknown", LATER, LATER + 99, True, False, 0), *group("often", 2, 2)]
    seen = [(row[0], row[1], 1.0) for row in rows]
    found = trends_of(*rows, seen=seen, incidents=[opened(LATER, None, "often"), opened(LATER, None, "unknown")])
    assert [one.consumer_group for one in found] == ["worst", "worse", "often", "same", "unknown", "better"]
    assert [one.worsening[0] for one in found] == [480, 60, 0, 0, 0, -120]
