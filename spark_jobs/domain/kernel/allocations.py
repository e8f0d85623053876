"""The members of a view, and what each of them owns of a topic."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.model.finding import Counts
from spark_jobs.domain.model.history import Place
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

    @cached_property
    def is_owned(self) -> NDArray[np.bool_]:
        """By queue, whether it has an owner."""
        return np.array([*map(bool, self.owners)], bool)

    @cached_property
    def owners_of_queue(self) -> Mapping[Place, tuple[int, ...]]:
        """The positions of the owners, by queue."""
        return dict(zip(self.queues, self.owners, strict=True))

    @cached_property
    def queues_of_client(self) -> Mapping[str, frozenset[Place]]:
        """The queues of each owner, by client id; connections that share an id own the same ones."""
        queues_by_client: dict[str, set[Place]] = defaultdict(set)
        for queue, ids in zip(self.queues, self.owner_ids, strict=True):
            for client_id in ids:
                queues_by_client[client_id].add(queue)
        return {client_id: frozenset(queues) for client_id, queues in queues_by_client.items()}
