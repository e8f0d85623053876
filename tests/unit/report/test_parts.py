"""Parts of the page, without a browser: week by week, the conditions of a group, the glossary."""

from dataclasses import replace
from html import unescape
from typing import Any

import pytest

from spark_jobs.domain.glossary import TERMS
from spark_jobs.domain.incidents.trends import WEEK, GroupTrend, GroupWeek
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.show.page.groups import conditions, group_page
from spark_jobs.show.page.page import TRENDS, page, trend_rows
from spark_jobs.show.trends import is_compared
from tests.support.pages import content, finding, fleet_row, incident, lag, span, state, troubled, twins
from tests.support.times import HOUR, START, at

UNSEEN = GroupWeek(START, START + WEEK, 0, None, None, None, None, 0.0)
CALM = GroupWeek(START + WEEK, START + 2 * WEEK, 1, 10.0, 5, 100, 90.0, 0.5)
BAD = GroupWeek(START + 2 * WEEK, START + 3 * WEEK, 3, 40.0, 4, 1000, None, 1.0)


def test_weeks_come_the_newest_first_and_what_was_not_observed_is_left_out() -> None:
    (row,) = trend_rows([GroupTrend("c", "g", (UNSEEN, CALM, BAD))], {("c", "g"): "group-1"})
    assert (row["name"], row["cluster"], row["id"], row["is_worse"]) == ("g", "c", "group-1", True)
    assert row["change"] == "30.0 more minutes with wrong owners, 2 more incidents, 1 fewer rebalance"
    assert [(week["from"], week["texts"]) for week in row["weeks"]] == [
        ("2026-03-15 10:00:00", ["3", "40.0", "4", "1,000", "0", "unknown", "100%"]),
        ("2026-03-08 10:00:00", ["1", "10.0", "5", "100", "0", "1 min 30 s", "50%"]),
    ]
    # 96 pixels for three weeks, 28 for the highest.
    expected = [(1, 30, None, "unknown"), (33, 30, 7, "10.0"), (65, 30, 28, "40.0")]
    assert [(bar["x"], bar["width"], bar["height"], bar["text"]) for bar in row["bars"]] == expected


def test_what_cannot_be_compared_is_named() -> None:
    trends = [
        GroupTrend("c", "new", (UNSEEN, BAD)),
        GroupTrend("c", "one", (BAD,)),
        GroupTrend("c", "same", (CALM, CALM)),
        GroupTrend("c", "gone", (UNSEEN, UNSEEN)),
    ]
    rows = trend_rows(trends, {})
    assert [row["change"] for row in rows] == ["", "", "no change", ""]
    assert [is_compared(trend) for trend in trends] == [False, False, True, False]
    assert [len(row["weeks"]) for row in rows] == [1, 1, 2, 0]
    assert [row["id"] for row in rows] == [None] * 4
    # A bar alone says nothing.
    assert [len(row["bars"]) for row in rows] == [0, 0, 2, 0]


def test_only_so_many_groups_are_shown() -> None:
    assert len(trend_rows([GroupTrend("c", "g", (BAD,))] * (TRENDS + 1), {})) == TRENDS


def measured(start: int, end: int, backlog: int | None, **facts: Any) -> dict[str, Any]:
    return finding(start, end, evidence=(finding(0, 1)["evidence"] | {"backlog_max": backlog}), **facts)


def test_what_lasts_over_steps_is_one_row_with_its_worst_numbers() -> None:
    rows = conditions(
        [
            measured(3600, 7200, 50, severity="ERROR", finding_id="b"),
            measured(600, 3600, 90, severity="WARN", finding_id="a"),
            measured(7200, 9000, None, severity="WARN", finding_id="c"),
            measured(9600, 9900, 7, severity="WARN", finding_id="d"),
            measured(0, 600, 5, severity="WARN", finding_id="e", subject="b:2"),
            measured(600, 3600, 5, severity="INFO", finding_id="f", cause="CONFIG_HOLE"),
        ]
    )
    minutes = [tuple((row[at].hour - 10) * 60 + row[at].minute for at in ("started_at", "ended_at")) for row in rows]
    expected = [("ERROR", "a", 3), ("WARN", "e", 1), ("WARN", "d", 1), ("INFO", "f", 1)]
    assert [(row["severity"], row["finding_id"], row["steps"]) for row in rows] == expected
    assert minutes == [(10, 150), (0, 10), (160, 165), (10, 60)]
    assert rows[0]["of"] == (measured(600, 3600, 90)["started_at"], measured(600, 3600, 90)["ended_at"])


def test_every_term_is_explained_on_the_page() -> None:
    _, _, after = page(content(twins(troubled()))).partition('<details id="glossary">')
    terms = unescape(after.partition("</details>")[0])
    assert [term.name for term in TERMS if f"<dt>{term.name}</dt><dd>{term.meaning}" not in terms] == []
    assert "RocketMQ: AllocateMessageQueueStrategy" in terms


@pytest.mark.parametrize(
    ("lags", "produced", "is_drawn"),
    [((0, 0), 0, False), ((0, 0), 5, True), ((0, 5), 0, True), ((None, None), None, True)],
)
def test_a_retry_topic_without_owner_is_drawn_unless_no_message_came(
    lags: tuple[int | None, int | None], produced: int | None, is_drawn: bool
) -> None:
    retry = {"topic": "%RETRY%g"}
    backlog = [lag(0, 3600, 0, *lags) | {"produced": produced} | retry]
    states = [state(0, 3600, None, **retry)]
    rows: dict[str, Any] = {"ownership": [span(0, 3600, 0, **retry)], "states": states, "backlog": backlog}
    shown = group_page(replace(twins(fleet_row("g")), samples={}, **rows), HOUR, HOUR, "group-1")
    assert [topic["name"] for topic in shown["topics"]] == ["%RETRY%g"] * is_drawn
    not_drawn = "Not drawn, as no message is known to have been there: %RETRY%g."
    assert shown["notes"] == ([] if is_drawn else [not_drawn])


@pytest.mark.parametrize(
    ("end", "clusters", "title"),
    [
        (3600, "c", "Consumer load balancing of c, 2026-03-01 (UTC)"),
        (14 * 3600, "c", "Consumer load balancing of c, 2026-03-01 (UTC)"),
        (15 * 3600, "abcde", "Consumer load balancing of a, b, c and 2 more, 2026-03-01 – 2026-03-02 (UTC)"),
    ],
)
def test_the_title_names_clusters_and_days(end: int, clusters: str, title: str) -> None:
    others = tuple(fleet_row("g", cluster=cluster) for cluster in (*clusters, "c"))
    html = page(content(others=others, interval=Interval(at(0), at(end))))
    assert f"<title>{title}</title>" in html


def test_a_command_has_what_to_look_for_below_it() -> None:
    commands = ("mqadmin topicRoute -n NAMESRV -t t", "mqadmin topicRoute -n NAMESRV -t u")
    html = page(content(twins(troubled()), incidents=(replace(incident(0, 60), commands=commands),)))
    look_for = "Look in queueDatas for each broker: perm 6 is read and write, 4 read only, 2 write only."
    assert f'<pre>{commands[0]}\n{commands[1]}</pre><p class="output">{look_for}</p>' in html
