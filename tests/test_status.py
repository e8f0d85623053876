"""The newest step of every group: which it is, in what order, and what a person sees of it."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from rich.console import Console

from schemas import AUDIT_RUNS, FINDINGS, GROUP_STATUS
from spark_jobs.cli.main import main
from spark_jobs.cli.show_status import show_statuses
from spark_jobs.show.page.fleet import FINDING_COLUMNS, fleet
from spark_jobs.show.status import Statuses, in_order
from spark_jobs.store.location import Location
from spark_jobs.store.read.delta import DeltaTables
from spark_jobs.store.read.stored import Filter, rows
from tests.explain.rows import STEP, at, finding
from tests.published import publish_hours
from tests.stored import write

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
        "lag_quality": "MEASURED",
        "unknown_queues": 0,
        "oldest_message_ms": None,
        "in_rate": 1234.5678,
        "out_rate": 0.04,
        "utilisation": 0.154,
        "busiest_utilisation": 1.566,
        "busiest_limit": "LISTENER",
        "headroom": 12.34,
        "catches_up": True,
        "catch_up_seconds": 0.0,
        "retention_left_seconds": None,
        "limit": "NO_BACKLOG",
        "advice": "Nothing to help.",
        "rules": [{"rule": "GROUP_OFFLINE", "findings": 2}, {"rule": "UNOBSERVED", "findings": 1}],
        "stranded": None,
        "worst": None,
    } | values


UNKNOWN = dict.fromkeys(
    (
        *("members", "idle_members", "queues", "backlog_start", "backlog_end", "oldest_message_ms", "in_rate"),
        *("out_rate", "utilisation", "busiest_utilisation", "busiest_limit", "headroom"),
        *("catches_up", "catch_up_seconds", "retention_left_seconds"),
    )
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
    hostile = group("[red]:bomb:\x1b[2J\u202e", None, **UNKNOWN, step_start=OLD, unknown_queues=7, rules=None)
    waits: dict[str, Any] = {"catch_up_seconds": 5400.0, "retention_left_seconds": 172_800.0}
    plain = group("g", "ERROR", oldest_message_ms=90_500, stranded=11_767, lag_quality="UNFILTERED", **waits)
    assert shown(Console(file=io.StringIO(), width=40), plain, hostile) == [
        "ERROR cluster=eu group=g step=2026-11-21T02:00Z findings=1234 rules=GROUP_OFFLINE,UNOBSERVED members=3 "
        "queues=1,010/4/2 backlog=12 → 0 unfiltered caught_up_in=1 h 30 min deleted_in=2 d 00 h "
        "unknown_queues=0 stranded=11767 "
        "oldest=1 min 30 s in=1,234.6/s out=0.0/s "
        "utilisation=15 % (busiest 157 % of its LISTENER) headroom=12.3/s limit=NO_BACKLOG advice: Nothing to help.",
        "- cluster=eu group=[red]:bomb:\\x1b[2J\\u202e step=2026-11-20T02:00Z (old) findings=1234 rules=- "
        "members=unknown queues=unknown backlog=unknown caught_up_in=unknown deleted_in=unknown unknown_queues=7 "
        "oldest=unknown in=unknown/s out=unknown/s utilisation=unknown limit=NO_BACKLOG "
        "advice: Nothing to help.",
        "2 groups; the newest step began at 2026-11-21T02:00Z.",
    ]
    assert shown(Console(file=io.StringIO())) == ["0 groups; the newest step began at 2026-11-21T02:00Z."]


RULES = ("DOUBLE_OWNED_QUEUE", "DUPLICATE_CLIENT_ID", "UNASSIGNED_QUEUE", "REDELIVERY_EXPOSURE", "UNOBSERVED")
MANY = group(
    "stranded-service",
    "ERROR",
    2_724,
    backlog_start=2_419,
    unknown_queues=2,
    stranded=11_767,
    lag_quality="UNFILTERED",
    rules=[{"rule": rule, "findings": 1} for rule in RULES],
)


def on_terminal(width: int, *groups: dict[str, Any]) -> list[str]:
    return shown(Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None), *groups)


def test_groups_are_a_table_on_a_terminal() -> None:
    hostile = group("[red]:bomb:\x1b[2J", "WARN", None, step_start=OLD, unknown_queues=7, backlog_start=None)
    lines = on_terminal(140, group("<script>", "ERROR"), hostile, group("g" * 255))
    rows = [line.split() for line in lines]
    assert rows[0] == ["Newest", "step", "of", "every", "group", "(UTC)"]
    assert ["ERROR", "<script>", "3", "1,010/4/2", "12", "→", "0", "no", "backlog", "1,234.6", "157", "%", "-"] in rows
    assert ["GROUP_OFFLINE", "×", "2", "1", "0.0", "12.3", "0", "s"] in rows
    worst, unread = (
        ["WARN", "[red]:bomb:\\x1b[2J", "3", "1,010/4/2"],
        ["unknown", "no", "backlog", "1,234.6", "157", "%", "unknown"],
    )
    assert [*worst, *unread] in rows
    assert any(row[:2] == ["2026-11-20T02:00Z", "(old)"] for row in rows)
    assert not any("(old)" in line and "2026-11-21" in line for line in lines)
    assert "".join(lines).count("g" * 20) > 5
    assert max(map(len, lines)) <= 140


@pytest.mark.parametrize(("width", "with_rates"), [(80, False), (100, False), (160, True)])
def test_rules_and_stranded_messages_fit_in_their_columns(width: int, with_rates: bool) -> None:
    """A group has five lines, and no word is broken."""
    lines = on_terminal(width, MANY, MANY | {"consumer_group": "other"})
    first = next(place for place, line in enumerate(lines) if "stranded-service" in line)
    told = [" ".join(line.split()) for line in lines[first : first + 6]]
    assert [line.split("3 1,010")[0].strip() for line in told[:1]] == ["ERROR stranded-service"]
    assert [line.split()[0] for line in told[1:4]] == list(RULES[:3])
    assert told[4] == "and 2 more"
    assert set(told[5]) == {"─"}
    whole = " ".join(told)
    for text in ("2,419 → 2,724", "11,767 stranded", "2 queues unknown"):
        assert text in whole
    assert ("1,234.6" in whole) is with_rates
    assert max(map(len, lines)) <= width


def test_the_advice_of_one_group_is_below_its_row() -> None:
    assert "Would more consumers have helped? Nothing to help." in on_terminal(80, MANY)
    assert not any("Nothing to help." in line for line in on_terminal(80, MANY, group("g")))


def found(group: str, rule: str, severity: str, minutes: tuple[int, int], **values: Any) -> dict[str, Any]:
    """A finding of these minutes after ten."""
    start, end = (at(60 * minute) for minute in minutes)
    named = {"rule": rule, "severity": severity, "subject": rule, "cause": "C", "finding_id": f"{group}{rule}{minutes}"}
    evidence = {"backlog_max": values.pop("most", None), "backlog_end": values.pop("last", None)}
    times = {"start": start, "end": end, "step_start": at(0)}
    return finding(consumer_group=group, **named, **times, cluster="c", evidence=evidence) | values


def test_groups_come_in_the_order_of_the_report_with_what_was_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """More errors before a higher backlog; the newest step alone counts; what is muted, and the end of the recording,
    are no reason to look.
    """
    for name in ("few", "many", "quiet", "muted"):
        publish_hours(tmp_path, [0], group=name)
    write(
        tmp_path,
        FINDINGS,
        [
            found("few", "STRANDED_WRITE_QUEUES", "ERROR", (0, 30), most=900, last=800),
            found("few", "STRANDED_WRITE_QUEUES", "ERROR", (0, 30), last=50, topic="t2"),
            found("many", "UNASSIGNED_QUEUE", "ERROR", (10, 20), most=5),
            found("many", "UNASSIGNED_QUEUE", "ERROR", (30, 40), most=5, subject="other"),
            found("many", "DUPLICATE_CLIENT_ID", "ERROR", (10, 20)),
            found("many", "GROUP_OFFLINE", "ERROR", (-60, 0), step_start=at(-3600)),
            found("quiet", "UNOBSERVED", "INFO", (27, 60)),
            found("muted", "GROUP_OFFLINE", "ERROR", (0, 60), muted="known"),
        ],
    )
    versions = {table.name: DeltaTable(tmp_path / table.name).version() for table in (FINDINGS, GROUP_STATUS)}
    stored = DeltaTables(Location.parse(str(tmp_path)))
    run = rows(stored.read(AUDIT_RUNS, AUDIT_RUNS.columns))[-1]
    write(tmp_path, AUDIT_RUNS, [run | {"published_versions": versions, "finished_at": at(9 * 3600)}])

    assert main(["status", "--warehouse", str(tmp_path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["groups"]
    assert [(one["consumer_group"], one["errors"], one["piled_up"], one["stranded"]) for one in told] == [
        *(("many", 3, 5, None), ("few", 2, 900, 850), ("quiet", 0, None, None), ("muted", None, None, None))
    ]
    assert told[0]["rules"] == [
        {"rule": "DUPLICATE_CLIENT_ID", "findings": 1},
        {"rule": "UNASSIGNED_QUEUE", "findings": 2},
    ]
    of_step = stored.read(FINDINGS, FINDING_COLUMNS, [Filter("step_start", "=", at(0))])
    report = fleet(told, rows(of_step), (), STEP)
    assert [one["consumer_group"] for one in report] == [one["consumer_group"] for one in told]

    # The middle of the first of the worst: 10:10 to 10:20.
    assert main(["status", "--warehouse", str(tmp_path)]) == 0
    assert capsys.readouterr().err.endswith(
        f"Next: rebalance-audit explain --warehouse {tmp_path} --group many --cluster c --at 2026-03-01T10:15Z\n"
    )
    # Of the quiet group nothing is known at the end of the recording.
    assert main(["status", "--warehouse", str(tmp_path), "--group", "quiet"]) == 0
    assert capsys.readouterr().err.endswith(
        f"Next: rebalance-audit incidents --warehouse {tmp_path} --group quiet --cluster c\n"
    )
