"""Owners of each queue of a topic, and why nobody or more than one owns it: every client is asked by itself."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from spark_jobs.domain.model.causes import DoubleOwnedCause, UnassignedCause
from spark_jobs.domain.model.message_queue import MessageQueue, RouteQueue
from spark_jobs.domain.rocketmq.allocation import KeepsAllocation, shares
from spark_jobs.domain.rocketmq.strategies import CONFIG, MACHINE_ROOM, Strategy, Variant
from tests.support.oracle.client import allocate


class Member(NamedTuple):
    """One connection of the group; twins share `client_id`. `subscribes`: it consumes this topic for the
    group; `broadcasts`: it consumes all for itself.
    """

    client_id: str
    strategy: Strategy
    subscribes: bool
    broadcasts: bool = False


class QueueOwnership(NamedTuple):
    """One queue; `owners` are positions in the member list, with a cause if they are none or several."""

    queue: MessageQueue
    readable: bool
    owners: tuple[int, ...]
    unassigned_cause: str | None = None
    unassigned_client_id: str | None = None
    double_owned_cause: str | None = None


class _Claim(NamedTuple):
    """Under this strategy, which some member runs, the queue lies in the share of this position."""

    strategy: Strategy
    position: int


def ownership(members: Sequence[Member], queues: Sequence[RouteQueue]) -> list[QueueOwnership]:
    """One per queue, in the order of `queues`; members come sorted by client id, duplicates kept.

    A queue is owned by every connection that subscribes and takes it. Where nobody owns it because of whose share it
    lies in, `unassigned_client_id` is the id at the lowest position to which the cause applies.
    """
    readable = [queue.queue for queue in queues if not queue.unreadable]
    taken = [_taken(member, readable, members) for member in members]
    return [
        QueueOwnership(queue, False, (), unreadable)
        if unreadable
        else _owned(queue, [place for place, own in enumerate(taken) if queue in own], readable, members)
        for queue, unreadable in queues
    ]


def _taken(member: Member, queues: Sequence[MessageQueue], members: Sequence[Member]) -> set[MessageQueue]:
    """What one client makes of the lists; nothing is known of one that keeps what it had."""
    try:
        found = allocate(member.strategy, member.client_id, queues, [member.client_id for member in members])
    except KeepsAllocation:
        return set()
    return set(found or ()) if member.subscribes else set()


def _owned(
    queue: MessageQueue, owners: Sequence[int], readable: Sequence[MessageQueue], members: Sequence[Member]
) -> QueueOwnership:
    if not owners:
        return _why_unowned(queue, _claims(queue, readable, members), members)
    cause = _double_owned_cause([members[owner] for owner in owners])
    return QueueOwnership(queue, True, tuple(owners), double_owned_cause=cause)


def _claims(queue: MessageQueue, readable: Sequence[MessageQueue], members: Sequence[Member]) -> list[_Claim]:
    found = []
    for strategy in {member.strategy for member in members}:
        try:
            dealt = shares(strategy, readable, [member.client_id for member in members])
        except KeepsAllocation:
            continue
        found += [_Claim(strategy, share.position) for share in dealt if readable[share.queue] == queue]
    return found


def _double_owned_cause(owners: Sequence[Member]) -> DoubleOwnedCause | None:
    if len(owners) < 2:
        return None
    if len({owner.client_id for owner in owners}) == 1:
        return DoubleOwnedCause.DUPLICATE_CLIENT_ID
    if len({owner.strategy.name for owner in owners}) > 1:
        return DoubleOwnedCause.MIXED_STRATEGIES
    if len({owner.strategy.variant for owner in owners}) > 1:
        return DoubleOwnedCause.MIXED_CLIENTS
    return DoubleOwnedCause.CONFIG_OVERLAP


def _why_unowned(queue: MessageQueue, claims: Sequence[_Claim], members: Sequence[Member]) -> QueueOwnership:
    """Claims that made nobody the owner are of four kinds; without any, the strategies left it out."""
    claimants: dict[UnassignedCause, list[int]] = defaultdict(list)
    for claim in claims:
        claimants[_why_idle(claim, members)].append(claim.position)
    for cause in UnassignedCause:
        if cause in claimants:
            return QueueOwnership(queue, True, (), cause, members[min(claimants[cause])].client_id)
    return QueueOwnership(queue, True, (), _why_left_out(queue, members))


def _why_idle(claim: _Claim, members: Sequence[Member]) -> UnassignedCause:
    client_id = members[claim.position].client_id
    if client_id in [member.client_id for member in members[: claim.position]]:
        return UnassignedCause.DUPLICATE_CLIENT_ID
    if members[claim.position].broadcasts:
        return UnassignedCause.MEMBER_BROADCASTS
    if not members[claim.position].subscribes:
        return UnassignedCause.MEMBER_NOT_SUBSCRIBED
    same_name = members[claim.position].strategy.name == claim.strategy.name
    return UnassignedCause.MIXED_CLIENTS if same_name else UnassignedCause.MIXED_STRATEGIES


def _why_left_out(queue: MessageQueue, members: Sequence[Member]) -> UnassignedCause:
    names = {member.strategy.name for member in members}
    if not names:
        return UnassignedCause.GROUP_OFFLINE
    if any(_in_rooms(queue.broker_name, member.strategy) for member in members):
        return UnassignedCause.MACHINE_ROOM_BUG
    if MACHINE_ROOM in names:
        return UnassignedCause.ROOM_FILTER
    if CONFIG in names:
        return UnassignedCause.CONFIG_HOLE
    return UnassignedCause.NO_VIRTUAL_NODES


def _in_rooms(broker_name: str, strategy: Strategy) -> bool:
    """Whether MACHINE_ROOM counts the broker; Java does not see the empty parts that a name ends with."""
    name = broker_name if strategy.variant == Variant.GO else broker_name.rstrip("@")
    room, *others = name.split("@")
    return strategy.name == MACHINE_ROOM and len(others) == 1 and room in (strategy.rooms or ())


#: Readable queues without owner, and with more than one.
Counts = tuple[int, int]


def counts(owned: Sequence[QueueOwnership]) -> Counts:
    """Of all queues."""
    numbers = [len(queue.owners) for queue in owned if queue.readable]
    return numbers.count(0), sum(number > 1 for number in numbers)


def if_deduplicated(members: Sequence[Member], queues: Sequence[RouteQueue]) -> Counts:
    """What would be left if every id were in the list once: its twins would go on to consume what the one gets, the
    first if they compute differently.
    """
    connections = Counter(member.client_id for member in members)
    ids = [member.client_id for member in members]
    once = [member for position, member in enumerate(members) if member.client_id not in ids[:position]]
    owned = ownership(once, queues)
    consumers = [sum(connections[once[owner].client_id] for owner in queue.owners) for queue in owned if queue.readable]
    return consumers.count(0), sum(number > 1 for number in consumers)


def if_unique(members: Sequence[Member], queues: Sequence[RouteQueue]) -> Counts:
    """What would be left if every connection had an id of its own: further ones of an id come right after it."""
    named = []
    for position, member in enumerate(members):
        twin = [earlier.client_id for earlier in members[:position]].count(member.client_id)
        named.append(member._replace(client_id=f"{member.client_id}#twin{twin}" if twin else member.client_id))
    return counts(ownership(named, queues))
