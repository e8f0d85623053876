"""Effects of producers on the queues of a topic on two brokers, on hand-written histories of ten minutes."""

from __future__ import annotations

from typing import Any

import pytest

from schemas import FINDINGS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, Table
from tests.support.kernel import published
from tests.support.snapshots import membership, offsets, route
from tests.support.times import HOUR, naive

TIMES = range(0, 600, 20)
ANYWHERE = 6
READ_ONLY = 4


def on_two_brokers(second: int, pace: int, perm: int) -> dict[Table, list[dict[str, Any]]]:
    """Two queues each: 1 message a second comes into those of `b`, `pace` into those of `z`; all are consumed."""
    both = route(second, 2)["queues"] + [route(second, 2, broker="z")["queues"][0] | {"perm": perm}]
    read = offsets(second, *[(1000 + second, 1000 + second, 1)] * 2)["offsets"]
    of_z = offsets(second, *[(1000 + pace * second, 1000 + pace * second, 1)] * 2)["offsets"]
    return {
        MEMBERSHIP_SNAPSHOTS: [membership(second, "c1", "c2", broker=broker) for broker in ("b", "z")],
        ROUTE_SNAPSHOTS: [route(second, 2) | {"queues": both}],
        OFFSET_SNAPSHOTS: [offsets(second) | {"offsets": read + [entry | {"broker_name": "z"} for entry in of_z]}],
    }


@pytest.mark.parametrize(("pace", "perm", "found"), [(0, ANYWHERE, True), (1, ANYWHERE, False), (0, READ_ONLY, False)])
def test_a_broker_that_can_be_written_to_and_gets_nothing_while_the_other_does(
    pace: int, perm: int, found: bool
) -> None:
    rows: dict[Table, list[dict[str, Any]]] = {}
    for second in TIMES:
        for table, seen in on_two_brokers(second, pace, perm).items():
            rows.setdefault(table, []).extend(seen)
    told = [row for row in published(rows, HOUR)[FINDINGS] if row["rule"] == "PRODUCER_SKEW"]
    assert [(row["severity"], row["cause"], row["topic"], row["subject"]) for row in told] == (
        [("WARN", "BROKER_WITHOUT_MESSAGES", "t", "z:0-1")] if found else []
    )
    for row in told:
        assert (row["started_at"], row["ended_at"]) == (naive(0), naive(640))
        assert row["evidence"]["measures"] == [{"name": "mean", "value": 580.0}]
