"""A fleet written by hand, for what the oracle of the random ones does not know."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from spark_jobs.domain.message_queue import RouteEntry
from spark_jobs.domain.snapshots import ClientSnapshot, MembershipSnapshot, RouteSnapshot
from tests.replay.random_fleets import START, Fleet

_MACHINE_ROOM = "org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueByMachineRoom"
_ROUTE = (RouteEntry("room1@a", 6, 4, 4),)


def _listed(members: Mapping[int, str]) -> tuple[MembershipSnapshot, ...]:
    """One broker's lists, by the second of the first step."""
    return tuple(
        MembershipSnapshot("room1@a", START + timedelta(seconds=second), tuple(ids.split()), topics=frozenset("T"))
        for second, ids in members.items()
    )


FLEET = Fleet(
    cluster="hand-made",
    memberships={
        "plain": _listed({0: "c1", 10: "c1", 13: "c1 c1", 16: "c1 c1"}),
        "plain too": _listed(dict.fromkeys(range(-50, 40, 10), "c1 c1")),
        "rooms only": _listed({0: "c1", 10: "c1"}),
    },
    clients={"plain": (), "plain too": (), "rooms only": (ClientSnapshot("c1", START, strategy_class=_MACHINE_ROOM),)},
    routes={"T": tuple(RouteSnapshot(START + timedelta(seconds=second), _ROUTE) for second in range(-70, 200, 10))},
    offset_times={},
)
