"""Why a group rebalanced, and what that moved: an allocation compared with the one before it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from enum import StrEnum

from spark_jobs.domain.model.history import Place
from spark_jobs.domain.model.window import SECOND

#: A broker drops a connection 120 s after its last heartbeat, which it looks for every 10 s; heartbeats come every
#: 30 s (`ClientManageProcessor`, `ConsumerManager.scanNotActiveChannel`). So one that fell silent goes 90–130 s later.
EXPIRES_AFTER = 90 * SECOND
EXPIRED_BY = 150 * SECOND


class Trigger(StrEnum):
    """What set off a rebalance; of several, the first of this order stands for it: the rarer and wider comes first.

    That another process serves a broker makes no client rebalance: it is named beside what changed around it, which
    it explains, as a broker that begins to serve lists members as they send their heartbeats.

    A member that comes back under its own id has JOINED: whether it restarted, reconnected or was thawed, its
    connection does not tell.
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


def queue_changes(
    before: Mapping[str, int], after: Mapping[str, int], seen: Collection[str]
) -> dict[Trigger, set[str]]:
    """What changed of the readable queues per broker, `0 … n−1`: brokers and ranges by trigger.

    `seen`: the brokers of all replayed intervals before, so that one coming back is told from a new one.
    """
    back = {broker for broker in after if broker not in before and broker in seen}
    grown = {broker for broker in after if after[broker] > before.get(broker, 0)} - back
    shrunk = {broker for broker in after if after[broker] < before.get(broker, 0)}
    return {
        Trigger.BROKER_GONE: {broker for broker in before if broker not in after},
        Trigger.BROKER_BACK: back,
        Trigger.QUEUES_REMOVED: {_range(broker, after[broker], before[broker]) for broker in shrunk},
        Trigger.QUEUES_ADDED: {_range(broker, before.get(broker, 0), after[broker]) for broker in grown},
    }


def _range(broker: str, first: int, end: int) -> str:
    return f"{broker}:{first}" if end == first + 1 else f"{broker}:{first}-{end - 1}"


def member_changes(left: Collection[str], joined: Collection[str], expired: Collection[str]) -> dict[Trigger, set[str]]:
    """The client ids that left and joined, by trigger; `expired`: those of `has_expired`."""
    swapped = {host(one) for one in left} & {host(one) for one in joined} - {None}
    restarted = {one for one in (*left, *joined) if host(one) in swapped}
    gone = set(left) - restarted
    return {
        Trigger.MEMBER_RESTARTED: restarted,
        Trigger.MEMBER_EXPIRED: gone & set(expired),
        Trigger.MEMBER_LEFT: gone - set(expired),
        Trigger.MEMBER_JOINED: set(joined) - restarted,
    }


def host(client_id: str) -> str | None:
    """The address a client gives itself, `ip@instanceName`; None: its id does not have that form.

    A process that restarts under a new instance name (`pid#nanoTime`, Java ≥ 4.9) is known by it. The address of the
    connection would not do: every broker sees another one, and behind a proxy all clients have the same.
    """
    name, at, _ = client_id.partition("@")
    return name if at else None


def has_expired(left_at: int, last_answer: int, first_unanswered: int, next_answer: int | None, cadence: int) -> bool:
    """Whether a member that a snapshot no longer shows stopped answering as long before as an expired connection does.

    Microseconds. `first_unanswered`: it was asked after its `last_answer` and did not answer; `next_answer`: when it
    did again.
    """
    never_since = first_unanswered < left_at and (next_answer is None or next_answer >= left_at)
    return never_since and EXPIRES_AFTER <= left_at - last_answer <= EXPIRED_BY + cadence


Owners = Mapping[Place, tuple[str, ...]]


def least_moves(before: Owners, after: Owners) -> int:
    """The fewest queues, of those present before and after, that any allocation with the same shares would have moved.

    A queue's owner is the set of ids that own it: mostly one, nobody is an owner too. The same shares: every owner
    has as many of the queues present now. An owner can keep no more of the queues present in both than it had of
    them, and no more than its share; and all owners can keep so many at once, because the queues that are not kept
    are exactly as many as the places that are left in the shares, and may go to any of them. Hence at most
    Σ min(had, share) are kept, and the rest of the queues present in both must move.
    """
    both = before.keys() & after.keys()
    kept_at_most = Counter(before[queue] for queue in both) & Counter(after.values())
    return len(both) - kept_at_most.total()
