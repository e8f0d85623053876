"""What to do, in one or two sentences per rule and cause."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.domain.causes import DoubleOwnedCause, UnassignedCause
from spark_jobs.domain.duplicates import DuplicateCause
from spark_jobs.findings import double_owned_queue, duplicate_client_id, idle_consumer, unassigned_queue

_DUPLICATE = {
    DuplicateCause.STALE_CONNECTION: "Nothing, if it ends by itself: after a reconnect the old connection lives for up "
    "to 130 s.",
    DuplicateCause.CONTAINER_IDENTITY: "The id is ip@pid, and containers share both. Upgrade to a Java client ≥ 4.9.0, "
    "or give every consumer its own instanceName.",
    DuplicateCause.FIXED_INSTANCE_NAME: "Two consumers were given one instanceName. Leave it unset, or make it unique, "
    "for example from the pod name.",
    DuplicateCause.CLONED_PROCESS: "Two connections of one process id and start time: look for a process that was "
    "cloned or restored from a snapshot, or two clients that share one id by code.",
}
_UNASSIGNED = {
    UnassignedCause.DUPLICATE_CLIENT_ID: "Give every consumer of the group its own client id: the share of the second "
    "position of an id is computed by nobody. See the DUPLICATE_CLIENT_ID finding.",
    UnassignedCause.MEMBER_NOT_SUBSCRIBED: "All members of a group must subscribe the same topics: move the consumers "
    "that do not subscribe this one to a group of their own.",
    UnassignedCause.GROUP_OFFLINE: "No consumer of the group was connected: start it, or delete the group if it is "
    "no longer needed.",
    UnassignedCause.ROOM_FILTER: "MACHINE_ROOM leaves out every broker that is not in the configured rooms, by design: "
    "add the room, or use MACHINE_ROOM_NEARBY.",
    UnassignedCause.CONFIG_HOLE: "No client's configured list names these queues: add them to one.",
    UnassignedCause.MIXED_STRATEGIES: "Members run different allocation strategies: roll out one to all of them.",
    UnassignedCause.NO_VIRTUAL_NODES: "virtualNodeCnt is 0, so nobody is on the hash ring: set it to 10, the default.",
    UnassignedCause.BEYOND_READ_QUEUES: "The topic has more write queues than read queues, and messages in the surplus "
    "can be read by nobody: raise readQueueNums to writeQueueNums.",
    UnassignedCause.BROKER_NOT_READABLE: "The broker has no read permission for the topic: give it back (perm 6) until "
    "the messages are drained.",
}
_DOUBLE_OWNED = {
    DoubleOwnedCause.DUPLICATE_CLIENT_ID: "Twins consume every message of these queues once each: give every consumer "
    "its own client id.",
    DoubleOwnedCause.MIXED_STRATEGIES: "Members run different allocation strategies: roll out one to all of them.",
    DoubleOwnedCause.CONFIG_OVERLAP: "Several clients' configured lists name these queues: leave each in one list.",
}
_IDLE = {
    idle_consumer.MORE_MEMBERS_THAN_QUEUES: "There are more members than queues, so more consumers cannot help: stop "
    "the surplus, or add queues.",
    idle_consumer.LEFT_OUT_BY_STRATEGY: "The strategy gives this member nothing: with CONSISTENT_HASH raise "
    "virtualNodeCnt, else check rooms and configured queue lists.",
}
ADVICE: dict[str, dict[str, str]] = {
    duplicate_client_id.RULE: {cause.value: text for cause, text in _DUPLICATE.items()},
    unassigned_queue.RULE: {cause.value: text for cause, text in _UNASSIGNED.items()},
    double_owned_queue.RULE: {cause.value: text for cause, text in _DOUBLE_OWNED.items()},
    idle_consumer.RULE: _IDLE,
}


def advice() -> Column:
    """The advice for a row's `rule` and `cause`."""
    texts = F.create_map(
        *(
            F.lit(part)
            for rule, causes in ADVICE.items()
            for cause, text in causes.items()
            for part in (f"{rule} {cause}", text)
        )
    )
    return F.try_element_at(texts, F.concat_ws(" ", "rule", "cause"))
