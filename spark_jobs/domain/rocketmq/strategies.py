"""An allocation strategy with its settings, and which implementation of it a client runs.

By language and version that may not be Java's of today. Sources: apache/rocketmq-client-go `consumer/strategy.go`,
alike in all releases that have these strategies; apache/rocketmq `AllocateMessageQueueByMachineRoom`, corrected in
4.8.0 (#2477). C++, and Python, which calls it, have AVG only (apache/rocketmq-client-cpp `Rebalance.cpp`).
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import NamedTuple

from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.errors import StrategyError

AVG = "AVG"
AVG_BY_CIRCLE = "AVG_BY_CIRCLE"
CONFIG = "CONFIG"
MACHINE_ROOM = "MACHINE_ROOM"
CONSISTENT_HASH = "CONSISTENT_HASH"
#: Alone it is a strategy whose inner one is not known: settings are missing.
MACHINE_ROOM_NEARBY = "MACHINE_ROOM_NEARBY"
#: The broker assigns: no client computes a share. What it assigns by is `POP-AVG+2` (`pop.py`).
POP = "POP"

INNER_STRATEGIES = (AVG, AVG_BY_CIRCLE, CONSISTENT_HASH)
STRATEGY_NAMES = (
    *(AVG, AVG_BY_CIRCLE, CONFIG, MACHINE_ROOM, CONSISTENT_HASH, MACHINE_ROOM_NEARBY),
    *(f"{MACHINE_ROOM_NEARBY}-{inner}" for inner in INNER_STRATEGIES),
    POP,
)

#: Strategy name of a client's `allocateMessageQueueStrategy`, by the Java class without its package.
STRATEGY_OF_CLASS = {
    "AllocateMessageQueueAveragely": AVG,
    "AllocateMessageQueueAveragelyByCircle": AVG_BY_CIRCLE,
    "AllocateMessageQueueByConfig": CONFIG,
    "AllocateMessageQueueByMachineRoom": MACHINE_ROOM,
    "AllocateMessageQueueConsistentHash": CONSISTENT_HASH,
    "AllocateMachineRoomNearby": MACHINE_ROOM_NEARBY,
}


class Variant(StrEnum):
    """An implementation of a strategy. JAVA is today's, and stands for all that compute like it."""

    JAVA = "JAVA"
    JAVA_TO_4_7_1 = "JAVA_TO_4_7_1"
    GO = "GO"


#: (client id, broker name, queue id) of each queue that a client holds.
Holders = frozenset[tuple[str, str, int]]


class Parameters(NamedTuple):
    """Settings of a strategy that were observed, and replace those that are configured; None: the configured one.
    `variant`: which implementation was observed of clients whose language does not say; `holders`: which client holds
    which queue with these members and queues, where no strategy explains it.
    """

    virtual_node_cnt: int | None = None
    rooms: frozenset[str] | None = None
    variant: Variant | None = None
    holders: Holders | None = None


AS_CONFIGURED = Parameters()


class Implementation(NamedTuple):
    """How a client computes its share: the strategy's name, which implementation of it, and observed settings."""

    strategy: str
    variant: Variant
    parameters: Parameters = AS_CONFIGURED


#: 4.9.0, since which a client's default instance name is `PID#nanoTime` (`ClientConfig.changeInstanceNameToPID`).
UNIQUE_INSTANCE_NAME_VERSION = 393
#: 4.7.1, the last one with the index bug of MACHINE_ROOM; as all version ordinals, two a release.
LAST_VERSION_WITH_ROOM_BUG = 355


def variant_of(
    strategy: str, language: str | None, version: int | None, parameters: Parameters = AS_CONFIGURED
) -> Variant:
    """By what the broker lists of the connection; else the observed one, or Java's of today."""
    if strategy not in (CONSISTENT_HASH, MACHINE_ROOM) and not strategy.startswith(MACHINE_ROOM_NEARBY):
        return Variant.JAVA
    if language == "GO":
        return Variant.GO
    if language != "JAVA" and strategy == CONSISTENT_HASH and parameters.variant is not None:
        return parameters.variant
    is_old = language == "JAVA" and version is not None and version <= LAST_VERSION_WITH_ROOM_BUG
    return Variant.JAVA_TO_4_7_1 if is_old and strategy == MACHINE_ROOM else Variant.JAVA


class ConfigQueues(NamedTuple):
    """Queues that CONFIG gives to every client whose whole id matches the pattern `client`."""

    client: str
    topic: str
    broker_name: str
    queue_ids: tuple[int, ...]


#: Client ids of members that only a simulation has begin like this; they come last in every client's order.
NEW = "~new-"


@dataclass(frozen=True)
class Strategy:
    """One strategy with the settings it needs; those of other strategies are ignored.

    `variant`: which implementation of it. `broker_room` and `client_room` are regular expressions with exactly one
    group, searched in the broker name and the client id; `new_room` is that of `NEW` clients; `holders` are those of an
    unknown strategy. Raises `StrategyError` for what no client could start with.
    """

    name: str
    virtual_node_cnt: int = 10
    rooms: frozenset[str] | None = None
    broker_room: str | None = None
    client_room: str | None = None
    config_queues: tuple[ConfigQueues, ...] = ()
    variant: Variant = Variant.JAVA
    new_room: str | None = None
    holders: Holders | None = None

    def __post_init__(self) -> None:
        if self.name not in STRATEGY_NAMES and not is_popped(self.name) and self.holders is None:
            raise StrategyError(f"unknown strategy '{self.name}': choose one of {', '.join(STRATEGY_NAMES)}")
        if self.virtual_node_cnt < 0:
            raise StrategyError(f"illegal virtualNodeCnt :{self.virtual_node_cnt}; it must be 0 or more")
        for pattern in (self.broker_room, self.client_room):
            if pattern is not None and _compiled(pattern).groups != 1:
                raise StrategyError(f"room pattern '{pattern}' must have exactly one group: the room")
        for entry in self.config_queues:
            _compiled(entry.client)

    @property
    def inner(self) -> str | None:
        """Name of the strategy inside MACHINE_ROOM_NEARBY; None for all others, and where it is not known."""
        return self.name.partition("-")[2] or None

    @property
    def base(self) -> str:
        """Its name without the inner strategy."""
        return self.name.partition("-")[0]

    @property
    def settings_missing(self) -> bool:
        """Return whether it cannot be replayed for want of rooms, room patterns, inner strategy or queue lists."""
        if self.base == MACHINE_ROOM:
            return not self.rooms
        if self.base == MACHINE_ROOM_NEARBY and self.variant != Variant.GO:
            return None in (self.inner, self.broker_room, self.client_room)
        return self.name == CONFIG and not self.config_queues

    def configured_queues(self, client_id: str) -> list[MessageQueue] | None:
        """The queues that CONFIG gives to a client, of all topics; None if it was never configured."""
        entries = [entry for entry in self.config_queues if _compiled(entry.client).fullmatch(client_id)]
        return [MessageQueue(e.topic, e.broker_name, i) for e in entries for i in e.queue_ids] if entries else None


@dataclass(frozen=True)
class StrategySettings:
    """Configured settings of a group's strategy; None is not configured. The fields are those of `Strategy`."""

    strategy: str | None = None
    virtual_node_cnt: int = 10
    rooms: frozenset[str] | None = None
    broker_room: str | None = None
    client_room: str | None = None
    config_queues: tuple[ConfigQueues, ...] = ()
    new_room: str | None = None

    def named(self, name: str, variant: Variant = Variant.JAVA, parameters: Parameters = AS_CONFIGURED) -> Strategy:
        """The strategy of that name with these settings, or those that were observed."""
        node_cnt, rooms, _, holders = parameters
        return Strategy(
            name,
            self.virtual_node_cnt if node_cnt is None else node_cnt,
            self.rooms if rooms is None else rooms,
            self.broker_room,
            self.client_room,
            self.config_queues,
            variant,
            self.new_room,
            holders,
        )


@cache
def is_popped(name: str) -> bool:
    """Return whether a member that runs the strategy pops what the broker assigns."""
    return name.startswith(f"{POP}-")


def strategy_of_class(class_name: str) -> str | None:
    """Strategy name of a Java class, whatever its package; None for a class that RocketMQ does not ship."""
    return STRATEGY_OF_CLASS.get(class_name.rpartition(".")[2])


@cache  # Python's own cache holds 512, fewer than a configuration may have
def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise StrategyError(f"'{pattern}' is not a regular expression: {error}") from None


#: Strategy of a member whose class is not RocketMQ's, where nothing is configured, and of one whose queues no strategy
#: explains.
UNKNOWN_STRATEGY = "UNKNOWN"


class StrategySource(StrEnum):
    """Source of a strategy: running info, configuration, reported queues, or the default, which shows nothing."""

    CLIENT = "CLIENT"
    CONFIGURATION = "CONFIGURATION"
    OBSERVED = "OBSERVED"
    DEFAULT = "DEFAULT"


class Resolved(NamedTuple):
    """A member's strategy by name, how it is known, and the settings that were observed with it. `alternatives`: the
    names of others that explain what was observed, too, and would divide the queues of other members differently.
    """

    strategy: str
    source: StrategySource
    parameters: Parameters = AS_CONFIGURED
    alternatives: tuple[str, ...] = ()

    @property
    def is_not_recognized(self) -> bool:
        """Return whether no strategy explains the queues that the member reports."""
        return self.strategy == UNKNOWN_STRATEGY and self.source is StrategySource.OBSERVED
