"""What a person sees of trends on a terminal."""

from __future__ import annotations

import io

from rich.console import Console

from spark_jobs.cli.show_trends import show_trends
from spark_jobs.domain.incidents.trends import WEEK, GroupTrend, GroupWeek
from spark_jobs.show.trends import trends_text
from tests.domain.audited import START

UNCOMPARED = "{}; none was observed in the last week and the one before: unknown what got worse."
FIRST = GroupWeek(START, START + WEEK, 0, None, None, None, None, 0.0)
LAST = GroupWeek(START + WEEK, START + 2 * WEEK, 1234, 61.25, 5, 1000, 90.0, 0.5)


def test_trends_are_a_table_on_a_terminal() -> None:
    terminal = Console(file=io.StringIO(), width=140, force_terminal=True, color_system=None)
    show_trends(terminal, [GroupTrend("eu", "[red]x\x9b", (FIRST, LAST)), GroupTrend("eu", "h", (LAST, FIRST))])
    assert isinstance(terminal.file, io.StringIO)
    rows = [line.split() for line in terminal.file.getvalue().splitlines()]
    assert rows[0] == ["Week", "by", "week;", "what", "got", "worse", "comes", "first", "(UTC)"]
    assert ["[red]x\\x9b", "03-08", "10:00", "1,234", "61.2", "5", "1,000", "1", "min", "30", "s", "50%"] in rows
    assert ["h", "03-01", "10:00", "1,234", "61.2", "5", "1,000", "1", "min", "30", "s", "50%"] not in rows
    # Nothing is known of one of the weeks: it is left out, and whether any of them got worse is unknown.
    assert not any("0%" in row for row in rows)
    assert " ".join(rows[-1]) == UNCOMPARED.format("2 groups")


def test_no_groups_are_no_rows() -> None:
    console = Console(file=io.StringIO())
    show_trends(console, [])
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue() == UNCOMPARED.format("0 groups") + "\n"


def test_only_groups_that_can_be_compared_got_worse_or_not() -> None:
    calm = LAST._replace(start=FIRST.start, end=FIRST.end, incidents=0, wrong_minutes=0.0)
    worse, new = GroupTrend("eu", "worse", (calm, LAST)), GroupTrend("eu", "new", (FIRST, LAST))
    assert trends_text([worse, GroupTrend("eu", "calm", (calm, calm))]) == "2 groups; 1 got worse in the last week."
    text = "2 groups; 1 of 1 that can be compared got worse in the last week."
    assert trends_text([worse, new]) == text
