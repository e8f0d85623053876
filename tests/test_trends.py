"""What a person sees of trends on a terminal."""

from __future__ import annotations

import io

from rich.console import Console

from spark_jobs.cli.show_trends import show_trends
from spark_jobs.domain.trends import WEEK, GroupTrend, GroupWeek
from tests.domain.audited import START

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
    assert ["[red]x\\x9b", "03-01", "10:00", "0", *["unknown"] * 4, "0%"] in rows
    # Nothing is known of one of the weeks, so neither got worse.
    assert rows[-1] == ["2", "groups;", "0", "got", "worse", "in", "the", "last", "week."]


def test_no_groups_are_no_rows() -> None:
    console = Console(file=io.StringIO())
    show_trends(console, [])
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue() == "0 groups; 0 got worse in the last week.\n"
