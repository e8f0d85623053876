"""Bodies that a real cluster gave to `capture`: a group behind a proxy, a POP group, a group of a cluster with ACL.

Cut from recordings of `make live` (two brokers): `tests/data/live_pops.jsonl.gz` (5.4.0), two minutes, every 10 s, and
`tests/data/live_acl.jsonl.gz` (5.5.0), 40 s, every 5 s, by a user of ACL 2 that may only read, and
`tests/data/live_current.jsonl.gz` (brokers, and the JSON of all bodies, of 5.5.1, where fastjson 1 is gone; clients of
5.5.0), 46 s, every 10 s. Nothing was done to these groups. In `tests/data/live_ghost.jsonl.gz` (5.4.0), 90 s, every
5 s, a consumer is shut down after 14 s, and the brokers do not learn of it ([test_ghost.py](../live/test_ghost.py)).
The tables are written by hand from what was started:

- `proxy-service` (bills, 4 queues a broker): two gRPC push consumers behind one proxy;
- `pop-service` (pops, 4): two members whom the brokers share queues out, share count 1: with two members that is all;
- `CID_DefaultHeartBeatSyncerTopic`: the proxy's own group, which broadcasts;
- `acl-service` (bills, 4): two ordinary members, AVG: each has the queues of one broker;
- `orderly-service` (ledger, 4): two members that consume in order, AVG;
- `ghost-service` (orders, 2): `10.9.9.1@1`, which is shut down, and `10.9.9.2@1`; `other-service` (payments, 2):
  `10.9.9.1@1` alone.
"""

from collections import defaultdict
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from schemas import ALLOCATIONS, CAPTURE_CALLS, CLIENT_SNAPSHOTS, FINDINGS, REBALANCE_INTERVALS, Table
from spark_jobs.ingest.files import read_lines
from spark_jobs.ingest.recording import Meta, Row, outcomes
from tests.spark.recording.test_truth import answers
from tests.support.kernel import published_hour, recorded_rows
from tests.support.tables import cells

DATA = Path(__file__).parents[2] / "data"
POPS, ACL, CURRENT, GHOST = "pops", "acl", "current", "ghost"
CADENCES = {POPS: 10, ACL: 5, CURRENT: 10, GHOST: 5}
#: When the consumer of `ghost-service` in the client `10.9.9.1@1` was shut down.
GONE = datetime(2026, 11, 23, 23, 13, 35, 335000)
#: Recording | group | topic | status | reason | members | queues, all the time.
MEMBERS = """
pops | proxy-service                   | bills                       | NOT_APPLICABLE | CONSUMED_THROUGH_PROXY | 0 | 8
pops | pop-service                     | pops                        | NOT_APPLICABLE | POP_ALL_QUEUES         | 2 | 8
pops | CID_DefaultHeartBeatSyncerTopic | DefaultHeartBeatSyncerTopic | NOT_APPLICABLE | BROADCASTING           | 1 | 2
acl  | acl-service                     | bills                       | REPLAYED       |                        | 2 | 8
current | orderly-service              | ledger                      | REPLAYED       |                        | 2 | 8
current | pop-service                  | pops                        | NOT_APPLICABLE | POP_ALL_QUEUES         | 2 | 8
ghost | ghost-service                  | orders                      | REPLAYED       |                        | 2 | 4
ghost | other-service                  | payments                    | REPLAYED       |                        | 1 | 4
"""
#: Recording | group | rule | severity | cause; of UNOBSERVED only that the recording ends before its hour.
FOUND = """
pops | proxy-service                   | MEMBERS_UNSEEN | INFO | CONSUMED_THROUGH_PROXY
pops | proxy-service                   | UNOBSERVED     | INFO | NO_SNAPSHOTS
pops | pop-service                     | UNOBSERVED     | INFO | NO_SNAPSHOTS
pops | CID_DefaultHeartBeatSyncerTopic | UNOBSERVED     | INFO | NO_SNAPSHOTS
acl  | acl-service                     | UNOBSERVED     | INFO | NO_SNAPSHOTS
current | orderly-service              | UNOBSERVED     | INFO | NO_SNAPSHOTS
current | pop-service                  | UNOBSERVED     | INFO | NO_SNAPSHOTS
ghost | ghost-service                  | GHOST_MEMBER   | ERROR | NOT_IN_GROUP
ghost | ghost-service                  | UNOBSERVED     | INFO | NO_SNAPSHOTS
ghost | other-service                  | UNOBSERVED     | INFO | NO_SNAPSHOTS
"""
#: Recording | who was called about connections | fate, of all calls about groups.
CALLED = """
pops | broker-a | proxy-service | NOT_ONLINE
pops | broker-b | proxy-service | NOT_ONLINE
pops | proxy    | proxy-service | ANSWERED
pops | broker-a | pop-service   | ANSWERED
pops | broker-b | pop-service   | ANSWERED
acl  | broker-a | acl-service   | ANSWERED
acl  | broker-b | acl-service   | ANSWERED
current | broker-a | orderly-service | ANSWERED
current | broker-b | orderly-service | ANSWERED
current | broker-a | pop-service     | ANSWERED
current | broker-b | pop-service     | ANSWERED
ghost | broker-a | ghost-service | ANSWERED
ghost | broker-b | ghost-service | ANSWERED
ghost | broker-a | other-service | ANSWERED
ghost | broker-b | other-service | ANSWERED
"""
Rows = dict[Table, list[dict[str, Any]]]


def of(table: str, recording: str) -> list[tuple[str, ...]]:
    return [line[1:] for line in cells(table) if line[0] == recording]


def file_of(recording: str) -> Path:
    return DATA / f"live_{recording}.jsonl.gz"


def recorded(recording: str) -> Rows:
    return recorded_rows(file_of(recording))


@cache
def audited(recording: str) -> Rows:
    return published_hour(recorded(recording), CADENCES[recording])


@pytest.mark.parametrize("file", [*map(file_of, CADENCES), DATA / "topic_types.jsonl.gz", DATA / "redelivery.jsonl.gz"])
def test_every_line_is_understood(file: Path) -> None:
    assert {type(outcome) for outcome in outcomes(read_lines(file))} == {Meta, Row}


@pytest.mark.parametrize("recording", CADENCES)
def test_who_owns_queues_and_of_whom_it_is_not_known(recording: str) -> None:
    names = ("consumer_group", "topic", "status", "reason", "member_count", "queue_count")
    seen = [
        tuple("" if row[name] is None else str(row[name]) for name in names)
        for row in audited(recording)[REBALANCE_INTERVALS]
        if row["status"] != "UNOBSERVED" and not row["topic"].startswith("%RETRY%")
    ]
    assert sorted(seen) == sorted(of(MEMBERS, recording))


@pytest.mark.parametrize("recording", CADENCES)
def test_what_is_wrong_is_found_and_nothing_else(recording: str) -> None:
    names = ("consumer_group", "rule", "severity", "cause")
    seen = [tuple(str(row[name]) for name in names) for row in audited(recording)[FINDINGS]]
    assert sorted(seen) == sorted(of(FOUND, recording))


@pytest.mark.parametrize("recording", CADENCES)
def test_who_was_called_and_what_came_of_it(recording: str) -> None:
    calls = [row for row in recorded(recording)[CAPTURE_CALLS] if row["request"] == "connection"]
    seen = {(row["called"].partition(" ")[0], row["subject"], row["outcome"]) for row in calls}
    assert {one for one in seen if not one[1].startswith("CID_")} == set(of(CALLED, recording))


@pytest.mark.parametrize(
    ("recording", "topic", "first", "second"),
    [(ACL, "bills", "10.9.8.1@1", "10.9.8.2@1"), (CURRENT, "ledger", "10.9.3.1@1", "10.9.3.2@1")],
)
def test_members_own_what_they_say_that_they_own(recording: str, topic: str, first: str, second: str) -> None:
    owned: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for row in audited(recording)[ALLOCATIONS]:
        if row["topic"] == topic:
            (owner,) = row["owners"]
            owned[owner["client_id"]].add((row["broker_name"], row["queue_id"]))
    assert owned == {
        client_id: {(broker, number) for number in range(4)}
        for client_id, broker in ((first, "broker-a"), (second, "broker-b"))
    }
    said = [one for one in answers(recorded(recording)[CLIENT_SNAPSHOTS]) if one.topic == topic]
    assert len(said) > 4
    assert all(owned[one.client_id] == one.owned for one in said)


def test_a_ghost_is_named_with_its_connections_and_queues() -> None:
    """It is first asked 3.8 s after it is gone; each broker has a connection of its own."""
    (ghost,) = [row for row in audited(GHOST)[FINDINGS] if row["rule"] == "GHOST_MEMBER"]
    assert timedelta() < ghost["started_at"] - GONE < timedelta(seconds=2 * CADENCES[GHOST])
    evidence = ghost["evidence"]
    assert (ghost["subject"], evidence["client_ids"]) == ("10.9.9.1@1", ["10.9.9.1@1"])
    versions = {(one["client_id"], one["language"], one["version"]) for one in evidence["connections"]}
    assert versions == {("10.9.9.1@1", "JAVA", 493)}
    assert [(one["topic"], one["broker_name"], one["queue_id"], one["role"]) for one in evidence["queues"]] == [
        ("%RETRY%ghost-service", "broker-a", 0, "GHOST"),
        ("orders", "broker-a", 0, "GHOST"),
        ("orders", "broker-a", 1, "GHOST"),
    ]
    assert evidence["consumed"] == 0
    assert evidence["produced"] > 400
    said = [row for row in recorded(GHOST)[CLIENT_SNAPSHOTS] if row["consumer_group"] == "ghost-service"]
    gone = [row["captured_at"] for row in said if row["in_group"] is False]
    assert {row["client_id"] for row in said if row["in_group"] is False} == {"10.9.9.1@1"}
    assert min(gone).replace(tzinfo=None) == ghost["started_at"]
