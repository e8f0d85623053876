"""What the oracle does not know of intervals: last sight, addresses, settings without a strategy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import timedelta

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from spark_jobs.domain.message_queue import RouteEntry
from spark_jobs.domain.snapshots import ClientSnapshot, MembershipSnapshot, RouteSnapshot
from tests.replay.random_fleets import START, Fleet
from tests.replay.timelines import intervals_of, sources

_MACHINE_ROOM = "org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueByMachineRoom"
_ROUTE = (RouteEntry("room1@a", 6, 4, 4), RouteEntry("room1@b", 6, 4, 4))
_FLEET = Fleet(
    "one",
    memberships={},
    clients={
        "plain": (),
        "plain too": (),
        "circle": (),
        "rooms only": (ClientSnapshot("c1", START, strategy_class=_MACHINE_ROOM),),
    },
    routes={"T": tuple(RouteSnapshot(START + timedelta(seconds=second), _ROUTE) for second in range(-70, 200, 10))},
    offsets={},
)


def listed(members: Mapping[int, str], broker: str = "room1@a") -> tuple[MembershipSnapshot, ...]:
    """One broker's lists, by the second of the first step."""
    return tuple(
        MembershipSnapshot(broker, START + timedelta(seconds=second), tuple(ids.split()), topics=frozenset("T"))
        for second, ids in members.items()
    )


@pytest.fixture(scope="module")
def replayed(spark: SparkSession) -> dict[str, list[Row]]:
    """Per group the replayed intervals of the first step and its warm-up, their times in seconds of the step."""
    memberships = {
        "plain": listed({0: "c1", 10: "c1", 13: "c1 c1", 16: "c1 c1"}),
        "plain too": listed(dict.fromkeys(range(-50, 40, 10), "c1 c1")),
        "rooms only": listed({0: "c1", 10: "c1"}),
        "circle": listed({0: "c1", 10: "c1", 20: "c2"}) + listed({3: "c1", 13: "c1"}, "room1@b"),
    }
    seconds = ((F.unix_micros(name) - F.unix_micros("step_start")) / 1e6 for name in ("start", "end", "seen_at"))
    found = (
        intervals_of(sources(spark, [_FLEET._replace(memberships=memberships)]))
        .where((F.col("step_start") == F.lit(START)) & (F.col("status") == "REPLAYED"))
        .orderBy("start", "membership_view")
        .select("consumer_group", F.array(*seconds).alias("seconds"), "members", "source")
    )
    per_group = defaultdict(list)
    for row in found.collect():
        per_group[row.consumer_group].append(row)
    return per_group


def test_seen_at_is_the_last_snapshot_that_showed_the_members(replayed: dict[str, list[Row]]) -> None:
    assert [row.seconds for row in replayed["plain"]] == [[0, 13, 10], [13, 36, 16]]


def test_hosts_that_agree_were_last_seen_by_the_last_of_them_and_others_each_by_itself(
    replayed: dict[str, list[Row]],
) -> None:
    # b saw c1 at 13 s; from 20 s on a sees c2, and b's list holds until 33 s.
    assert [row.seconds for row in replayed["circle"]] == [[0, 20, 13], [20, 33, 20], [20, 33, 13], [33, 40, 20]]


def test_addresses_are_those_at_the_beginning(replayed: dict[str, list[Row]]) -> None:
    """The ports of these snapshots are the minute's, which cuts nothing."""
    (row,) = replayed["plain too"]
    assert row.seconds == [-50, 40, 30]
    assert [(member.client_id, member.client_addr) for member in row.members] == [
        ("c1", "10.0.0.0:40059"),
        ("c1", "10.0.0.1:40059"),
    ]


def test_rooms_can_be_configured_for_a_strategy_that_the_clients_tell(replayed: dict[str, list[Row]]) -> None:
    (row,) = replayed["rooms only"]
    assert ([member.strategy for member in row.members], row.source) == (["MACHINE_ROOM"], "CLIENT")
