"""The owners of each queue of a topic, and why it has none or several: one replay per distinct state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

from spark_jobs.domain.kernel.allocations import Allocation, Member, QueueOwners, is_harm
from spark_jobs.domain.model.caching import cached_with_value
from spark_jobs.domain.model.causes import DoubleOwnedCause, UnassignedCause
from spark_jobs.domain.model.finding import Counts
from spark_jobs.domain.model.history import Place
from spark_jobs.domain.model.message_queue import MessageQueue, RouteEntry, all_queues
from spark_jobs.domain.rocketmq.allocation import KeepsAllocation, first_positions, queues_in_rooms
from spark_jobs.domain.rocketmq.pop import shares_of
from spark_jobs.domain.rocketmq.strategies import (
    CONFIG,
    MACHINE_ROOM,
    UNKNOWN_STRATEGY,
    Implementation,
    StrategySettings,
    Variant,
    is_popped,
)

#: Appended, with a number, to the client id of a further connection to make it unique.
DUPLICATE_SUFFIX = "#twin"


class Inputs(NamedTuple):
    """The input of an allocation, in the order of clients; `unreadable`: (broker name, queue id, why) of the others."""

    topic: str
    members: tuple[Member, ...]
    queues: tuple[Place, ...]
    unreadable: tuple[tuple[str, int, UnassignedCause], ...]


class Queues(NamedTuple):
    """A topic's queues as every client sorts them: those that may be read, and the others that can hold messages."""

    readable: tuple[Place, ...]
    unreadable: tuple[tuple[str, int, UnassignedCause], ...]


def queues_of(route: Sequence[RouteEntry]) -> Queues:
    """The queues of a route (`MQClientInstance.topicRouteData2TopicSubscribeInfo`)."""
    queues = [(queue.broker_name, queue.queue_id, unreadable) for queue, unreadable in all_queues("", route)]
    return Queues(
        tuple((broker, queue_id) for broker, queue_id, unreadable in queues if unreadable is None),
        tuple((broker, queue_id, unreadable) for broker, queue_id, unreadable in queues if unreadable),
    )


@dataclass
class Replays:
    """The allocations and queues of one group, over all steps of a run: each distinct state is replayed once.

    `replay_of_known`: what the timeline makes of all snapshots together, `client_states` of those of clients;
    `observed`: the strategies that reports show.
    """

    settings: StrategySettings
    allocations: dict[Inputs, Allocation] = field(default_factory=dict)
    replay_of_known: dict[object, Any] = field(default_factory=dict)
    client_states: dict[object, Any] = field(default_factory=dict)
    observed: dict[object, Any] = field(default_factory=dict)

    def allocation(self, inputs: Inputs) -> Allocation:
        """The allocation of these inputs, whatever the addresses and versions of the members."""
        known = (each._replace(client_addr=None, language=None, version=None, known=True) for each in inputs.members)
        key = inputs._replace(members=tuple(known))
        if key not in self.allocations:
            self.allocations[key] = replayed(key, self.settings)
        return self.allocations[key]

    @cached_with_value
    def under(self, settings: StrategySettings) -> Replays:
        """The allocations of the same group with these settings."""
        return Replays(settings)

    @cached_with_value
    def queues_of(self, route: tuple[RouteEntry, ...]) -> Queues:
        """The queues of this route."""
        return queues_of(route)


def replayed(inputs: Inputs, settings: StrategySettings) -> Allocation:
    """The allocation, and what two fixes would make of its duplicates. Linear in members and queues.

    Raises `StrategyError` if settings are missing.
    """
    allocation = allocated(inputs, settings)
    if not allocation.duplicate_ids:
        return allocation
    first_ones = tuple({member.client_id: member for member in reversed(inputs.members)}.values())[::-1]
    deduplicated = allocated(inputs._replace(members=first_ones), settings)
    unique = allocated(inputs._replace(members=with_own_ids(inputs.members)), settings)
    pulling = {member.client_id for member in inputs.members if not is_popped(member.strategy)}
    return replace(
        allocation,
        if_deduplicated=Counts(
            deduplicated.counts.unassigned_queues,
            _consumed_twice(deduplicated, pulling.intersection(allocation.duplicate_ids)),
        ),
        if_unique=unique.counts,
    )


def allocated(inputs: Inputs, settings: StrategySettings) -> Allocation:
    """The allocation without what fixes would make of it; raises as `replayed` does."""
    unreadable = [QueueOwners((), cause) for _, _, cause in inputs.unreadable]
    queues = (*inputs.queues, *((broker, queue_id) for broker, queue_id, _ in inputs.unreadable))
    return Allocation.of(inputs.members, queues, len(inputs.queues), [*_readable_owners(inputs, settings), *unreadable])


def _readable_owners(inputs: Inputs, settings: StrategySettings) -> list[QueueOwners]:
    """The owners of each readable queue, in allocation order."""
    queues = [MessageQueue(inputs.topic, *place) for place in inputs.queues]
    owned = cache(_Owners(inputs.members).owned)
    owners = [owned(tuple(of_queue)) for of_queue in claims(inputs.members, queues, settings)]
    for index in queues_lost_to_room_bug(inputs.members, queues, settings):
        if owners[index].unassigned_cause == UnassignedCause.ROOM_FILTER:
            owners[index] = QueueOwners((), UnassignedCause.MACHINE_ROOM_BUG)
    return owners


@dataclass(frozen=True)
class _Owners:
    """From claims to owners."""

    members: Sequence[Member]

    @cached_property
    def _positions_of_ids(self) -> dict[int, range]:
        """By the first position of each client id, the positions of all its connections: they are neighbors."""
        client_ids = [member.client_id for member in self.members]
        counts = Counter(client_ids)
        return {
            first: range(first, first + counts[client_id]) for client_id, first in first_positions(client_ids).items()
        }

    def _computing_positions(self, claim: Claim) -> list[int]:
        """The positions of all connections that compute this share and subscribe to the topic."""
        return [
            position
            for position in self._positions_of_ids.get(claim.position, ())
            if self.members[position].subscribes and self.members[position].implementation == claim.implementation
        ]

    def owned(self, claims: tuple[Claim, ...]) -> QueueOwners:
        """The owners of a queue."""
        owners = tuple(sorted({position for claim in claims for position in self._computing_positions(claim)}))
        if not owners:
            return self._unowned(claims)
        return QueueOwners(owners, double_owned_cause=self._double_owned_cause(owners))

    def _double_owned_cause(self, owners: Sequence[int]) -> DoubleOwnedCause | None:
        if len(owners) < 2:
            return None
        if all(is_popped(self.members[owner].strategy) for owner in owners):
            return DoubleOwnedCause.POP_SHARED
        if len({self.members[owner].client_id for owner in owners}) == 1:
            return DoubleOwnedCause.DUPLICATE_CLIENT_ID
        in_use = implementations(self.members[owner] for owner in owners)
        if len({implementation.strategy for implementation in in_use}) > 1:
            return DoubleOwnedCause.MIXED_STRATEGIES
        if len(in_use) > 1:
            return DoubleOwnedCause.MIXED_CLIENTS
        return DoubleOwnedCause.CONFIG_OVERLAP

    def _unowned(self, claims: Sequence[Claim]) -> QueueOwners:
        """Why a queue has no owner: the first cause of its claims; without claims, the strategies left it out."""
        if not claims:
            return QueueOwners((), self._cause_without_claims())
        causes = [(self._cause_of_claim(claim), claim.position) for claim in claims]
        cause = next(cause for cause in UnassignedCause if any(cause == claim_cause for claim_cause, _ in causes))
        position = min(position for claim_cause, position in causes if claim_cause == cause)
        return QueueOwners((), cause, self.members[position].client_id)

    def _cause_of_claim(self, claim: Claim) -> UnassignedCause:
        if claim.position not in self._positions_of_ids:
            return UnassignedCause.DUPLICATE_CLIENT_ID
        if self.members[claim.position].broadcasts:
            return UnassignedCause.MEMBER_BROADCASTS
        if not self.members[claim.position].subscribes:
            return UnassignedCause.MEMBER_NOT_SUBSCRIBED
        if self.members[claim.position].strategy != claim.implementation.strategy:
            return UnassignedCause.MIXED_STRATEGIES
        return UnassignedCause.MIXED_CLIENTS

    def _cause_without_claims(self) -> UnassignedCause:
        strategies = {member.strategy for member in self.members}
        if not strategies:
            return UnassignedCause.GROUP_OFFLINE
        if UNKNOWN_STRATEGY in strategies:
            return UnassignedCause.NOT_LISTED
        if MACHINE_ROOM in strategies:
            return UnassignedCause.ROOM_FILTER
        return UnassignedCause.CONFIG_HOLE if CONFIG in strategies else UnassignedCause.NO_VIRTUAL_NODES


def with_own_ids(members: Sequence[Member]) -> tuple[Member, ...]:
    """The members as if every further connection of an id had an id of its own, right after it in order."""
    seen: Counter[str] = Counter()
    renamed = []
    for member in members:
        number = seen[member.client_id]
        seen[member.client_id] += 1
        own = f"{member.client_id}{DUPLICATE_SUFFIX}{number}" if number else member.client_id
        renamed.append(member._replace(client_id=own))
    return tuple(renamed)


def _consumed_twice(deduplicated: Allocation, duplicate_ids: set[str]) -> int:
    """Number of queues whose messages several connections consume; one owner counts for all with its id."""
    return sum(
        is_harm(cause) or any(client_id in duplicate_ids for client_id in ids)
        for cause, ids in zip(deduplicated.double_owned_causes, deduplicated.owner_ids, strict=True)
    )


class Claim(NamedTuple):
    """An implementation that some member runs puts the queue into the share of this position in the members' list."""

    implementation: Implementation
    position: int


def implementations(members: Iterable[Member]) -> tuple[Implementation, ...]:
    """The different implementations of strategies that the members run, in the order of the members."""
    return tuple(dict.fromkeys(member.implementation for member in members))


def claims(members: Sequence[Member], queues: Sequence[MessageQueue], settings: StrategySettings) -> list[list[Claim]]:
    """Per readable queue, the shares in which it lies. A strategy that throws gives none: clients keep their queues."""
    client_ids = [member.client_id for member in members]
    claims_of_queues: list[list[Claim]] = [[] for _ in queues]
    for implementation in implementations(members):
        try:
            for share in shares_of(settings.named(*implementation), queues, client_ids):
                claims_of_queues[share.queue].append(Claim(implementation, share.position))
        except KeepsAllocation:
            continue
    return claims_of_queues


def queues_lost_to_room_bug(
    members: Iterable[Member], queues: Sequence[MessageQueue], settings: StrategySettings
) -> frozenset[int]:
    """Indexes of the queues in configured rooms that a buggy MACHINE_ROOM leaves out (`UnassignedCause`)."""
    in_use = (implementation for implementation in implementations(members) if implementation.strategy == MACHINE_ROOM)
    affected = [settings.named(*implementation) for implementation in in_use if implementation.variant != Variant.JAVA]
    return frozenset(index for strategy in affected for index in queues_in_rooms(strategy, queues))
