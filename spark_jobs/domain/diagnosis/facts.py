"""The facts of a queue whose offset stands while messages wait. `None`: unknown, as not recorded, or not reported by
this client's language or version.
"""

from dataclasses import dataclass, fields
from typing import Literal

#: The consumer of the queue: a client, or why its name is not known.
Owner = Literal["CLIENT", "HANDED_OUT", "UNSEEN", "STRATEGY_UNKNOWN", "NOT_REPLAYED"]
#: Answer of the owner's process to a request for its running info.
ProcessState = Literal["ANSWERS", "NOT_IN_GROUP", "SILENT"]
#: The broker's lock that an orderly consumer needs for the queue.
Lock = Literal["NOT_NEEDED", "FRESH", "MISSING"]
#: Requests of the owner for messages of the queue. A client sets the time of its last pull before it looks whether it
#: is suspended or holds too much (`DefaultMQPushConsumerImpl.pullMessage`): a fresh one does not mean that any message
#: came.
Pulls = Literal["CONTINUE", "SELDOM", "STOPPED"]
#: Messages of the queue that the owner has cached. `SPAN_LIMIT`: the oldest is so far behind the newest that it pulls
#: no more. `MISCOUNTED`: it has none, and fetches none because it counts more MiB than its limit.
InHand = Literal["NOTHING", "SOME", "SPAN_LIMIT", "MISCOUNTED"]
#: The oldest message in hand: the one at the committed offset, or another one.
Oldest = Literal["COMMITTED", "ANOTHER"]
#: Calls of the owner's listener meanwhile. `FINISHES`: calls return. `SLOW`: one call takes half as long as the queue
#: stands, or longer.
Listener = Literal["FAILS", "FINISHES", "SLOW", "DOES_NOT_RETURN"]
#: Commits of the topic's offsets. `SELDOM`: all queues at once, at even distances, and within twice the usual distance;
#: `OVERDUE`: for longer. `NEVER`: this queue has no committed offset.
Commits = Literal["STAND", "SELDOM", "OVERDUE", "NEVER"]
#: The queues of the topic that stand at that time; `ONLY_OF_OWNER`: its owner has no other one.
Extent = Literal["ALL_OF_TOPIC", "ALL_OF_OWNER", "ONLY_OF_OWNER", "SOME"]


@dataclass(frozen=True)
class Facts:
    """The facts of one queue and owner, in a time in which the offset stands.

    `masterless`: the route names only slaves of the queue's broker. `starved`: higher priorities took all pops.
    `blocked`: the topic is ordered, and other queues of the broker are consumed. `expired`: the broker deleted what
    waits, and nothing came. `listed`: the queue's broker lists the owner. `holds`: the owner lists the queue.
    `orderly`: it consumes in order. `reads_on`: the broker's pull offset advances, or a Java owner finishes messages
    again and again. `by_hand`: the application decides when to pull. `filtered`: the group may not subscribe to what
    waits. `java`: the owner is a Java client. `sent_back`: messages came into the group's retry topic.
    """

    owner: Owner = "CLIENT"
    masterless: bool = False
    starved: bool = False
    blocked: bool = False
    expired: bool = False
    listed: bool | None = None
    process: ProcessState | None = None
    holds: bool | None = None
    orderly: bool | None = None
    lock: Lock | None = None
    pulls: Pulls | None = None
    in_hand: InHand | None = None
    oldest: Oldest | None = None
    listener: Listener | None = None
    commits: Commits = "STAND"
    reads_on: bool | None = None
    by_hand: bool = False
    filtered: bool = False
    java: bool | None = None
    sent_back: bool | None = None
    extent: Extent = "SOME"

    def in_words(self) -> str:
        """The facts that are known of the client, as one sentence; empty: none is."""
        words = [text for name in _FIELDS if (text := _WORDS.get((name, getattr(self, name))))]
        return f"Known: the client {', '.join(words)}." if words else ""


_FIELDS = tuple(field.name for field in fields(Facts))
_WORDS: dict[tuple[str, bool | str], str] = {
    ("listed", False): "is not listed by the queue's broker",
    ("process", "ANSWERS"): "answers",
    ("process", "NOT_IN_GROUP"): "answers that it has no consumer of the group",
    ("process", "SILENT"): "does not answer",
    ("holds", True): "holds the queue",
    ("holds", False): "does not hold the queue",
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
