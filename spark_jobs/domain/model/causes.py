"""Why a queue has no owner, and why it has more than one."""

from enum import StrEnum
from typing import Final

NEVER_COMMITTED: Final = "NEVER_COMMITTED"
REFUSED: Final = "REFUSED"
#: Causes of queues whose backlog is at least what was produced since the group was watched.
PRODUCED_WAITS: Final = frozenset((NEVER_COMMITTED, REFUSED))


class UnassignedCause(StrEnum):
    """Why no member consumes a queue; the first that applies, in this order."""

    BROKER_NOT_READABLE = "BROKER_NOT_READABLE"
    BEYOND_READ_QUEUES = "BEYOND_READ_QUEUES"
    GROUP_OFFLINE = "GROUP_OFFLINE"
    MIXED_STRATEGIES = "MIXED_STRATEGIES"
    MIXED_CLIENTS = "MIXED_CLIENTS"
    DUPLICATE_CLIENT_ID = "DUPLICATE_CLIENT_ID"
    MEMBER_BROADCASTS = "MEMBER_BROADCASTS"
    MEMBER_NOT_SUBSCRIBED = "MEMBER_NOT_SUBSCRIBED"
    MACHINE_ROOM_BUG = "MACHINE_ROOM_BUG"
    ROOM_FILTER = "ROOM_FILTER"
    CONFIG_HOLE = "CONFIG_HOLE"
    NO_VIRTUAL_NODES = "NO_VIRTUAL_NODES"
    NOT_LISTED = "NOT_LISTED"
    WAITS_FOR_LOCK = "WAITS_FOR_LOCK"
    ROUTE_OUTDATED = "ROUTE_OUTDATED"


class DoubleOwnedCause(StrEnum):
    """Why several connections consume a queue; the first that applies. POP_SHARED does no harm."""

    POP_SHARED = "POP_SHARED"
    DUPLICATE_CLIENT_ID = "DUPLICATE_CLIENT_ID"
    MIXED_STRATEGIES = "MIXED_STRATEGIES"
    MIXED_CLIENTS = "MIXED_CLIENTS"
    CONFIG_OVERLAP = "CONFIG_OVERLAP"
    ROUTE_OUTDATED = "ROUTE_OUTDATED"
