"""Published words for an interval and its queues: status, reason, trigger, verdict."""

from enum import StrEnum


class Status(StrEnum):
    """Status of an interval: it has owners and verdicts, or why not."""

    REPLAYED = "REPLAYED"
    UNOBSERVED = "UNOBSERVED"
    NOT_APPLICABLE = "NOT_APPLICABLE"
    NOT_REPLAYABLE = "NOT_REPLAYABLE"


class Reason(StrEnum):
    """Why an interval is not replayed; the first that applies, in this order."""

    DELETED = "DELETED"
    TOPIC_DELETED = "TOPIC_DELETED"
    NO_ROUTE_SNAPSHOT = "NO_ROUTE_SNAPSHOT"
    NO_ROUTE = "NO_ROUTE"
    NO_MEMBERSHIP_SNAPSHOT = "NO_MEMBERSHIP_SNAPSHOT"
    STATIC_TOPIC = "STATIC_TOPIC"
    LITE = "LITE"
    BROADCASTING = "BROADCASTING"
    BROKER_REBALANCE = "BROKER_REBALANCE"
    POP_ALL_QUEUES = "POP_ALL_QUEUES"
    CONSUMED_THROUGH_PROXY = "CONSUMED_THROUGH_PROXY"
    CONSUMED_BY_UNSEEN = "CONSUMED_BY_UNSEEN"
    ASSIGNED_BY_HAND = "ASSIGNED_BY_HAND"
    NOT_SUBSCRIBED = "NOT_SUBSCRIBED"
    NO_READABLE_QUEUE = "NO_READABLE_QUEUE"
    UNKNOWN_STRATEGY = "UNKNOWN_STRATEGY"
    BROKER_LACKS_STRATEGY = "BROKER_LACKS_STRATEGY"
    SETTINGS_MISSING = "SETTINGS_MISSING"
    ROOM_UNRESOLVABLE = "ROOM_UNRESOLVABLE"

    @property
    def status(self) -> Status:
        """UNOBSERVED: no snapshot; NOT_APPLICABLE: no client owns queues; NOT_REPLAYABLE: all others."""
        if self in (Reason.NO_ROUTE_SNAPSHOT, Reason.NO_MEMBERSHIP_SNAPSHOT):
            return Status.UNOBSERVED
        return Status.NOT_APPLICABLE if self in _NOT_APPLICABLE else Status.NOT_REPLAYABLE


#: Nothing is said of what is deleted.
IS_DELETED = (Reason.DELETED, Reason.TOPIC_DELETED)
#: No broker lists the members, and their group is consumed.
CONSUMED_UNSEEN = (Reason.CONSUMED_THROUGH_PROXY, Reason.CONSUMED_BY_UNSEEN)
#: Nothing is known of the members, as no broker of the topic is.
WITHOUT_ROUTE = (Reason.NO_ROUTE, Reason.NO_ROUTE_SNAPSHOT)
#: The broker hands out the messages, so no queue has an owner.
HANDED_OUT = (Reason.BROKER_REBALANCE, Reason.POP_ALL_QUEUES)
#: The queues of the route have no offsets of the group. In all other time that was observed they do.
WITHOUT_OFFSETS = (*IS_DELETED, Reason.STATIC_TOPIC, Reason.LITE, Reason.BROADCASTING, Reason.NOT_SUBSCRIBED)
_NOT_APPLICABLE = (
    *(*IS_DELETED, Reason.LITE, Reason.BROADCASTING),
    *(*HANDED_OUT, *CONSUMED_UNSEEN, Reason.ASSIGNED_BY_HAND, Reason.NOT_SUBSCRIBED),
)


class Trigger(StrEnum):
    """The trigger of a rebalance; of several the first of this order is published: the rarer and wider comes first.

    BROKER_SWITCHED makes no client rebalance: it is named with what changed around it, as a broker that begins to
    serve lists members as they send their heartbeats. A member that comes back under its own id has JOINED: whether it
    restarted or reconnected, its connection does not show.
    """

    FIRST_OBSERVATION = "FIRST_OBSERVATION"
    BROKER_GONE = "BROKER_GONE"
    BROKER_BACK = "BROKER_BACK"
    BROKER_SWITCHED = "BROKER_SWITCHED"
    QUEUES_REMOVED = "QUEUES_REMOVED"
    QUEUES_ADDED = "QUEUES_ADDED"
    MEMBER_RESTARTED = "MEMBER_RESTARTED"
    MEMBER_EXPIRED = "MEMBER_EXPIRED"
    MEMBER_LEFT = "MEMBER_LEFT"
    MEMBER_JOINED = "MEMBER_JOINED"
    STRATEGY_CHANGED = "STRATEGY_CHANGED"
    SUBSCRIPTION_CHANGED = "SUBSCRIPTION_CHANGED"


class Verdict(StrEnum):
    """Verdict on one queue in a window, the worst first."""

    STOP = "STOP"
    REWIND = "REWIND"
    STALL = "STALL"
    WARN = "WARN"
    OK = "OK"


class LagQuality(StrEnum):
    """Quality of a queue's lag. UNFILTERED: it counts messages that the subscription leaves out, too. BEYOND_END: the
    committed offset is beyond the end of the queue. END_UNKNOWN: the end is in no sample, as logs do not have it.
    """

    MEASURED = "MEASURED"
    UNFILTERED = "UNFILTERED"
    NEVER_COMMITTED = "NEVER_COMMITTED"
    BEYOND_END = "BEYOND_END"
    END_UNKNOWN = "END_UNKNOWN"
    NO_READING = "NO_READING"
