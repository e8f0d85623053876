"""Who consumes each queue of a topic, and why nobody or more than one does."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from spark_jobs.domain.allocation import shares
from spark_jobs.domain.causes import DoubleOwnedCause, UnassignedCause
from spark_jobs.domain.message_queue import MessageQueue, RouteEntry, all_queues, readable_queues
from spark_jobs.domain.strategies import CONFIG, MACHINE_ROOM, Strategy


class Member(NamedTuple):
    """One connection of the group; twins share `client_id`. `subscribes`: it consumes this topic."""

    client_id: str
    client_addr: str | None
    strategy: Strategy
    subscribes: bool


class QueueOwnership(NamedTuple):
    """One queue; `owners` are positions in the member list, with a cause if they are none or several."""

    queue: MessageQueue
    readable: bool
    owners: tuple[int, ...]
    unassigned_cause: UnassignedCause | None
    unassigned_client_id: str | None
    double_owned_cause: DoubleOwnedCause | None


class _Claim(NamedTuple):
    """Under this strategy, which some member runs, the queue lies in the share of this position."""

    strategy: Strategy
    position: int


def ownership(topic: str, members: Sequence[Member], route: Sequence[RouteEntry]) -> list[QueueOwnership]:
    """One per queue of `all_queues`, in allocation order; members come sorted by client id, duplicates kept.

    A queue is owned by every member whose own strategy gives it to the first position of its id, if it
    subscribes. Where nobody owns it because of whose share it lies in, `unassigned_client_id` is the id at
    the lowest position to which the cause applies. Raises `KeepsWhatItHad` and `StrategyError` like
    `shares`.
    """
    claims = _claims(readable_queues(topic, route), members)
    return [
        _unowned(queue, readable=False, cause=unreadable) if unreadable else _owned(queue, claims[queue], members)
        for queue, unreadable in all_queues(topic, route)
    ]


def _claims(queues: Sequence[MessageQueue], members: Sequence[Member]) -> dict[MessageQueue, list[_Claim]]:
    client_ids = [member.client_id for member in members]
    claims: dict[MessageQueue, list[_Claim]] = defaultdict(list)
    for strategy in {member.strategy for member in members}:
        for share in shares(strategy, queues, client_ids):
            claims[queues[share.queue]].append(_Claim(strategy, share.position))
    return claims


def _owned(queue: MessageQueue, claims: Sequence[_Claim], members: Sequence[Member]) -> QueueOwnership:
    owners = tuple(
        position
        for position, member in enumerate(members)
        if member.subscribes and _Claim(member.strategy, _first_position(position, members)) in claims
    )
    if not owners:
        return _why_unowned(queue, claims, members)
    return QueueOwnership(queue, True, owners, None, None, _double_owned_cause([members[owner] for owner in owners]))


def _first_position(position: int, members: Sequence[Member]) -> int:
    return next(i for i, member in enumerate(members) if member.client_id == members[position].client_id)


def _double_owned_cause(owners: Sequence[Member]) -> DoubleOwnedCause | None:
    if len(owners) < 2:
        return None
    if len({owner.client_id for owner in owners}) == 1:
        return DoubleOwnedCause.DUPLICATE_CLIENT_ID
    if len({owner.strategy for owner in owners}) > 1:
        return DoubleOwnedCause.MIXED_STRATEGIES
    return DoubleOwnedCause.CONFIG_OVERLAP


def _why_unowned(queue: MessageQueue, claims: Sequence[_Claim], members: Sequence[Member]) -> QueueOwnership:
    """Claims that made nobody the owner are of three kinds; without any, the strategies left it out."""
    claimants: dict[UnassignedCause, list[int]] = defaultdict(list)
    for claim in claims:
        claimants[_why_idle(claim, members)].append(claim.position)
    for cause in UnassignedCause:
        if cause in claimants:
            return _unowned(queue, cause=cause, client_id=members[min(claimants[cause])].client_id)
    return _unowned(queue, cause=_why_left_out(members))


def _why_idle(claim: _Claim, members: Sequence[Member]) -> UnassignedCause:
    if claim.position != _first_position(claim.position, members):
        return UnassignedCause.DUPLICATE_CLIENT_ID
    if not members[claim.position].subscribes:
        return UnassignedCause.MEMBER_NOT_SUBSCRIBED
    return UnassignedCause.MIXED_STRATEGIES


def _why_left_out(members: Sequence[Member]) -> UnassignedCause:
    names = {member.strategy.name for member in members}
    if not names:
        return UnassignedCause.GROUP_OFFLINE
    if MACHINE_ROOM in names:
        return UnassignedCause.ROOM_FILTER
    if CONFIG in names:
        return UnassignedCause.CONFIG_HOLE
    return UnassignedCause.NO_VIRTUAL_NODES


def _unowned(
    queue: MessageQueue, *, cause: UnassignedCause, readable: bool = True, client_id: str | None = None
) -> QueueOwnership:
    return QueueOwnership(queue, readable, (), cause, client_id, None)
