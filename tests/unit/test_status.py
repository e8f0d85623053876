"""The newest step of every group: which it is, in what order, and what a person sees of it."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from schemas import AUDIT_RUNS, FINDINGS, GROUP_STATUS, REBALANCE_INTERVALS
from spark_jobs.cli.commands.status import show_group
from spark_jobs.cli.show_status import ORDERS, show_statuses
from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.model.window import to_micros
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
from tests.unit.test_incidents import incident

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
        | {"stranded": None, "deleted_at": None, "deleted_topics": None}
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


LATER = NEW + timedelta(minutes=5, seconds=6, milliseconds=789)


def since(moment: datetime, minutes: int, *, is_open: bool = True, **values: Any) -> Incident:
    """An incident that lasted so long, as a group has it."""
    start, end = to_micros(moment), to_micros(moment + timedelta(minutes=minutes))
    times = {"opened_at": start, "last_seen_at": end, "resolved_at": None if is_open else end}
    return incident(**times | {"rule": "DUPLICATE_CLIENT_ID", "headline": "Two share an id"} | values)


#: The incidents of groups by name: two that were over, and are open, after five minutes of the step.
OVER, OPEN = since(LATER, 12, is_open=False), since(LATER, 12)


def statuses(groups: Iterable[dict[str, Any]], incidents: Mapping[str, list[Incident]]) -> Statuses:
    rows = [*groups]
    found = {(row["cluster"], name): incidents[name] for row in rows if (name := row["consumer_group"]) in incidents}
    return Statuses(NEW, rows, incidents=found)


def lines_of(*groups: dict[str, Any], every: bool = False, **incidents: list[Incident]) -> list[str]:
    return shown(lambda console: show_statuses(console, statuses(groups, incidents), every=every))


def on_terminal(width: int, *groups: dict[str, Any], **incidents: list[Incident]) -> list[str]:
    return shown(lambda console: show_statuses(console, statuses(groups, incidents)), width, on_terminal=True)


def paragraphs(*groups: dict[str, Any], **incidents: list[Incident]) -> list[str]:
    return shown(lambda console: show_group(console, statuses(groups, incidents)), 40)


def test_groups_are_lines_where_nobody_watches() -> None:
    """A group with a warning has one; of the others those that are not known to be well are counted apart."""
    name = "[red]:bomb:\x1b[2J\u202e"
    hostile = group(name, "WARN", None, **UNKNOWN, step_start=OLD, cluster="us")
    calm = (
        *(group("a"), group("b"), group("c", "INFO"), group("d", queue_count=None)),
        *(group("e", step_start=OLD), group("f", "INFO", step_start=OLD)),
    )
    found: dict[str, Any] = {"g": [OVER], name: [since(NEW, 60, severity="WARN", rule="UNASSIGNED_QUEUE")]}
    assert lines_of(group("g", "ERROR", 700), hostile, *calm, **found) == [
        "ERROR DUPLICATE_CLIENT_ID cluster=eu group=g step=2026-11-21T02:00Z since=2026-11-21T02:05:06Z "
        "(12 min 00 s, over) 3 members, queues: 1,010 with one owner, 4 with several owners, 2 with no owner, "
        "backlog 700 (+688), peak unknown id=01234567 Two share an id",
        "WARN UNASSIGNED_QUEUE cluster=us group=[red]:bomb:\\x1b[2J\\u202e step=2026-11-20T02:00Z "
        "since=2026-11-21T02:00Z (1 h 00 min, open) unknown members, queues: unknown, "
        "backlog unknown (unknown), peak unknown id=01234567 Two share an id",
        "8 groups; newest step 2026-11-21T02:00Z: 1 with warnings or errors, "
        "1 with warnings or errors that are over, 2 not in that step, "
        "1 with unknown owners, 1 with INFO only, 2 without findings; --all shows them",
    ]
    assert lines_of(group("a"), every=True) == [
        "- - group=a 3 members, queues: 1,010 with one owner, 4 with several owners, 2 with no owner, "
        "backlog 0 (-12), peak unknown",
        "1 group; newest step 2026-11-21T02:00Z: 1 without findings",
    ]
    assert lines_of() == ["0 groups; newest step 2026-11-21T02:00Z: none"]


def test_a_group_that_is_deleted_needs_no_attention() -> None:
    deleted = group("gone", "ERROR", 700, step_start=OLD, deleted_at=LATER)
    assert lines_of(deleted, group("b"), gone=[OPEN]) == [
        "2 groups; newest step 2026-11-21T02:00Z: 1 without findings, 1 deleted; --all shows them"
    ]


def test_a_group_is_not_over_while_another_of_its_incidents_is_open() -> None:
    """Its line is about the worst one, and says that there are more."""
    found: dict[str, Any] = {
        "g": [OVER, since(NEW, 60, severity="WARN"), since(NEW, 9, severity="WARN", is_open=False)]
    }
    assert lines_of(group("g", "ERROR"), **found)[-1].endswith(": 1 with warnings or errors")
    rows = [line.split()[:11] for line in on_terminal(80, group("g", "ERROR"), **found)]
    assert ["ERROR", "g", "Two", "share", "an", "id", "over,", "12", "min", "00", "s"] in rows
    assert ["1", "more", "open"] in rows


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
    assert f" {backlog}," in lines_of(group("g", "ERROR", 7, **values), g=[OPEN])[0]


@pytest.mark.parametrize(
    ("width", "more"),
    [
        (95, ["2,724"]),
        (122, ["2,724", "3,000", "2", "4"]),
        (163, ["2,724", "3,000", "2", "4", "11-21", "02:05", "No:", "all", "wait."]),
        (194, ["2,724", "3,000", "2", "4", "11-21", "02:05", "No:", "all", "wait.", "3", "157", "%", "CLIENT_HUNG"]),
    ],
)
def test_a_group_is_a_row_of_a_table(width: int, more: list[str]) -> None:
    """Its name and its sentence come first; the rule is the last, and the first that a terminal has no room for."""
    known = group("payment-service", "ERROR", 2_724, backlog_max=3_000, advice="No: all wait. Look at them.")
    sentence = "Two of payment-service share a client id"
    found = {"payment-service": [since(LATER, 12, rule="CLIENT_HUNG", headline=sentence)]}
    lines = on_terminal(width, known, **found)
    rows = [line.split() for line in lines]
    assert ["ERROR", "payment-service", *sentence.split(), "open,", "12", "min", "00", "s", *more] in rows
    assert max(map(len, lines[:-1])) <= width


def test_the_peak_of_the_step_is_shown_where_it_is_known_and_sorts() -> None:
    """A step that an older version audited has none."""
    values = {"backlog_max": 3_000, "backlog_max_at": datetime(2026, 11, 21, 2, 14, 5, 600_000, tzinfo=UTC)}
    known, old = group("g", "ERROR", 7, **values), group("h", "ERROR", 9)
    shown = lines_of(known, old)
    assert "backlog 7 (-5), peak 3,000" in shown[0]
    assert "backlog 9 (-3), peak unknown" in shown[1]
    assert any("7 at its end; highest 3,000 at 2026-11-21T02:14:05Z" in line for line in paragraphs(known))
    assert sorted([old, known], key=ORDERS["peak-backlog"], reverse=True) == [known, old]


def test_names_on_a_terminal_are_whole_and_inert() -> None:
    hostile = group("[red]:bomb:\x1b[2J", "WARN", step_start=OLD)
    lines = on_terminal(160, group("<script>", "ERROR"), hostile, group("g" * 255, "WARN"))
    assert any("[red]:bomb:\\x1b[2J" in line and "11-20 02:00" in line for line in lines)
    assert sum(line.count("g") for line in lines) >= 255
    assert max(map(len, lines[:-1])) <= 160


RULES = ("DOUBLE_OWNED_QUEUE", "DUPLICATE_CLIENT_ID", "UNASSIGNED_QUEUE", "REDELIVERY_EXPOSURE")


def test_one_group_is_a_paragraph() -> None:
    waits: dict[str, Any] = {"catch_up_seconds": 5400.0, "retention_left_seconds": 172_800.0, "unknown_queues": 2}
    rules = [{"rule": rule, "findings": number} for number, rule in enumerate(RULES, start=1)]
    known = {"oldest_message_ms": 90_500, "stranded": 11_767, "lag_quality": "UNFILTERED", "rules": rules} | waits
    unknown = group("\x1b[2J", **UNKNOWN, step_start=OLD, rules=None)
    found = {"g": [OPEN, since(LATER, 12, severity="WARN", is_open=False)]}
    assert paragraphs(group("g", "ERROR", 2_724, **known), unknown, **found) == [
        "ERROR g (cluster eu), step 2026-11-21T02:00Z",
        "  incidents       ERROR open, 12 min 00 s: Two share an id (id 01234567)",
        "                  WARN over, 12 min 00 s: Two share an id (id 01234567)",
        "  findings        DOUBLE_OWNED_QUEUE, DUPLICATE_CLIENT_ID × 2, UNASSIGNED_QUEUE × 3, REDELIVERY_EXPOSURE × 4",
        "  members         3 members, 1 of which own no queue",
        "  queues          1,010 with one owner, 4 with several owners, 2 with no owner",
        "  backlog         12 messages at the beginning of the step, 2,724 at its end; messages that the subscription "
        "skips count, too; 11,767 more in queues that no consumer can read; unknown for 2 queues",
        "  oldest message  had waited 1 min 30 s",
        "  caught up       in 1 h 30 min at its last pace",
        "  deletion        the broker may delete the first waiting message in 2 d 00 h",
        "  rates           1,234.6 messages/s produced, 0.0 messages/s consumed, or skipped by the subscription",
        "  utilization     15 % of what all members can consume; the busiest one does 157 % of what its consume "
        "threads can do; 12.3 more messages/s until it falls behind",
        "  more consumers? Nothing to help. (NO_BACKLOG)",
        "- \\x1b[2J (cluster eu), step 2026-11-20T02:00Z (old)",
        "  findings        -",
        "  members         unknown",
        "  queues          unknown",
        "  backlog         unknown",
        "  oldest message  unknown",
        "  caught up       unknown",
        "  deletion        unknown",
        "  rates           unknown messages/s produced, unknown messages/s consumed",
        "  utilization     unknown",
        "  more consumers? Nothing to help. (NO_BACKLOG)",
    ]


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({}, "caught up       yes"),
        ({"catches_up": False, "catch_up_seconds": None},
         "caught up       never at its last pace: a queue has a backlog that does not shrink"),
        ({}, "deletion        no message waits for long"),
        ({"backlog_start": None}, "backlog         unknown at the beginning of the step, 0 at its end"),
        ({"backlog_start": 1}, "backlog         1 message at the beginning of the step, 0 at its end"),
        ({}, "oldest message  no message waited"),
        ({"idle_members": 0}, "members         3 members"),
        ({"double_owned_queues": 0, "unassigned_queues": 0}, "queues          1,010 with one owner"),
    ],
)  # fmt: skip
def test_a_paragraph_is_of_sentences(values: dict[str, Any], line: str) -> None:
    assert f"  {line}" in paragraphs(group("g", **values))


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


def test_groups_come_in_the_order_of_incidents_with_their_findings(tmp_path: Path, typed: Typed) -> None:
    """An ERROR that is over before a WARN that is open; the newest step alone counts; what is muted, and the end of the
    recording, are no reason to look. `worst` is what is not over. Root causes are named.
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
        *(("many", 4, 5, None), ("open", 1, None, None), ("few", 2, 900, 850)),
        *(("twice", 0, None, None), ("quiet", 0, None, None), ("muted", None, None, None)),
    ]
    assert [(row["worst"]["rule"], row["worst"]["severity"], row["worst"]["is_over"]) for row in groups[:3]] == [
        ("DUPLICATE_CLIENT_ID", "ERROR", True),
        ("CONSUMER_LAGGING", "WARN", False),
        ("STRANDED_WRITE_QUEUES", "ERROR", True),
    ]
    # Both topics of the first time, and not the second time.
    assert groups[3]["worst"]["started_at"] == "2026-03-01T10:01:00Z"
    assert groups[3]["worst"]["ended_at"] == "2026-03-01T10:05:00Z"
    assert groups[0]["rules"] == [
        {"rule": "DUPLICATE_CLIENT_ID", "findings": 1},
        {"rule": "UNASSIGNED_QUEUE", "findings": 2},
        {"rule": "ALLOCATION_DRIFT", "findings": 1},
    ]
    of_step = stored.read(FINDINGS, FINDING_COLUMNS, [Filter("step_start", "=", at(0))])
    report = fleet(groups, rows(of_step), {})
    assert [row["consumer_group"] for row in report] == ["many", "few", "open", "twice", "quiet", "muted"]

    incidents = typed("incidents --json", warehouse=tmp_path, code=1).document["incidents"]
    worst = [incident for incident in incidents if incident["rule"] != "UNOBSERVED"]
    of_groups = [name for incident in worst for name in incident["consumer_groups"]]
    assert [*dict.fromkeys(of_groups)] == ["many", "open", "few", "twice"]
    shown = typed("status", warehouse=tmp_path, code=2)
    assert [line.split()[2] for line in shown.lines[1:5]] == [f"group={name}" for name in dict.fromkeys(of_groups)]
    assert shown.err.endswith(
        f"Next: rebalance-audit incidents --warehouse {tmp_path} --id {worst[0]['incident_id']}\n"
    )
    # Of the quiet group nothing is known at the end of the recording.
    assert typed("status --group quiet", warehouse=tmp_path, code=2).err.endswith(
        f"Next: rebalance-audit incidents --warehouse {tmp_path} --group quiet --cluster c\n"
    )
