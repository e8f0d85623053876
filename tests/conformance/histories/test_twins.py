"""Two connections with one client id: what they cost, and how long they must stand to be a defect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from schemas import MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, Table
from tests.conformance.histories.audited import Audited
from tests.support.snapshots import membership, offsets, route
from tests.support.times import naive

CLUSTER = "twins"
#: For so many seconds the twins of a group are seen.
STAND_FOR = {"blip": 0, "stale": 140, "persistent": 160}
#: Connections of the one member of a group, from a second on.
HUNG = ((240, 1), (220, 2), (200, 4), (180, 6), (160, 9), (120, 13), (0, 1))


def snapshots() -> Iterator[tuple[Table, dict[str, Any]]]:
    """A group whose twins are looked at in full, the groups of `STAND_FOR`, and one whose only broker hung: it lists
    the connections that its client tried to make meanwhile, and drops them one after the other.
    """
    yield from _costly()
    for second in range(0, 600, 10):
        yield ROUTE_SNAPSHOTS, route(second, 4)
        for group, seconds in STAND_FOR.items():
            members = ("c1", "c1", "c2") if 100 <= second <= 100 + seconds else ("c1", "c2")
            yield MEMBERSHIP_SNAPSHOTS, membership(second, *members, group=group)
        connections = next(count for since, count in HUNG if since <= second)
        yield MEMBERSHIP_SNAPSHOTS, membership(second, *["c1"] * connections, group="hung")


def _costly() -> Iterator[tuple[Table, dict[str, Any]]]:
    """8 queues, AVG, [c1, c1, c2]: 0–2 twice, 3–5 nobody's, 6–7 c2's. Queue 3 gets 10 a sample, 4 was never read."""
    twins = range(100, 400, 20)
    for second in range(0, 600, 20):
        members = ("c1", "c1", "c2") if second in twins else ("c1", "c2")
        yield MEMBERSHIP_SNAPSHOTS, membership(second, *members, group="costly", topics=["t8"])
        yield ROUTE_SNAPSHOTS, route(second, 8, topic="t8")
        samples = [(100, 100, 1)] * 8
        end = 100 + second // 2
        samples[3] = (end, 100 if second < 400 else end, 1)
        samples[4] = (50, 0, 0)
        yield OFFSET_SNAPSHOTS, offsets(second + 1, *samples, topic="t8", group="costly")


def test_they_are_one_finding_with_what_they_cost(audited: Audited) -> None:
    findings = {row["rule"]: row for row in audited.findings[CLUSTER] if row["consumer_group"] == "costly"}
    assert findings.pop("UNOBSERVED")["severity"] == "INFO"
    assert set(findings) == {"DUPLICATE_CLIENT_ID", "UNASSIGNED_QUEUE", "DOUBLE_OWNED_QUEUE"}
    for finding in findings.values():
        assert (finding["started_at"], finding["ended_at"]) == (naive(100), naive(400))
    assert findings["DUPLICATE_CLIENT_ID"]["subject"] == "c1"
    assert findings["DOUBLE_OWNED_QUEUE"]["subject"] == "b:0-2"
    unassigned = findings["UNASSIGNED_QUEUE"]
    assert (unassigned["subject"], unassigned["severity"]) == ("b:3-5", "WARN")
    assert unassigned["cause"] == "DUPLICATE_CLIENT_ID"
    assert "if the strategy is AVG" in unassigned["advice"]
    queues = {queue["queue_id"]: queue for queue in unassigned["evidence"]["queues"]}
    # Samples at 101 … 381 s see 50 … 190 more than the 100 consumed before.
    measured = {"backlog_start": 50, "backlog_end": 190, "backlog_max": 190, "produced": 140, "consumed": 0}
    assert {name: queues[3][name] for name in measured} == measured
    assert (queues[4]["backlog_start"], queues[4]["backlog_max"], queues[4]["consumed"]) == (None, None, None)
    assert unassigned["evidence"]["unknown_queues"] == 1


def test_how_long_they_stand_decides(audited: Audited) -> None:
    """An old connection lives for up to 130 s, so what two snapshots 150 s apart show is a defect; and what is over
    before a group can agree (20 s) is no finding at all."""
    found = [row for row in audited.findings[CLUSTER] if row["consumer_group"] in STAND_FOR]
    severities = {row["consumer_group"]: row["severity"] for row in found if row["rule"] == "DUPLICATE_CLIENT_ID"}
    assert severities == {"stale": "INFO", "persistent": "ERROR"}
    assert {row["consumer_group"] for row in found if row["rule"] != "UNOBSERVED"} == {"stale", "persistent"}
    # What they did to the queues is as bad as they are, but which queues have no owner depends on the strategy.
    of_queues = [row for row in found if row["rule"] in ("UNASSIGNED_QUEUE", "DOUBLE_OWNED_QUEUE")]
    assert sorted((row["consumer_group"], row["rule"], row["severity"]) for row in of_queues) == [
        ("persistent", "DOUBLE_OWNED_QUEUE", "ERROR"),
        ("persistent", "UNASSIGNED_QUEUE", "WARN"),
        ("stale", "DOUBLE_OWNED_QUEUE", "INFO"),
        ("stale", "UNASSIGNED_QUEUE", "INFO"),
    ]


def test_rebalances_because_connections_of_one_client_come_and_go_follow_from_them(audited: Audited) -> None:
    found = [row for row in audited.findings[CLUSTER] if row["consumer_group"] == "hung"]
    by_rule = {row["rule"]: row for row in found}
    duplicate, storm = by_rule["DUPLICATE_CLIENT_ID"], by_rule["REBALANCE_STORM"]
    began, ended = naive(120), naive(240)
    assert (duplicate["started_at"], duplicate["ended_at"], duplicate["severity"]) == (began, ended, "INFO")
    assert (storm["started_at"], storm["ended_at"]) == (began, ended)
    assert storm["evidence"]["client_ids"] == ["c1"]
    assert storm["root_finding_id"] == duplicate["finding_id"]
