"""Messages that POP delivers again, as a recorder sees them: only offsets, in topics that no member shares."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from schemas import (
    CLIENT_SNAPSHOTS,
    FINDINGS,
    GROUP_STATUS,
    OFFSET_SNAPSHOTS,
    QUEUE_PROGRESS,
    REBALANCE_INTERVALS,
    Table,
)
from tests.support.kernel import published
from tests.support.snapshots import client, healthy_group, offsets
from tests.support.times import HOUR, naive

TIMES = range(0, 3600, 20)
REVIVE, BROKERS = "rmq_sys_REVIVE_LOG_Main", "CID_RMQ_SYS_REVIVE_GROUP"
RETRY = "%RETRY%g+t"
Rows = dict[Table, list[dict[str, Any]]]


def revive(moving: Iterable[int]) -> list[dict[str, Any]]:
    """Each of two queues gets 33 entries every 20 s, of which the last one is an acknowledgement; the first queue has
    a thread that works in these seconds only.
    """
    rows, to, stored = [], 32, 0
    for second in TIMES:
        end = 33 + 33 * (second // 20)
        to, stored = (end - 2, second) if second in moving else (to, stored)
        rows.append((second, (end, to, 1_000_000 + stored * 1000), (end, end - 2, 1_000_000 + second * 1000)))
    return [offsets(second, *queues, topic=REVIVE, group=BROKERS) for second, *queues in rows]


def popping(per_sample: int) -> Rows:
    """A healthy group that consumes 100 messages every 20 s, so many of them for a second time."""
    rows = healthy_group(TIMES, "c1", queues=1)
    consumed = [offsets(second, (100 + 5 * second, 100 + 5 * second, 1)) for second in TIMES]
    came = {second: 7 + per_sample * second // 20 for second in TIMES}
    again = [offsets(second, (count, count, 1), topic=RETRY) for second, count in came.items()]
    return rows | {OFFSET_SNAPSHOTS: consumed + again}


def found(rows: Rows) -> list[tuple[Any, ...]]:
    names = ("consumer_group", "rule", "severity", "topic", "subject")
    return [tuple(row[name] for name in names) for row in published(rows, HOUR)[FINDINGS]]


def test_brokers_that_revive_are_in_no_table() -> None:
    assert [rows for rows in published({OFFSET_SNAPSHOTS: revive(TIMES)}, HOUR).values() if rows] == []


def test_of_a_broker_that_revives_nothing_more_only_that_is_said() -> None:
    """Its thread last worked at 1200 s, and once more at 3000 s."""
    tables = published({OFFSET_SNAPSHOTS: revive([*range(0, 1201, 20), 3000])}, HOUR)
    (first, then) = tables[FINDINGS]
    assert {table.name for table, rows in tables.items() if rows} == {FINDINGS.name}
    for finding, start, end in ((first, 1200, 2980), (then, 3000, 3580)):
        names = ("consumer_group", "rule", "severity", "topic", "subject", "cause")
        said = (BROKERS, "POP_REVIVE_STUCK", "ERROR", REVIVE, "b:0", "REVIVE_STANDS")
        assert tuple(finding[name] for name in names) == said
        assert (finding["started_at"], finding["ended_at"]) == (naive(start), naive(end))
    assert first["evidence"]["backlog_end"] == 2906  # the last sample counts no more: 88 × 33 + 2 at 2960 s


def test_a_pop_group_that_gets_messages_again_has_no_queues_of_the_retry_topic() -> None:
    rows = popping(20)
    tables = published(rows, HOUR)
    assert found(rows) == [("g", "POP_REDELIVERING", "WARN", "t", "b:0")]
    assert {row["topic"] for row in tables[REBALANCE_INTERVALS]} == {"t"}
    assert {row["topic"] for row in tables[QUEUE_PROGRESS]} == {"t"}
    assert [row["backlog_end"] for row in tables[GROUP_STATUS]] == [0]
    assert found(popping(1)) == []


def test_where_listeners_reject_messages_that_is_why() -> None:
    status = {"topic": "t", "consume_rt_ms": 1.0, "consume_ok_tps": 4.0, "consume_failed_tps": 1.0}
    told = [client(second, consume_status=[status]) for second in TIMES]
    findings = {row["rule"]: row for row in published(popping(20) | {CLIENT_SNAPSHOTS: told}, HOUR)[FINDINGS]}
    assert findings.keys() == {"CONSUME_FAILING", "POP_REDELIVERING"}
    assert findings["POP_REDELIVERING"]["root_finding_id"] == findings["CONSUME_FAILING"]["finding_id"]
