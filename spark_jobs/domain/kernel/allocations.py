"""The members of a view, and what each of them owns of a topic."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.model.causes import DoubleOwnedCause
from spark_jobs.domain.model.finding import Counts
from spark_jobs.domain.model.history import Mask, Place
from spark_jobs.domain.rocketmq.strategies import AS_CONFIGURED, Implementation, Parameters, Variant, variant_of


class Member(NamedTuple):
    """One connection of a view, in allocation order; None is unknown.

    `strategy`: by its name; `subscribes`: it consumes the interval's topic for the group, as far as is known; `known`:
    it was heard of; `variant`: which implementation of the strategy its language and version have; `parameters`:
    observed settings; `broadcasts`: it consumes all queues for itself, and none for the group.
    """

    client_id: str
    client_addr: str | None
    language: str | None
    version: int | None
    strategy: str
    subscribes: bool
    known: bool
    variant: Variant = Variant.JAVA
    parameters: Parameters = AS_CONFIGURED
    broadcasts: bool = False

    @property
    def implementation(self) -> Implementation:
        """The implementation by which it computes its share."""
        return Implementation(self.strategy, self.variant, self.parameters)

    def under(self, strategy: str) -> Member:
        """The same connection with this strategy instead, as it is configured."""
        variant = variant_of(strategy, self.language, self.version)
        return self._replace(strategy=strategy, variant=variant, parameters=AS_CONFIGURED)


class QueueOwners(NamedTuple):
    """The owners of one queue, as positions in the members' list; without any the cause, and whose share it is."""

    owners: tuple[int, ...]
    unassigned_cause: str | None = None
    unassigned_client_id: str | None = None
    double_owned_cause: str | None = None


def is_harm(cause: str | None) -> bool:
    """Return whether the owners of a queue get each message several times."""
    return cause not in (None, DoubleOwnedCause.POP_SHARED)


@dataclass(frozen=True)
class Allocation:
    """One per distinct (members, queues, implementations): the owners of each queue, and why it has none or several.

    The lists are aligned: readable queues in allocation order, then those that nobody may read. `owners` are positions
    in the members' list; `owner_ids` their different client ids, sorted. `queues_per_member` is aligned with the
    members. Where client ids repeat, `if_deduplicated` and `if_unique` say what would be left with a list without
    repeats, and with an id for each connection.
    """

    queues: Sequence[Place]
    readable_count: int
    owners: Sequence[tuple[int, ...]]
    owner_ids: Sequence[tuple[str, ...]]
    unassigned_causes: Sequence[str | None]
    unassigned_client_ids: Sequence[str | None]
    double_owned_causes: Sequence[str | None]
    queues_per_member: Sequence[int]
    counts: Counts
    duplicate_ids: tuple[str, ...] = ()
    if_deduplicated: Counts | None = None
    if_unique: Counts | None = None

    @classmethod
    def of(
        cls, members: Sequence[Member], queues: Sequence[Place], readable_count: int, owned: Sequence[QueueOwners]
    ) -> Allocation:
        """Of these members, with the owners of each queue."""
        readable = owned[:readable_count]
        queue_counts = Counter(position for queue in readable for position in queue.owners)
        connection_counts = Counter(member.client_id for member in members)
        return cls(
            queues=queues,
            readable_count=readable_count,
            owners=[queue.owners for queue in owned],
            owner_ids=[tuple(sorted({members[position].client_id for position in queue.owners})) for queue in owned],
            unassigned_causes=[queue.unassigned_cause for queue in owned],
            unassigned_client_ids=[queue.unassigned_client_id for queue in owned],
            double_owned_causes=[queue.double_owned_cause for queue in owned],
            queues_per_member=[queue_counts[position] for position in range(len(members))],
            counts=Counts(
                unassigned_queues=sum(not queue.owners for queue in readable),
                double_owned_queues=sum(is_harm(queue.double_owned_cause) for queue in readable),
            ),
            duplicate_ids=tuple(client_id for client_id, count in connection_counts.items() if count > 1),
        )

    @cached_property
    def is_owned(self) -> Mask:
        """By queue, whether it has an owner."""
        return np.array([*map(bool, self.owners)], bool)

    @cached_property
    def queues_of_client(self) -> Mapping[str, frozenset[Place]]:
        """The queues of each owner, by client id; connections that share an id own the same ones."""
        queues_by_client: dict[str, set[Place]] = defaultdict(set)
        for queue, ids in zip(self.queues, self.owner_ids, strict=True):
            for client_id in ids:
                queues_by_client[client_id].add(queue)
        return {client_id: frozenset(queues) for client_id, queues in queues_by_client.items()}
