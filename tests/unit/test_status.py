"""The newest step of every group: which it is, in what order, and what a person sees of it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from schemas import AUDIT_RUNS, FINDINGS, GROUP_STATUS, REBALANCE_INTERVALS
from spark_jobs.cli.show_status import ORDERS, show_group, show_statuses
from spark_jobs.show.fleet import FINDING_COLUMNS, fleet
from spark_jobs.show.status import Statuses, in_order
from spark_jobs.store.read.delta import delta_tables
from spark_jobs.store.read.stored import Filter, rows
from tests.support.commands import Typed
from tests.support.consoles import shown
from tests.support.published import publish_hours
from tests.support.rows import finding
from tests.support.stored import write
from tests.support.times import at

NEW, OLD = datetime(2026, 11, 21, 2, tzinfo=UTC), datetime(2026, 11, 20, 2, tzinfo=UTC)


def group(name: str, severity: str | None = None, backlog: int | None = 0, **values: Any) -> dict[str, Any]:
    return (
        {"cluster": "eu", "consumer_group": name, "step_start": NEW, "worst_severity": severity}
        | {"finding_count": 1234, "member_count": 3, "idle_members": 1, "queue_count": 1016}
        | {"queues_with_one_owner": 1010, "double_owned_queues": 4, "unassigned_queues": 2, "backlog_start": 12}
        | {"backlog_end": backlog, "lag_quality": "MEASURED", "unknown_queues": 0, "oldest_message_ms": None}
        | {"produced_messages_per_second": 1234.5678, "consumed_messages_per_second": 0.04, "utilization": 0.154}
        | {"busiest_utilization": 1.566, "busiest_bottleneck": "LISTENER", "headroom_messages_per_second": 12.34}
        | {"catches_up": True, "catch_up_seconds": 0.0, "retention_left_seconds": None}
        | {"bottleneck": "NO_BACKLOG", "advice": "Nothing to help."}
        | {"rules": [{"rule": "GROUP_OFFLINE", "findings": 2}, {"rule": "UNOBSERVED", "findings": 1}]}
        | {"stranded": None, "worst": None, "deleted_at": None, "deleted_topics": None}
    ) | values


_UNKNOWN = """
    member_count idle_members queue_count backlog_start backlog_end oldest_message_ms produced_messages_per_second
    consumed_messages_per_second utilization busiest_utilization busiest_bottleneck headroom_messages_per_second
    catches_up catch_up_seconds retention_left_seconds
"""
UNKNOWN = dict.fromkeys(_UNKNOWN.split())


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


def lines_of(*groups: dict[str, Any], every: bool = False) -> list[str]:
    return shown(lambda console: show_statuses(console, Statuses(NEW, [*groups]), every=every))


def on_terminal(width: int, *groups: dict[str, Any]) -> list[str]:
    return shown(lambda console: show_statuses(console, Statuses(NEW, [*groups])), width, on_terminal=True)


def paragraphs(*groups: dict[str, Any]) -> list[str]:
    return shown(lambda console: show_group(console, Statuses(NEW, [*groups])), 40)


def worst(rule: str, start: datetime, minutes: int) -> dict[str, Any]:
    end = start + timedelta(minutes=minutes)
    return {"rule": rule, "severity": "ERROR", "started_at": start, "ended_at": end, "is_over": False}


LATER = NEW + timedelta(minutes=5, seconds=6, milliseconds=789)
DUPLICATE = worst("DUPLICATE_CLIENT_ID", LATER, 12)


def test_groups_are_lines_where_nobody_watches() -> None:
    """A group with a warning has one; of the others those that are not known to be well are counted apart."""
    since = worst("UNASSIGNED_QUEUE", NEW, 60) | {"severity": "WARN"}
    hostile = group("[red]:bomb:\x1b[2J\u202e", "WARN", None, **UNKNOWN, step_start=OLD, worst=since, cluster="us")
    calm = (
        *(group("a"), group("b"), group("c", "INFO"), group("d", queue_count=None)),
        *(group("e", step_start=OLD), group("f", "INFO", step_start=OLD)),
    )
    plain = group("g", "ERROR", 700, worst=DUPLICATE | {"is_over": True})
    assert lines_of(plain, hostile, *calm) == [
        "ERROR DUPLICATE_CLIENT_ID cluster=eu group=g step=2026-11-21T02:00Z since=2026-11-21T02:05:06Z "
        "(12 min 00 s, over) 3 members, queues: 1,010 with one owner, 4 with several, 2 without, backlog 700 (+688), "
        "bottleneck: no backlog",
        "WARN UNASSIGNED_QUEUE cluster=us group=[red]:bomb:\\x1b[2J\\u202e step=2026-11-20T02:00Z "
        "since=2026-11-21T02:00Z (1 h 00 min, open) unknown members, queues: unknown, "
        "backlog unknown (unknown), "
        "bottleneck: no backlog",
        "8 groups; newest step 2026-11-21T02:00Z: 1 with warnings or errors, "
        "1 with warnings or errors that are over, 2 not in that step, "
        "1 with unknown owners, 1 with INFO only, 2 without findings; --all shows them",
    ]
    assert lines_of(group("a"), every=True) == [
        "- - group=a 3 members, queues: 1,010 with one owner, 4 with several, 2 without, backlog 0 (-12), "
        "bottleneck: no backlog",
        "1 group; newest step 2026-11-21T02:00Z: 1 without findings",
    ]
    assert lines_of() == ["0 groups; newest step 2026-11-21T02:00Z: none"]


def test_a_group_that_is_deleted_needs_no_attention() -> None:
    deleted = group("gone", "ERROR", 700, worst=DUPLICATE, step_start=OLD, deleted_at=LATER)
    assert lines_of(deleted, group("b")) == [
        "2 groups; newest step 2026-11-21T02:00Z: 1 without findings, 1 deleted; --all shows them"
    ]


def test_what_may_have_begun_before_the_step() -> None:
    (line, _) = lines_of(group("g", "ERROR", worst=worst("UNASSIGNED_QUEUE", NEW, 60)))
    assert " since=2026-11-21T02:00Z or earlier (1 h 00 min, open) " in line
    assert any("≤ 11-21 02:00" in line for line in on_terminal(160, group("g", "ERROR", worst=worst("R", NEW, 60))))


@pytest.mark.parametrize(
    ("values", "backlog"),
    [
        ({}, "backlog 7 (-5)"),
        ({"unknown_queues": 2}, "backlog ≥ 7 (-5)"),
        ({"lag_quality": "UNFILTERED"}, "backlog ≤ 7 (-5)"),
        ({"lag_quality": "UNFILTERED", "unknown_queues": 2}, "backlog ~ 7 (-5)"),
        ({"backlog_is_minimum": True}, "backlog ≥ 7 (-5)"),
        ({"backlog_start": None}, "backlog 7 (unknown)"),
    ],
)
def test_a_backlog_that_is_not_exact_says_so(values: dict[str, Any], backlog: str) -> None:
    assert f" {backlog}," in lines_of(group("g", "ERROR", 7, worst=DUPLICATE, **values))[0]


SINCE, LASTED, MEMBERS, OWNED = ["11-21", "02:05"], ["12", "min", "00", "s"], ["3"], ["1,010/4/2"]


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (66, ["2,724"]),
        (80, [*OWNED, "2,724"]),
        (116, [*SINCE, *OWNED, "2,724", "+2,712", "no", "backlog"]),
        (160, [*SINCE, *LASTED, *MEMBERS, *OWNED, "2,724", "+2,712", "no", "backlog", "157", "%"]),
    ],
)
def test_a_group_is_one_line_of_a_table(width: int, shown: list[str]) -> None:
    """Rule and group come before numbers; what a terminal has no room for is left out, and no word is broken."""
    rows = [line.split() for line in on_terminal(width, group("payment-service", "ERROR", 2_724, worst=DUPLICATE))]
    assert ["ERROR", "open", "DUPLICATE_CLIENT_ID", "payment-service", *shown] in rows
    assert len(rows) == (8 if OWNED[0] in shown else 7)


def test_the_peak_of_the_step_is_shown_where_it_is_known_and_sorts() -> None:
    """A step that an older version audited has none."""
    values = {"backlog_max": 3_000, "backlog_max_at": datetime(2026, 11, 21, 2, 14, 5, 600_000, tzinfo=UTC)}
    known, old = group("g", "ERROR", 7, worst=DUPLICATE, **values), group("h", "ERROR", 9, worst=DUPLICATE)
    shown = lines_of(known, old)
    assert "backlog 7 (-5), peak 3,000, bottleneck" in shown[0]
    assert "backlog 9 (-3), peak unknown, bottleneck" in shown[1]
    assert "2,724 +2,712 3,000 no backlog" in " ".join(
        " ".join(line.split()) for line in on_terminal(160, known | {"backlog_end": 2_724})
    )
    assert any("12 → 7, peak 3,000 at 2026-11-21T02:14:05Z" in line for line in paragraphs(known))
    assert sorted([old, known], key=ORDERS["peak-backlog"], reverse=True) == [known, old]


def test_names_on_a_terminal_are_whole_and_inert() -> None:
    hostile = group("[red]:bomb:\x1b[2J", "WARN", worst=DUPLICATE, step_start=OLD)
    lines = on_terminal(160, group("<script>", "ERROR", worst=DUPLICATE), hostile, group("g" * 255, "WARN"))
    assert any("[red]:bomb:\\x1b[2J" in line and "11-20 02:00" in line for line in lines)
    assert sum(line.count("g") for line in lines) >= 255
    assert max(map(len, lines[:-1])) <= 160


def test_the_utilization_of_none_is_known() -> None:
    assert not any("busiest" in line for line in on_terminal(160, group("g", "ERROR", **UNKNOWN)))


RULES = ("DOUBLE_OWNED_QUEUE", "DUPLICATE_CLIENT_ID", "UNASSIGNED_QUEUE", "REDELIVERY_EXPOSURE")


def test_one_group_is_a_paragraph() -> None:
    waits: dict[str, Any] = {"catch_up_seconds": 5400.0, "retention_left_seconds": 172_800.0, "unknown_queues": 2}
    rules = [{"rule": rule, "findings": number} for number, rule in enumerate(RULES, start=1)]
    known = {"oldest_message_ms": 90_500, "stranded": 11_767, "lag_quality": "UNFILTERED", "rules": rules} | waits
    unknown = group("\x1b[2J", **UNKNOWN, step_start=OLD, rules=None)
    assert paragraphs(group("g", "ERROR", 2_724, **known), unknown) == [
        "ERROR g (cluster eu), step 2026-11-21T02:00Z",
        "  findings        DOUBLE_OWNED_QUEUE, DUPLICATE_CLIENT_ID × 2, UNASSIGNED_QUEUE × 3, REDELIVERY_EXPOSURE × 4",
        "  members         3, 1 idle",
        "  queues          1,010 with one owner, 4 with several, 2 without",
        "  backlog         12 → 2,724, with the messages that the subscription skips (unfiltered), 11,767 stranded, "
        "2 queues unknown",
        "  oldest message  1 min 30 s",
        "  caught up in    1 h 30 min",
        "  deleted in      2 d 00 h",
        "  rates           1,234.6/s in, 0.0/s out",
        "  utilization     15 % (busiest 157 % of its LISTENER), headroom 12.3/s",
        "  bottleneck      no backlog",
        "  more consumers? Nothing to help.",
        "- \\x1b[2J (cluster eu), step 2026-11-20T02:00Z (old)",
        "  findings        -",
        "  members         unknown",
        "  queues          unknown",
        "  backlog         unknown",
        "  oldest message  unknown",
        "  caught up in    unknown",
        "  deleted in      unknown",
        "  rates           unknown/s in, unknown/s out",
        "  utilization     unknown",
        "  bottleneck      no backlog",
        "  more consumers? Nothing to help.",
    ]


def test_what_was_deleted_stands_in_the_paragraph() -> None:
    topics = [{"topic": "t", "deleted_at": NEW}, {"topic": "u", "deleted_at": LATER}]
    lines = paragraphs(group("g", deleted_at=LATER), group("h", deleted_topics=topics))
    assert [line for line in lines if "any more" in line] == [
        "  group deleted   2026-11-21T02:05:06.789Z: no broker listed it any more",
        "  topic deleted   t, 2026-11-21T02:00Z: no broker had it any more",
        "  topic deleted   u, 2026-11-21T02:05:06.789Z: no broker had it any more",
    ]


def test_a_group_that_was_deleted_is_the_last(tmp_path: Path, typed: Typed) -> None:
    """Its errors would be in its newest step for ever."""
    publish_hours(tmp_path, [0], offline=[0], group="a", deleted_at=1800)
    publish_hours(tmp_path, [0, 1], group="b")
    groups = typed("status --json", warehouse=tmp_path, code=2).document["groups"]
    expected = [("b", None), ("a", "2026-03-01T10:30:00Z")]
    assert [(row["consumer_group"], row["deleted_at"]) for row in groups] == expected


@pytest.mark.parametrize(("order", "expected"), [("severity", "abcd"), ("backlog", "bdac"), ("utilization", "dabc")])
def test_the_order_of_groups(order: str, expected: str) -> None:
    """The greatest first, what is unknown last, equal ones as they were."""
    groups = [
        group("a", "ERROR", 0, busiest_utilization=0.5),
        group("b", "WARN", 9, busiest_utilization=0.5),
        group("c", "WARN", None, busiest_utilization=None),
        group("d", "INFO", 8, busiest_utilization=0.6),
    ]
    assert "".join(row["consumer_group"] for row in sorted(groups, key=ORDERS[order], reverse=True)) == expected


def published_finding(group: str, rule: str, severity: str, minutes: tuple[int, int], **values: Any) -> dict[str, Any]:
    """A finding of these minutes after ten."""
    start, end = (at(60 * minute) for minute in minutes)
    named = {"rule": rule, "severity": severity, "subject": rule, "cause": "C", "finding_id": f"{group}{rule}{minutes}"}
    evidence = {"backlog_max": values.pop("most", None), "backlog_end": values.pop("last", None)}
    times = {"started_at": start, "ended_at": end, "step_start": at(0)}
    return finding(consumer_group=group, **named, **times, cluster="c", evidence=evidence) | values


def test_groups_come_in_the_order_of_the_report_with_their_findings(tmp_path: Path, typed: Typed) -> None:
    """What is open before what is over, more errors before a higher backlog; the newest step alone counts; what is
    muted, and the end of the recording, are no reason to look. Root causes are named.
    """
    peaks = {"few": 900, "many": 5}
    for name in ("few", "many", "twice", "quiet", "muted", "open"):
        publish_hours(tmp_path, [0], group=name, backlog_max=peaks.get(name))
    write(
        tmp_path,
        FINDINGS,
        [
            published_finding("few", "STRANDED_WRITE_QUEUES", "ERROR", (0, 30), most=900, last=800),
            published_finding("few", "STRANDED_WRITE_QUEUES", "ERROR", (0, 30), last=50, topic="t2"),
            published_finding("many", "UNASSIGNED_QUEUE", "ERROR", (10, 20), most=5),
            published_finding("many", "UNASSIGNED_QUEUE", "ERROR", (30, 40), most=5, subject="other"),
            published_finding("many", "DUPLICATE_CLIENT_ID", "ERROR", (10, 20), finding_id="root"),
            published_finding("many", "ALLOCATION_DRIFT", "ERROR", (10, 20), most=5, root_finding_id="root"),
            published_finding("open", "CONSUMER_LAGGING", "WARN", (40, 50)),
            published_finding("open", "UNOBSERVED", "INFO", (50, 60)),
            published_finding("open", "GROUP_OFFLINE", "ERROR", (0, 30)),
            published_finding("many", "GROUP_OFFLINE", "ERROR", (-60, 0), step_start=at(-3600)),
            published_finding("twice", "UNASSIGNED_QUEUE", "WARN", (1, 3)),
            published_finding("twice", "UNASSIGNED_QUEUE", "WARN", (2, 5), topic="t2"),
            published_finding("twice", "UNASSIGNED_QUEUE", "WARN", (15, 16)),
            published_finding("quiet", "UNOBSERVED", "INFO", (27, 60)),
            published_finding("muted", "GROUP_OFFLINE", "ERROR", (0, 60), silenced_because="known"),
        ],
    )
    written = (FINDINGS, GROUP_STATUS, REBALANCE_INTERVALS)
    versions = {table.name: DeltaTable(tmp_path / table.name).version() for table in written}
    stored = delta_tables(str(tmp_path))
    run = rows(stored.read(AUDIT_RUNS, AUDIT_RUNS.columns))[-1]
    write(tmp_path, AUDIT_RUNS, [run | {"published_versions": versions, "finished_at": at(9 * 3600)}])

    groups = typed("status --json", warehouse=tmp_path, code=2).document["groups"]
    assert [
        (row["consumer_group"], row["errors"], row["peak_backlog_messages"], row["stranded"]) for row in groups
    ] == [
        *(("open", 1, None, None), ("many", 4, 5, None), ("few", 2, 900, 850)),
        *(("twice", 0, None, None), ("quiet", 0, None, None), ("muted", None, None, None)),
    ]
    assert [(row["worst"]["rule"], row["worst"]["severity"], row["worst"]["is_over"]) for row in groups[:3]] == [
        ("CONSUMER_LAGGING", "WARN", False),
        ("DUPLICATE_CLIENT_ID", "ERROR", True),
        ("STRANDED_WRITE_QUEUES", "ERROR", True),
    ]
    # Both topics of the first time, and not the second time.
    assert groups[3]["worst"]["started_at"] == "2026-03-01T10:01:00Z"
    assert groups[3]["worst"]["ended_at"] == "2026-03-01T10:05:00Z"
    assert groups[1]["rules"] == [
        {"rule": "DUPLICATE_CLIENT_ID", "findings": 1},
        {"rule": "UNASSIGNED_QUEUE", "findings": 2},
        {"rule": "ALLOCATION_DRIFT", "findings": 1},
    ]
    of_step = stored.read(FINDINGS, FINDING_COLUMNS, [Filter("step_start", "=", at(0))])
    report = fleet(groups, rows(of_step), {})
    assert [row["consumer_group"] for row in report] == ["many", "few", "open", "twice", "quiet", "muted"]

    # The middle of the worst that is open: 10:40 to 10:50.
    assert typed("status", warehouse=tmp_path, code=2).err.endswith(
        f"Next: rebalance-audit explain --warehouse {tmp_path} --group open --cluster c --at 2026-03-01T10:45Z\n"
    )
    # Of the quiet group nothing is known at the end of the recording.
    assert typed("status --group quiet", warehouse=tmp_path, code=2).err.endswith(
        f"Next: rebalance-audit incidents --warehouse {tmp_path} --group quiet --cluster c\n"
    )
