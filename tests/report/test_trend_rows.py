"""The page of trends, without a browser."""

from __future__ import annotations

from spark_jobs.domain.incidents.trends import WEEK, GroupTrend, GroupWeek
from spark_jobs.domain.model.window import to_micros
from spark_jobs.show.page.page import TRENDS, trend_rows
from spark_jobs.show.trends import is_compared
from tests.snapshots import at

START = to_micros(at(0))
UNSEEN = GroupWeek(START, START + WEEK, 0, None, None, None, None, 0.0)
CALM = GroupWeek(START + WEEK, START + 2 * WEEK, 1, 10.0, 5, 100, 90.0, 0.5)
BAD = GroupWeek(START + 2 * WEEK, START + 3 * WEEK, 3, 40.0, 4, 1000, None, 1.0)


def test_weeks_are_told_the_newest_first_and_what_was_not_observed_is_left_out() -> None:
    (row,) = trend_rows([GroupTrend("c", "g", (UNSEEN, CALM, BAD))], {("c", "g"): "group-1"})
    assert (row["name"], row["cluster"], row["id"], row["is_worse"]) == ("g", "c", "group-1", True)
    assert row["change"] == "30.0 more minutes with wrong owners, 2 more incidents, 1 fewer rebalance"
    assert [(week["from"], week["texts"]) for week in row["weeks"]] == [
        ("2026-03-15 10:00:00", ["3", "40.0", "4", "1,000", "unknown", "100%"]),
        ("2026-03-08 10:00:00", ["1", "10.0", "5", "100", "1 min 30 s", "50%"]),
    ]
    # 96 pixels for three weeks, 28 for the highest.
    assert [(bar["x"], bar["width"], bar["height"], bar["text"]) for bar in row["bars"]] == [
        (1, 30, None, "unknown"),
        (33, 30, 7, "10.0"),
        (65, 30, 28, "40.0"),
    ]


def test_what_cannot_be_compared_is_said() -> None:
    found = [
        GroupTrend("c", "new", (UNSEEN, BAD)),
        GroupTrend("c", "one", (BAD,)),
        GroupTrend("c", "same", (CALM, CALM)),
        GroupTrend("c", "gone", (UNSEEN, UNSEEN)),
    ]
    rows = trend_rows(found, {})
    assert [row["change"] for row in rows] == ["", "", "no change", ""]
    assert [is_compared(one) for one in found] == [False, False, True, False]
    assert [len(row["weeks"]) for row in rows] == [1, 1, 2, 0]
    assert [row["id"] for row in rows] == [None] * 4
    # A bar alone says nothing.
    assert [len(row["bars"]) for row in rows] == [0, 0, 2, 0]


def test_only_so_many_groups_are_shown() -> None:
    assert len(trend_rows([GroupTrend("c", "g", (BAD,))] * (TRENDS + 1), {})) == TRENDS
