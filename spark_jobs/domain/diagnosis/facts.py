"""The facts of a queue whose offset stands while messages wait; every one of them may be unknown.

`UNKNOWN`: not recorded, or not reported by this client's language or version.
"""

from dataclasses import dataclass, fields
from enum import StrEnum


class Owner(StrEnum):
    """The consumer of the queue: a client, or why its name is not known."""

    CLIENT = "CLIENT"
    HANDED_OUT = "HANDED_OUT"
    UNSEEN = "UNSEEN"
    STRATEGY_UNKNOWN = "STRATEGY_UNKNOWN"
    NOT_REPLAYED = "NOT_REPLAYED"


class ProcessState(StrEnum):
    """Answer of the owner's process to a request for its running info."""

    ANSWERS = "ANSWERS"
    NOT_IN_GROUP = "NOT_IN_GROUP"
    SILENT = "SILENT"
    UNKNOWN = "UNKNOWN"


class Lock(StrEnum):
    """The broker's lock that an orderly consumer needs for the queue."""

    NOT_NEEDED = "NOT_NEEDED"
    FRESH = "FRESH"
    MISSING = "MISSING"
    UNKNOWN = "UNKNOWN"


class Pulls(StrEnum):
    """Requests of the owner for messages of the queue. A client sets the time of its last pull before it looks whether
    it is suspended or holds too much (`DefaultMQPushConsumerImpl.pullMessage`): a fresh one does not mean that any
    message came.
    """

    CONTINUE = "CONTINUE"
    SELDOM = "SELDOM"
    STOPPED = "STOPPED"
    UNKNOWN = "UNKNOWN"


class InHand(StrEnum):
    """Messages of the queue that the owner has cached. `SPAN_LIMIT`: the oldest is so far behind the newest that it
    pulls no more. `MISCOUNTED`: it has none, and fetches none because it counts more MiB than its limit.
    """

    NOTHING = "NOTHING"
    SOME = "SOME"
    SPAN_LIMIT = "SPAN_LIMIT"
    MISCOUNTED = "MISCOUNTED"
    UNKNOWN = "UNKNOWN"


class Oldest(StrEnum):
    """The oldest message in hand: the one at the committed offset, or another one."""

    COMMITTED = "COMMITTED"
    ANOTHER = "ANOTHER"
    UNKNOWN = "UNKNOWN"


class Listener(StrEnum):
    """Calls of the owner's listener meanwhile. `FINISHES`: calls return. `SLOW`: one call takes half as long as the
    queue stands, or longer.
    """

    FAILS = "FAILS"
    FINISHES = "FINISHES"
    SLOW = "SLOW"
    DOES_NOT_RETURN = "DOES_NOT_RETURN"
    UNKNOWN = "UNKNOWN"


class Commits(StrEnum):
    """Commits of the topic's offsets. `SELDOM`: all queues at once, at even distances, and within twice the
    usual distance; `OVERDUE`: for longer. `NEVER`: this queue has no committed offset.
    """

    STAND = "STAND"
    SELDOM = "SELDOM"
    OVERDUE = "OVERDUE"
    NEVER = "NEVER"


class YesNo(StrEnum):
    """A fact that is true, or not."""

    YES = "YES"
    NO = "NO"
    UNKNOWN = "UNKNOWN"


class Extent(StrEnum):
    """The queues of the topic that stand at that time; `ONLY_OF_OWNER`: its owner has no other one."""

    ALL_OF_TOPIC = "ALL_OF_TOPIC"
    ALL_OF_OWNER = "ALL_OF_OWNER"
    ONLY_OF_OWNER = "ONLY_OF_OWNER"
    SOME = "SOME"


@dataclass(frozen=True)
class Facts:
    """The facts of one queue and owner, in a time in which the offset stands.

    `master`: the route names a master of the queue's broker. `starved`: higher priorities took all pops. `blocked`: the
    topic is ordered, and other queues of the broker are consumed. `expired`: the broker deleted what waits, and nothing
    came. `listed`: the queue's broker lists the owner. `holds`: the owner lists the queue. `orderly`: it consumes in
    order. `reads_on`: the broker's pull offset advances, or a Java owner finishes messages again and again. `by_hand`:
    the application decides when to pull. `filtered`: the group may not subscribe to what waits. `java`: the owner is a
    Java client.
    """

    owner: Owner = Owner.CLIENT
    master: YesNo = YesNo.UNKNOWN
    starved: bool = False
    blocked: bool = False
    expired: bool = False
    listed: YesNo = YesNo.UNKNOWN
    process: ProcessState = ProcessState.UNKNOWN
    holds: YesNo = YesNo.UNKNOWN
    orderly: YesNo = YesNo.UNKNOWN
    lock: Lock = Lock.UNKNOWN
    pulls: Pulls = Pulls.UNKNOWN
    in_hand: InHand = InHand.UNKNOWN
    oldest: Oldest = Oldest.UNKNOWN
    listener: Listener = Listener.UNKNOWN
    commits: Commits = Commits.STAND
    reads_on: YesNo = YesNo.UNKNOWN
    by_hand: bool = False
    filtered: bool = False
    java: YesNo = YesNo.UNKNOWN
    extent: Extent = Extent.SOME

    def in_words(self) -> str:
        """The facts that are known of the client, as one sentence; empty: none is."""
        words = [text for name in _FIELDS if (text := _WORDS.get((name, str(getattr(self, name)))))]
        return f"Known: the client {', '.join(words)}." if words else ""


_FIELDS = tuple(field.name for field in fields(Facts))
_WORDS = {
    ("listed", "NO"): "is not listed by the queue's broker",
    ("process", "ANSWERS"): "answers",
    ("process", "NOT_IN_GROUP"): "answers that it has no consumer of the group",
    ("process", "SILENT"): "does not answer",
    ("holds", "YES"): "holds the queue",
    ("holds", "NO"): "does not hold the queue",
    ("lock", "FRESH"): "has its lock",
    ("lock", "MISSING"): "lacks its lock",
    ("pulls", "CONTINUE"): "continues to pull",
    ("pulls", "SELDOM"): "pulls seldom, as configured",
    ("pulls", "STOPPED"): "pulls no more",
    ("in_hand", "NOTHING"): "has nothing in hand",
    ("in_hand", "SOME"): "has messages in hand",
    ("in_hand", "SPAN_LIMIT"): "has reached the limit of the span of messages in hand",
    ("in_hand", "MISCOUNTED"): "has nothing in hand and counts more MiB than its limit",
    ("oldest", "COMMITTED"): "has the message at the committed offset as its oldest one",
    ("listener", "FAILS"): "reports failures of the listener",
    ("listener", "FINISHES"): "finishes messages",
    ("listener", "SLOW"): "takes as long for one call",
    ("listener", "DOES_NOT_RETURN"): "has finished no message since",
}
