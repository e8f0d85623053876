"""Would more consumers have helped? The answer names what limits a group."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Limit(StrEnum):
    """What keeps a group from consuming faster; the first that applies, in this order."""

    UNKNOWN_BACKLOG = "UNKNOWN_BACKLOG"
    NO_BACKLOG = "NO_BACKLOG"
    NOBODY_ONLINE = "NOBODY_ONLINE"
    DUPLICATE_IDS = "DUPLICATE_IDS"
    SUBSCRIPTIONS = "SUBSCRIPTIONS"
    ALLOCATION = "ALLOCATION"
    STUCK_CONSUMER = "STUCK_CONSUMER"
    PRODUCER_SKEW = "PRODUCER_SKEW"
    ORDERLY_LOCKS = "ORDERLY_LOCKS"
    LISTENER = "LISTENER"
    QUEUES = "QUEUES"
    MEMBERS = "MEMBERS"


@dataclass(frozen=True)
class GroupAtEnd:
    """A group at the end of a step.

    `members`: connections, None: it was never replayed; `queues`: readable queues of the topic with most, retry topics
    aside. `backlog_start` and `backlog_end`: messages over all its topics, None is unknown. `out_rate`: messages a
    second consumed in the step. `signs`: of its findings (`sign`).
    """

    members: int | None
    queues: int
    backlog_start: int | None
    backlog_end: int | None
    out_rate: float | None = None
    signs: frozenset[str] = frozenset()

    @property
    def busiest_share(self) -> int | None:
        """Queues of the member with the most, shared evenly; None without members."""
        return busiest_share(self.queues, self.members)

    @property
    def share_after(self) -> int | None:
        """The same with one more member."""
        return None if self.members is None else busiest_share(self.queues, self.members + 1)


def sign(rule: str, cause: str | None) -> str:
    """What a finding says of a group's capacity: its rule, and the cause where that matters."""
    return f"{rule}/{cause}" if rule == _TOLD_BY_CAUSE and cause is not None else rule


#: The rule whose findings stand for different limits, by their cause.
_TOLD_BY_CAUSE = "UNASSIGNED_QUEUE"
#: Which findings stand for which limit, and what helps then.
SIGNS: dict[Limit, tuple[str, ...]] = {
    Limit.DUPLICATE_IDS: ("DUPLICATE_CLIENT_ID",),
    Limit.SUBSCRIPTIONS: ("SUBSCRIPTION_MISMATCH", "UNASSIGNED_QUEUE/MEMBER_NOT_SUBSCRIBED"),
    Limit.ALLOCATION: (
        "MIXED_STRATEGIES",
        "UNASSIGNED_QUEUE/MIXED_STRATEGIES",
        "UNASSIGNED_QUEUE/CONFIG_HOLE",
        "UNASSIGNED_QUEUE/ROOM_FILTER",
        "UNASSIGNED_QUEUE/NO_VIRTUAL_NODES",
    ),
    Limit.STUCK_CONSUMER: ("CLIENT_HUNG", "CONSUMER_STOPPED", "CONSUMER_STALLED"),
    Limit.PRODUCER_SKEW: ("PRODUCER_SKEW",),
    Limit.ORDERLY_LOCKS: ("ORDERLY_LOCK_MISSING",),
    Limit.LISTENER: ("SLOW_LISTENER", "FLOW_CONTROLLED"),
}
ADVICE: dict[Limit, str] = {
    Limit.UNKNOWN_BACKLOG: "Unknown: the backlog of the group is not known.",
    Limit.NO_BACKLOG: "Nothing to help: {members} members keep up with {queues} queues.",
    Limit.NOBODY_ONLINE: "Yes: nobody is online. Start consumers, up to {queues} of them have queues.",
    Limit.DUPLICATE_IDS: "No: give every consumer its own client id first. A further twin only consumes twice.",
    Limit.SUBSCRIPTIONS: "No: let all members subscribe the same topics first. A share of who does not is nobody's.",
    Limit.ALLOCATION: "No: queues are left out by strategy or configuration. Correct these first.",
    Limit.STUCK_CONSUMER: "No: a consumer is stuck, and its queues wait for it. Restart it, and look at its threads.",
    Limit.PRODUCER_SKEW: "No: the messages arrive in few of the queues. Spread the keys over the queues.",
    Limit.ORDERLY_LOCKS: "No: an orderly consumer waits for the broker's lock of its queues.",
    Limit.LISTENER: "No: the listener is the limit. Make it faster, or give it more threads.",
    Limit.QUEUES: "No: {members} members share {queues} queues, a further one would be idle. Add queues.",
    Limit.MEMBERS: "Yes, up to {queues} members: one more takes the busiest one from {share} to {share_after} queues.",
}
#: A backlog that the group clears in this time, at the pace of the step, is none.
CATCH_UP_SECONDS = 60


def limit(group: GroupAtEnd) -> Limit:
    """What limits the group. A backlog counts if it did not shrink, and takes longer than a minute to clear."""
    if group.backlog_end is None:
        return Limit.UNKNOWN_BACKLOG
    shrank = group.backlog_start is not None and group.backlog_end < group.backlog_start
    if shrank or group.backlog_end <= CATCH_UP_SECONDS * (group.out_rate or 0):
        return Limit.NO_BACKLOG
    if group.members == 0:
        return Limit.NOBODY_ONLINE
    signed = (found for found, signs in SIGNS.items() if group.signs.intersection(signs))
    has_one_each = group.members is not None and group.members >= group.queues
    return next(signed, Limit.QUEUES if has_one_each else Limit.MEMBERS)


def more_members_help(found: Limit) -> bool | None:
    """Whether more members would help; None where nothing has to be helped, or nothing is known."""
    if found in (Limit.UNKNOWN_BACKLOG, Limit.NO_BACKLOG):
        return None
    return found in (Limit.MEMBERS, Limit.NOBODY_ONLINE)


def busiest_share(queues: int, members: int | None) -> int | None:
    """Queues of the member with the most, shared evenly; None without members."""
    return -(-queues // members) if members else None


def advice(group: GroupAtEnd) -> str:
    """The answer in words and numbers."""
    values = {"members": group.members, "share": group.busiest_share, "share_after": group.share_after}
    shown = {name: "?" if value is None else value for name, value in values.items()}
    return ADVICE[limit(group)].format(queues=group.queues, **shown)
