"""Trends of a warehouse made by hand, as the command line and a terminal show them. No Spark."""

from pathlib import Path
from typing import Any

import pytest

from schemas import COVERAGE, FINDINGS, GROUP_STATUS, REBALANCE_INTERVALS
from spark_jobs.cli.commands.trends import show_trends
from spark_jobs.domain.incidents.trends import WEEK, GroupTrend, GroupWeek
from spark_jobs.show.trends import trends_of, trends_text
from spark_jobs.store.read.delta import delta_tables
from spark_jobs.store.read.published import EVERYTHING
from tests.support.commands import Typed
from tests.support.consoles import cells, shown
from tests.support.published import STATUS, key, publish_hours
from tests.support.recordings import write_warehouse
from tests.support.rows import finding, interval
from tests.support.times import START, at
from tests.support.two_clusters import LAST_OF_B, write_two_clusters

HOUR, DAY = 3600, 86400
UNCOMPARED = "{}; none was observed in the last week and the one before: unknown what got worse."
FIRST = GroupWeek(START, START + WEEK, 0, None, None, None, None, 0.0)
LAST = GroupWeek(START + WEEK, START + 2 * WEEK, 1234, 61.25, 5, 1000, 90.0, 0.5)


def row(start: float, end: float, group: str = "G", **values: Any) -> dict[str, Any]:
    return interval(start, end) | key(group, start // HOUR) | values


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """Eight days of two groups: G lost a queue for 40 min on the first day, and two for 3 h in the last week."""
    found = [
        finding(**key("G", hour), finding_id=str(hour), started_at=at(begin), ended_at=at(end))
        for hour, begin, end in ((30, 30 * HOUR, 30 * HOUR + 1800), (60, 60 * HOUR, 60 * HOUR + 5400 - 1800))
    ]
    intervals = [
        row(0, 2400, unassigned_queues=1),
        row(2400, HOUR, trigger_type="MEMBER_JOINED", queues_moved=4),
        row(30 * HOUR, 31 * HOUR, trigger_type="MEMBER_LEFT", unassigned_queues=2, queues_moved=3),
        row(30 * HOUR, 31 * HOUR, trigger_type="MEMBER_LEFT", topic="U", double_owned_queues=1, queues_moved=2),
        row(60 * HOUR, 62 * HOUR, unassigned_queues=2),
        row(62 * HOUR, 63 * HOUR, status="UNOBSERVED", unassigned_queues=None, double_owned_queues=None),
        row(0, HOUR, "calm", status="NOT_APPLICABLE", trigger_type="MEMBER_JOINED", queues_moved=None),
        row(30 * HOUR, 30 * HOUR + 24 * HOUR, "calm"),
    ]
    # The newest step ends eight days after 10:00: the oldest week has one day.
    steps = [key(group, hour) | STATUS for group in ("G", "calm") for hour in range(8 * 24)]
    # Of the hour 30 of G the members are known, and 15 min of the rest.
    seen = [("G", 0, HOUR), ("G", 30, 900), ("G", 60, HOUR), ("G", 61, HOUR), ("calm", 0, HOUR)]
    seen += [("calm", hour, HOUR) for hour in range(30, 54)]
    whole = dict.fromkeys(("expected_seconds", "members_seconds", "routes_seconds"), 3600.0)
    nothing = {"offsets_seconds": 0.0, "clients_seconds": 0.0, "missing": []}
    covered = [
        key(group, hour) | whole | nothing | {"observed_seconds": float(seconds)} for group, hour, seconds in seen
    ]
    tables = {FINDINGS: found, GROUP_STATUS: steps, REBALANCE_INTERVALS: intervals, COVERAGE: covered}
    write_warehouse(tmp_path, tables, HOUR)
    return tmp_path


def test_a_line_per_group_and_week(warehouse: Path, typed: Typed) -> None:
    out, err = typed("trends --days 8", warehouse=warehouse)
    last, oldest = "week=2026-03-02T10:00Z/2026-03-09T10:00Z", "week=2026-03-01T10:00Z/2026-03-02T10:00Z"
    assert out.splitlines() == [
        f"cluster=c group=G {last} incidents=2 wrong_minutes=180.0 rebalances=1 queues_moved=5 rollouts=0 "
        "time_to_resolve=45 min 00 s observed=1%",
        f"cluster=c group=G {oldest} incidents=0 wrong_minutes=40.0 rebalances=1 queues_moved=4 rollouts=0 "
        "time_to_resolve=unknown observed=4%",
        f"cluster=c group=calm {last} incidents=0 wrong_minutes=0.0 rebalances=0 queues_moved=0 rollouts=0 "
        "time_to_resolve=unknown observed=14%",
        f"cluster=c group=calm {oldest} incidents=0 wrong_minutes=0.0 rebalances=0 queues_moved=0 rollouts=0 "
        "time_to_resolve=unknown observed=4%",
        "2 groups; 1 got worse in the last week.",
    ]
    assert err.endswith(f"Next: rebalance-audit incidents --warehouse {warehouse} --cluster c --group G\n")


def test_trends_are_a_document_for_programs(warehouse: Path, typed: Typed) -> None:
    week = {"start": "2026-03-08T10:00:00Z", "end": "2026-03-09T10:00:00Z", "incidents": 0, "wrong_minutes": None}
    week |= {"rebalances": None, "queues_moved": None, "seconds_to_resolve": None, "observed_share": 0.0}
    week |= {"rollouts": 0}
    calm = {"cluster": "c", "consumer_group": "calm", "weeks": [week]}
    assert typed("trends --days 1 --group calm --json", warehouse=warehouse).document == {"groups": [calm]}


def shares(warehouse: Path) -> dict[str, float]:
    """By cluster the observed share of the day before the end of the newest step, of its only group."""
    found = trends_of(delta_tables(str(warehouse)), EVERYTHING, 1)
    return {trend.cluster: trend.weeks[-1].observed_share for trend in found.groups}


def test_the_observed_share_is_what_was_observed_of_the_steps(tmp_path: Path) -> None:
    """The recorder of `b` died in the second of two hours: its last snapshot counts for 60 s."""
    write_two_clusters(tmp_path)
    assert shares(tmp_path) == pytest.approx({"a": 2 * HOUR / DAY, "b": (LAST_OF_B + 60) / DAY})


def test_steps_that_were_audited_before_there_was_coverage_count(tmp_path: Path) -> None:
    """By the intervals that these runs published."""
    publish_hours(tmp_path, [0, 1, 2], cluster="a")
    publish_hours(tmp_path, [2], cluster="b")
    assert shares(tmp_path) == pytest.approx({"a": 3 * HOUR / DAY, "b": HOUR / DAY})


def test_a_group_that_nobody_has(warehouse: Path, typed: Typed) -> None:
    printed = typed("trends --group Calm", warehouse=warehouse, code=3)
    assert "there is no consumer group Calm: did you mean calm" in printed.err


def test_trends_are_a_table_on_a_terminal() -> None:
    trends = [GroupTrend("eu", "[red]x\x9b", (FIRST, LAST)), GroupTrend("eu", "h", (LAST, FIRST))]
    rows = cells(lambda terminal: show_trends(terminal, trends), 140)
    assert rows[0] == ["Week", "by", "week;", "what", "got", "worse", "comes", "first", "(UTC)"]
    assert ["[red]x\\x9b", "03-08", "10:00", "1,234", "61.2", "5", "1,000", "0", "1", "min", "30", "s", "50%"] in rows
    assert ["h", "03-01", "10:00", "1,234", "61.2", "5", "1,000", "0", "1", "min", "30", "s", "50%"] not in rows
    # Nothing is known of one of the weeks: it is left out, and whether any of them got worse is unknown.
    assert not any("0%" in row for row in rows)
    assert " ".join(rows[-1]) == UNCOMPARED.format("2 groups")


def test_no_groups_are_no_rows() -> None:
    assert shown(lambda console: show_trends(console, [])) == [UNCOMPARED.format("0 groups")]


def test_only_groups_that_can_be_compared_got_worse_or_not() -> None:
    calm = LAST._replace(start=FIRST.start, end=FIRST.end, incidents=0, wrong_minutes=0.0)
    worse, new = GroupTrend("eu", "worse", (calm, LAST)), GroupTrend("eu", "new", (FIRST, LAST))
    assert trends_text([worse, GroupTrend("eu", "calm", (calm, calm))]) == "2 groups; 1 got worse in the last week."
    text = "2 groups; 1 of 1 that can be compared got worse in the last week."
    assert trends_text([worse, new]) == text
