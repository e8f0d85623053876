"""One configuration for all random fleets: groups are named after what is configured for them."""

from __future__ import annotations

from datetime import timedelta

from spark_jobs.config import Configuration, GroupEntry
from spark_jobs.config.model import QueueList, Thresholds
from spark_jobs.domain.strategies import ConfigQueues, Strategy

STEP, CADENCE, LOOK_BACK = timedelta(seconds=40), timedelta(seconds=10), timedelta(seconds=70)
MAX_GAP, PERSISTENT_AFTER = timedelta(seconds=20), timedelta(seconds=30)
_FIRST, _PREFIX = "^(.)", "^([^-]+)-"

CONFIGURATION = Configuration(
    step_seconds=40,
    cadence_seconds=10,
    max_gap_seconds=20,
    thresholds=Thresholds(persistent_after_seconds=30),
    groups=(
        GroupEntry(group="circle", strategy="AVG_BY_CIRCLE"),
        GroupEntry(group="hash", strategy="CONSISTENT_HASH", virtual_node_count=3),
        GroupEntry(group="room.*", strategy="MACHINE_ROOM"),
        GroupEntry(group="room", rooms=("room1", "c")),
        GroupEntry(group="room none", rooms=()),
        GroupEntry(group="near.*", strategy="MACHINE_ROOM_NEARBY-AVG", broker_room=_FIRST, client_room=_PREFIX),
        GroupEntry(group="near everywhere", client_room=_FIRST),
        GroupEntry(group="lists.*", strategy="CONFIG"),
        GroupEntry(group="lists", config_queues=(QueueList(client="r1.*", topic="T", broker="a", queues=(0, 1)),)),
        GroupEntry(group="pop", strategy="POP"),
        # Settings for what only the clients tell: plain Python has them with a strategy or not at all.
        GroupEntry(group="rooms only", rooms=("room1",)),
    ),
)
#: The same, as plain Python takes it.
CONFIGURED: dict[str, Strategy | None] = {
    "plain": None,
    "plain too": None,
    "circle": Strategy("AVG_BY_CIRCLE"),
    "hash": Strategy("CONSISTENT_HASH", virtual_node_cnt=3),
    "room": Strategy("MACHINE_ROOM", rooms=frozenset({"room1", "c"})),
    "room none": Strategy("MACHINE_ROOM", rooms=frozenset()),
    "near": Strategy("MACHINE_ROOM_NEARBY-AVG", broker_room=_FIRST, client_room=_PREFIX),
    "near everywhere": Strategy("MACHINE_ROOM_NEARBY-AVG", broker_room=_FIRST, client_room=_FIRST),
    "lists": Strategy("CONFIG", config_queues=(ConfigQueues("r1.*", "T", "a", (0, 1)),)),
    "lists missing": Strategy("CONFIG"),
    "pop": Strategy("POP"),
}
