"""The findings of a cluster with a proxy name all that was done to it: which groups are offline, and which fail.

`tests/data/proxies.jsonl.gz` has the form of the recording of the project: one broker and one cluster-mode proxy of
RocketMQ 5.4.0, asked every 10 s for eight minutes. The tables are written by hand from its script, by which

- `grpc-service` (topic bills, 8 queues): two gRPC push consumers behind the proxy, in health all the time;
- `direct-service` (bills): two ordinary members, in health all the time;
- `pop-shared` (pops, 8): four POP members, whom the broker gives their queues, in health all the time;
- `dead-service` (slips, 4): its one member leaves 60 s after T0 and never comes back, while production goes on;
- `failing-service` (fails, 4): the listener of its two members rejects 60 % of the messages;
- `CID_DefaultHeartBeatSyncerTopic`: the proxy's own group, whose connections are the proxies.

Times are seconds after T0; `…` is an end of the recording (it begins at T0 + 31, its last snapshots are of T0 + 501,
and they hold for 30 s).

By the script the committed offsets of `grpc-service` should advance. They do not: the broker answers 0, with a last
timestamp of 0, for all queues of both POP groups at all times, as it does for a group that has never committed (and the
rate at which it hands messages to them, `consumeTps`, which no table keeps, is 0 in every answer). So all that is known
of `grpc-service` is that no broker ever listed it and that the cluster has a proxy; its offsets tell nothing. It must
not be called offline, and what waits for it is unknown.
"""

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from schemas import FINDINGS, GROUP_STATUS, OFFSET_SNAPSHOTS, QUEUE_PROGRESS, REBALANCE_INTERVALS, Table
from tests.support.kernel import published_hour, recorded_rows
from tests.support.tables import cells, measures

RECORDING = Path(__file__).parents[2] / "data" / "proxies.jsonl.gz"
T0 = datetime(2026, 11, 22, 14, 20, 39, 10_000)
BEGIN, END, HOUR_END = 31, 531, 2361
#: One cadence until a snapshot shows it, and 20 s until a group agrees.
TOLERANCE = 30

HEALTHY = {"grpc-service", "direct-service", "pop-shared", "CID_DefaultHeartBeatSyncerTopic"}
FOUND = """
grpc-service    |                     | MEMBERS_UNSEEN      | INFO  | CONSUMED_THROUGH_PROXY | grpc-service | …  | …
dead-service    |                     | GROUP_OFFLINE       | ERROR | NO_MEMBERS             | dead-service | 60 | …
dead-service    | slips               | UNASSIGNED_QUEUE    | ERROR | GROUP_OFFLINE          | broker-a:0-3 | 60 | …
dead-service    | %RETRY%dead-service | UNASSIGNED_QUEUE    | INFO  | GROUP_OFFLINE          | broker-a:0   | 60 | …
dead-service    |                     | REDELIVERY_EXPOSURE | INFO  | QUEUES_MOVED           | dead-service | 60 | 80
failing-service | fails               | CONSUME_FAILING     | ERROR | LISTENER_FAILS         | fails        | …  | …
"""
#: The recording ends before its hour does, which every group of it is told.
FOUND += "".join(
    f"{group} | | UNOBSERVED | INFO | NO_SNAPSHOTS | {group} | {END} | {HOUR_END}\n"
    for group in sorted(HEALTHY | {"dead-service", "failing-service"})
)
#: Group | topic | status | reason | members | queues | from | until. Whether the share count of pop-shared gives its
#: members queues of their own is not known: it is not recorded.
MEMBERS = """
grpc-service                    | bills                       | NOT_APPLICABLE | CONSUMED_THROUGH_PROXY | 0 | 8 | …  | …
direct-service                  | bills                       | REPLAYED       |                        | 2 | 8 | …  | …
pop-shared                      | pops                        | NOT_APPLICABLE | BROKER_REBALANCE       | 4 | 8 | …  | …
dead-service                    | slips                       | REPLAYED       |                        | 1 | 4 | … | 60
dead-service                    | slips                       | REPLAYED       |                        | 0 | 4 | 60 | …
failing-service                 | fails                       | REPLAYED       |                        | 2 | 4 | …  | …
CID_DefaultHeartBeatSyncerTopic | DefaultHeartBeatSyncerTopic | NOT_APPLICABLE | BROADCASTING           | 1 | 1 | …  | …
"""
#: Group | what waits at the end | would more members have helped | limit. Of slips 1101 + 1101 + 1102 + 1101 messages
#: by the last `stats` line. A rejected message is committed, and comes again by way of the retry topic: no backlog.
STATUS = """
grpc-service                    |      | None  | UNKNOWN_BACKLOG
direct-service                  | few  | False | NO_BACKLOG
pop-shared                      |      | None  | UNKNOWN_BACKLOG
dead-service                    | 4405 | True  | NO_MEMBERS
failing-service                 | few  | False | NO_BACKLOG
CID_DefaultHeartBeatSyncerTopic |      | False | BROADCASTS
"""
Rows = dict[Table, list[dict[str, Any]]]


def second(text: str, end: int) -> int:
    return end if text == "…" else int(text)


def seconds(moment: datetime) -> float:
    return (moment - T0).total_seconds()


@pytest.fixture(scope="module")
def audited() -> Rows:
    return published_hour(recorded_rows(RECORDING), cadence_seconds=10)


def identity(finding: dict[str, Any]) -> tuple[str, ...]:
    names = ("consumer_group", "topic", "rule", "severity", "cause", "subject")
    return tuple(finding[name] or "" for name in names)


def test_who_is_offline_when_who_never_and_who_fails(audited: Rows) -> None:
    found = {identity(one): (seconds(one["started_at"]), seconds(one["ended_at"])) for one in audited[FINDINGS]}
    assert len(found) == len(audited[FINDINGS])
    assert sorted(found) == sorted(line[:6] for line in cells(FOUND))
    for *key, start, end in cells(FOUND):
        begins, ends = found[tuple(key)]
        assert 0 <= begins - second(start, BEGIN) <= TOLERANCE, key
        assert abs(ends - second(end, END)) <= TOLERANCE, key


def test_no_error_and_no_warning_of_the_healthy(audited: Rows) -> None:
    worst = {row["consumer_group"]: row["worst_severity"] for row in audited[GROUP_STATUS]}
    assert worst == dict.fromkeys(HEALTHY, "INFO") | {"dead-service": "ERROR", "failing-service": "ERROR"}


def test_who_is_behind_the_proxy_and_who_owns_queues(audited: Rows) -> None:
    rows = [
        row
        for row in audited[REBALANCE_INTERVALS]
        if row["status"] != "UNOBSERVED" and not row["topic"].startswith("%RETRY%")
    ]
    names = ("consumer_group", "topic", "status", "reason", "member_count", "queue_count")
    found = {tuple("" if row[name] is None else str(row[name]) for name in names): row for row in rows}
    expected = {line[:6]: line[6:] for line in cells(MEMBERS)}
    assert len(found) == len(rows)
    assert sorted(found) == sorted(expected)
    for key, (start, end) in expected.items():
        assert 0 <= seconds(found[key]["interval_start"]) - second(start, BEGIN) <= TOLERANCE, key
        assert abs(seconds(found[key]["interval_end"]) - second(end, END)) <= TOLERANCE, key


def test_what_waits_for_a_group_is_known_or_said_to_be_unknown(audited: Rows) -> None:
    found = {row["consumer_group"]: row for row in audited[GROUP_STATUS]}
    assert len(found) == len(cells(STATUS))
    for group, backlog, helps, limit in cells(STATUS):
        row = found[group]
        assert (str(row["more_members_help"]), row["bottleneck"]) == (helps, limit), group
        if backlog == "few":
            assert row["backlog_end"] < 50
        else:
            assert row["backlog_end"] == (int(backlog) if backlog else None), group
    assert found["grpc-service"]["advice"] == "Unknown: the backlog of 8 queues is not known."


def test_the_offsets_of_both_pop_groups_say_nothing(audited: Rows) -> None:
    """The recording is as the module's text says; what came in is known, what went out is not."""
    committed = {
        (queue["consumer_offset"], queue["last_timestamp"])
        for row in recorded_rows(RECORDING)[OFFSET_SNAPSHOTS]
        if row["consumer_group"] in ("grpc-service", "pop-shared")
        for queue in row["offsets"]
    }
    assert committed == {(0, 0)}
    progress = [row for row in audited[QUEUE_PROGRESS] if row["consumer_group"] == "grpc-service"]
    assert {(row["lag_quality"], row["consumed"], row["lag_last"]) for row in progress} == {
        ("NEVER_COMMITTED", None, None)
    }
    # The same topic, and so the same messages, as of the group beside it.
    beside = [row for row in audited[QUEUE_PROGRESS] if row["consumer_group"] == "direct-service"]
    of_bills = sum(row["produced"] for row in beside if row["topic"] == "bills")
    assert abs(sum(row["produced"] for row in progress) - of_bills) <= 8


def test_the_listener_rejects_sixty_percent(audited: Rows) -> None:
    """The measures are those of the worst minute: of about 4 messages a second that one member gets."""
    (found,) = (row for row in audited[FINDINGS] if row["rule"] == "CONSUME_FAILING")
    measured = measures(found["evidence"])
    assert 60 <= measured["failed_percent"] < 75
    assert 3 < measured["consumed_per_second"] < 5
    # Both, by the `connection` lines.
    hosts = {client_id.partition("@")[0] for client_id in found["evidence"]["client_ids"]}
    assert hosts == {"10.31.77.1", "10.31.77.2"}
