"""Why a group rebalanced, and what that moved: two allocations compared, the later one with the one before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from spark_jobs.domain.timeline import IntervalMember

#: A broker drops a connection 120 s after its last heartbeat, which it looks for every 10 s; heartbeats come every
#: 30 s (`ClientManageProcessor`, `ConsumerManager.scanNotActiveChannel`). So one that fell silent goes 90–130 s later.
EXPIRES_AFTER = timedelta(seconds=90)
EXPIRED_BY = timedelta(seconds=150)


class Trigger(StrEnum):
    """What set off a rebalance; of several, the first of this order stands for it: the rarer and wider comes first.

    A member that comes back under its own id has JOINED: whether it restarted, reconnected or was thawed, its
    connection does not tell.
    """

    FIRST_OBSERVATION = "FIRST_OBSERVATION"
    BROKER_GONE = "BROKER_GONE"
    BROKER_BACK = "BROKER_BACK"
    QUEUES_REMOVED = "QUEUES_REMOVED"
    QUEUES_ADDED = "QUEUES_ADDED"
    MEMBER_RESTARTED = "MEMBER_RESTARTED"
    MEMBER_EXPIRED = "MEMBER_EXPIRED"
    MEMBER_LEFT = "MEMBER_LEFT"
    MEMBER_JOINED = "MEMBER_JOINED"
    STRATEGY_CHANGED = "STRATEGY_CHANGED"
    SUBSCRIPTION_CHANGED = "SUBSCRIPTION_CHANGED"


class Situation(NamedTuple):
    """One replayed allocation of a topic.

    `queues`: readable queues per broker, `0 … n−1`; `owners`: the client ids that own each of them, (broker, id).
    """

    members: tuple[IntervalMember, ...]
    queues: Mapping[str, int]
    owners: Mapping[tuple[str, int], frozenset[str]]


class Moves(NamedTuple):
    """Of the queues present before and after: how many changed their owners, kept them, had to change them."""

    moved: int
    preserved: int
    least: int


def triggers(
    before: Situation, after: Situation, seen_brokers: Collection[str], expired: Collection[str]
) -> list[tuple[Trigger, str]]:
    """Every trigger with who or what it is about, in the order of `Trigger`; empty: no input differs.

    `seen_brokers`: those of all replayed intervals before, so that one coming back is told from a new one;
    `expired`: the client ids of `has_expired`.
    """
    subjects = _queue_changes(before.queues, after.queues, seen_brokers) | _member_changes(before, after, expired)
    return [(trigger, ", ".join(sorted(subjects[trigger]))) for trigger in Trigger if subjects.get(trigger)]


def _queue_changes(
    before: Mapping[str, int], after: Mapping[str, int], seen: Collection[str]
) -> dict[Trigger, set[str]]:
    come = {broker for broker in after if broker not in before}
    grown = {broker for broker in after if after[broker] > before.get(broker, 0)} - (come & set(seen))
    shrunk = {broker for broker in after if after[broker] < before.get(broker, 0)}
    return {
        Trigger.BROKER_GONE: {broker for broker in before if broker not in after},
        Trigger.BROKER_BACK: come & set(seen),
        Trigger.QUEUES_REMOVED: {_range(broker, after[broker], before[broker]) for broker in shrunk},
        Trigger.QUEUES_ADDED: {_range(broker, before.get(broker, 0), after[broker]) for broker in grown},
    }


def _range(broker: str, first: int, end: int) -> str:
    return f"{broker}:{first}" if end == first + 1 else f"{broker}:{first}-{end - 1}"


def _member_changes(before: Situation, after: Situation, expired: Collection[str]) -> dict[Trigger, set[str]]:
    was, now = (Counter(member.client_id for member in one.members) for one in (before, after))
    left, joined = set(was - now), set(now - was)
    swapped = {host(one) for one in left} & {host(one) for one in joined} - {None}
    restarted = {one for one in left | joined if host(one) in swapped}
    known = {member.client_id: member for member in before.members}
    stayed = [(member, known[member.client_id]) for member in after.members if member.client_id in known]
    return {
        Trigger.MEMBER_RESTARTED: restarted,
        Trigger.MEMBER_EXPIRED: (left - restarted) & set(expired),
        Trigger.MEMBER_LEFT: left - restarted - set(expired),
        Trigger.MEMBER_JOINED: joined - restarted,
        Trigger.STRATEGY_CHANGED: {now.client_id for now, was in stayed if now.strategy != was.strategy},
        Trigger.SUBSCRIPTION_CHANGED: {now.client_id for now, was in stayed if now.subscribes != was.subscribes},
    }


def host(client_id: str) -> str | None:
    """The address a client gives itself, `ip@instanceName`; None: its id does not have that form.

    A process that restarts under a new instance name (`pid#nanoTime`, Java ≥ 4.9) is known by it. The address of the
    connection would not do: every broker sees another one, and behind a proxy all clients have the same.
    """
    name, at, _ = client_id.partition("@")
    return name if at else None


def has_expired(
    left_at: datetime,
    last_answer: datetime,
    first_silence: datetime,
    next_answer: datetime | None,
    cadence: timedelta,
) -> bool:
    """Whether a member that a snapshot no longer shows fell silent as long before as an expired connection does.

    `first_silence`: it was asked after its `last_answer` and did not answer; `next_answer`: when it did again.
    """
    silent_throughout = first_silence < left_at and (next_answer is None or next_answer >= left_at)
    return silent_throughout and EXPIRES_AFTER <= left_at - last_answer <= EXPIRED_BY + cadence


def moves(before: Situation, after: Situation) -> Moves:
    """What the change moved, and the least that any allocation with the same shares would have had to move.

    A queue's owner is the set of ids that own it: mostly one, nobody is an owner too. The same shares: every owner
    has as many of the queues present now. An owner can keep no more of the queues present in both than it had of
    them, and no more than its share; and all owners can keep so many at once, because the queues that are not kept
    are exactly as many as the places that are left in the shares, and may go to any of them. Hence at most
    Σ min(had, share) are kept, and the rest of the queues present in both must move.
    """
    both = before.owners.keys() & after.owners.keys()
    moved = sum(before.owners[queue] != after.owners[queue] for queue in both)
    kept_at_most = Counter(before.owners[queue] for queue in both) & Counter(after.owners.values())
    return Moves(moved, len(both) - moved, len(both) - kept_at_most.total())
