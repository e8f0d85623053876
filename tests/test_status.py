"""The newest step of every group: which it is, in what order, and what a person sees of it."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import Any

from rich.console import Console

from spark_jobs.cli.show_status import show_statuses
from spark_jobs.jobs.status import Statuses, in_order

NEW, OLD = datetime(2026, 11, 21, 2, tzinfo=UTC), datetime(2026, 11, 20, 2, tzinfo=UTC)


def group(name: str, severity: str | None = None, backlog: int | None = 0, **values: Any) -> dict[str, Any]:
    return {
        "cluster": "eu",
        "consumer_group": name,
        "step_start": NEW,
        "worst_severity": severity,
        "finding_count": 1234,
        "members": 3,
        "idle_members": 1,
        "queues": 1016,
        "owned_once": 1010,
        "owned_twice": 4,
        "owned_never": 2,
        "backlog_start": 12,
        "backlog_end": backlog,
        "unknown_queues": 0,
        "oldest_message_ms": None,
        "in_rate": 1234.5678,
        "out_rate": 0.04,
        "limit": "NO_BACKLOG",
        "advice": "Nothing to help.",
    } | values


UNKNOWN = dict.fromkeys(
    ("members", "idle_members", "queues", "backlog_start", "backlog_end", "oldest_message_ms", "in_rate", "out_rate")
)


def test_what_needs_attention_comes_first() -> None:
    """By severity, then the largest backlog, unknown after none, then by name."""
    by_hand = [
        group("z", "ERROR", 0),
        group("y", "WARN", 700),
        group("x", "WARN", 80),
        group("b", "WARN", 0),
        group("c", "WARN", 0, cluster="a"),
        group("c", "WARN", 0, cluster="b"),
        group("a", "WARN", None),
        group("n", "INFO", 9),
        group("m", None, 10_000),
    ]
    assert in_order(reversed(by_hand)) == by_hand


def shown(console: Console, *groups: dict[str, Any]) -> list[str]:
    show_statuses(console, Statuses(NEW, list(groups)))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_groups_are_lines_where_nobody_watches() -> None:
    hostile = group("[red]:bomb:\x1b[2J\u202e", None, **UNKNOWN, step_start=OLD, unknown_queues=7)
    assert shown(Console(file=io.StringIO(), width=40), group("g", "ERROR", oldest_message_ms=90_500), hostile) == [
        "ERROR cluster=eu group=g step=2026-11-21T02:00Z findings=1234 members=3 queues=1,010/4/2 backlog=12 → 0 "
        "unknown_queues=0 oldest=1 min 30 s in=1,234.6/s out=0.0/s limit=NO_BACKLOG advice: Nothing to help.",
        "- cluster=eu group=[red]:bomb:\\x1b[2J\\u202e step=2026-11-20T02:00Z (old) findings=1234 members=unknown "
        "queues=unknown backlog=unknown unknown_queues=7 oldest=unknown in=unknown/s out=unknown/s limit=NO_BACKLOG "
        "advice: Nothing to help.",
        "2 groups; the newest step began at 2026-11-21T02:00Z.",
    ]
    assert shown(Console(file=io.StringIO())) == ["0 groups; the newest step began at 2026-11-21T02:00Z."]


def test_groups_are_a_table_on_a_terminal() -> None:
    terminal = Console(file=io.StringIO(), width=140, force_terminal=True, color_system=None)
    long = "g" * 255
    hostile = group("[red]:bomb:\x1b[2J", "WARN", None, step_start=OLD, unknown_queues=7, backlog_start=None)
    lines = shown(terminal, group("<script>", "ERROR"), hostile, group(long))
    rows = [line.split() for line in lines]
    assert rows[0] == ["Newest", "step", "of", "every", "group", "(UTC)"]
    assert ["ERROR", "<script>", "3", "1,010/4/2", "12", "→", "0", "1,234.6", "-", "NO_BACKLOG"] in rows
    assert ["1234", "eu", "1", "0.0", "Nothing", "to", "help."] in rows
    assert ["WARN", "[red]:bomb:\\x1b[2J", "3", "1,010/4/2", "unknown", "1,234.6", "unknown", "NO_BACKLOG"] in rows
    assert any(row[:2] == ["2026-11-20T02:00Z", "(old)"] for row in rows)
    assert not any("(old)" in line and "2026-11-21" in line for line in lines)
    assert "".join(lines).count("g" * 20) > 5
    assert max(map(len, lines)) <= 140
