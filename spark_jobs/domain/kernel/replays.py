"""What is computed once per distinct state of a group, over all steps of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from spark_jobs.domain.kernel.audited_step import Allocation, Member
from spark_jobs.domain.kernel.ownership import Inputs, replayed
from spark_jobs.domain.model.causes import UnassignedCause
from spark_jobs.domain.model.history import Place
from spark_jobs.domain.model.message_queue import RouteEntry, all_queues
from spark_jobs.domain.rocketmq.strategies import StrategySettings


class Queues(NamedTuple):
    """A topic's queues as every client sorts them: those that may be read, and the others that can hold messages."""

    readable: tuple[Place, ...]
    unreadable: tuple[tuple[str, int, UnassignedCause], ...]


def queues_of(route: Sequence[RouteEntry]) -> Queues:
    """The queues of a route (`MQClientInstance.topicRouteData2TopicSubscribeInfo`)."""
    found = all_queues("", route)
    return Queues(
        tuple((one.queue.broker_name, one.queue.queue_id) for one in found if one.unreadable is None),
        tuple((one.queue.broker_name, one.queue.queue_id, one.unreadable) for one in found if one.unreadable),
    )


@dataclass
class Replays:
    """The allocations and lists of queues of one group, by what they are functions of; `facts` are the timeline's."""

    settings: StrategySettings
    allocations: dict[Inputs, Allocation] = field(default_factory=dict)
    queues: dict[tuple[RouteEntry, ...], Queues] = field(default_factory=dict)
    facts: dict[object, Any] = field(default_factory=dict)

    def allocation(self, inputs: Inputs) -> Allocation:
        """The allocation of these inputs."""
        # Addresses, versions and what else a member has are no inputs: states that differ in them alone are one.
        key = inputs._replace(members=tuple(_as_input(member) for member in inputs.members))
        if key not in self.allocations:
            self.allocations[key] = replayed(key, self.settings)
        return self.allocations[key]

    def queues_of(self, route: tuple[RouteEntry, ...]) -> Queues:
        """The queues of this route."""
        if route not in self.queues:
            self.queues[route] = queues_of(route)
        return self.queues[route]


def _as_input(member: Member) -> Member:
    return Member(member.client_id, None, None, None, member.strategy, member.subscribes, True, member.variant)
