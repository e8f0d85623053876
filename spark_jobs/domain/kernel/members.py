"""The members of a view as the replay needs them: each with its strategy, and whether it subscribes to the topic."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from spark_jobs.domain.kernel.allocations import Allocation, Member
from spark_jobs.domain.model.history import ClientState, Connection
from spark_jobs.domain.model.message_queue import MessageModel, java_order
from spark_jobs.domain.rocketmq.strategies import (
    AVG,
    MACHINE_ROOM_NEARBY,
    UNKNOWN_STRATEGY,
    Resolved,
    StrategySource,
    strategy_of_class,
    variant_of,
)

_GRPC_ID = re.compile(r"[^@]+@-?\d+@\d+@-?[0-9a-z]+")


@cache
def is_grpc(client_id: str) -> bool:
    """Return whether a gRPC client made the id. Source: org.apache.rocketmq.client.java.misc.ClientId."""
    return _GRPC_ID.fullmatch(client_id) is not None


def in_allocation_order(connections: Iterable[Connection]) -> list[Connection]:
    """Sorted by client id as every client does (Java's order), equal ids by address, an unknown one first."""
    return sorted(connections, key=lambda connection: (java_order(connection.client_id), connection.client_addr or ""))


def connections_of(client_ids: Iterable[str]) -> list[tuple[str, int]]:
    """One per connection: (client id, its number among those of the id), as its address may change or be unknown."""
    numbers: dict[str, int] = {}
    connections = []
    for client_id in client_ids:
        number = numbers[client_id] = numbers.get(client_id, -1) + 1
        connections.append((client_id, number))
    return connections


def queues_per_connection(allocations: Iterable[tuple[Sequence[str], Allocation]]) -> Mapping[tuple[str, int], int]:
    """By connection, how many queues of all topics it owns; `allocations`: (client ids in order, allocation)."""
    queues: dict[tuple[str, int], int] = {}
    for client_ids, allocation in allocations:
        for connection, count in zip(connections_of(client_ids), allocation.queues_per_member, strict=True):
            queues[connection] = queues.get(connection, 0) + count
    return queues


def members_of(
    connections: Sequence[Connection], states: Mapping[str, ClientState], resolved: Sequence[Resolved], topic: str
) -> tuple[Member, ...]:
    """One per connection, in their order. An unknown member is taken to consume the topic for the group."""
    members = []
    for connection, (strategy, _, parameters, _) in zip(connections, resolved, strict=True):
        state = states.get(connection.client_id)
        broadcasts = state is not None and state.message_model == MessageModel.BROADCASTING
        subscribes = not broadcasts and (state is None or state.topics is None or topic in state.topics)
        variant = variant_of(strategy, connection.language, connection.version, parameters)
        members.append(Member(*connection, strategy, subscribes, state is not None, variant, parameters, broadcasts))
    return tuple(members)


def resolve_strategies(
    classes: Sequence[str | None],
    configured: str | None,
    observed: Sequence[Resolved | None] = (),
    elsewhere: Iterable[str] = (),
) -> list[Resolved]:
    """One per member of these classes: its own, else configured, else observed, else the most frequent of the others.

    `elsewhere`: the classes of clients that are not in the view. If none is known, it is AVG, RocketMQ's default.
    """
    own = [_own_strategy(class_name, configured) for class_name in classes]
    if observed and not configured:
        own = [_first_known(reported, seen) for reported, seen in zip(own, observed, strict=True)]
    if None not in own:
        return [resolved for resolved in own if resolved]
    fallback = _fallback(_known(own) or _known(_own_strategy(name, configured) for name in elsewhere), configured)
    return [resolved or fallback for resolved in own]


def _first_known(reported: Resolved | None, observed: Resolved | None) -> Resolved | None:
    if reported is None or observed is None:
        return reported or observed
    is_more = UNKNOWN_STRATEGY in (reported.strategy, observed.strategy) or reported.strategy == observed.strategy
    return observed if is_more else reported


def _known(resolved: Iterable[Resolved | None]) -> list[str]:
    """The strategies that clients report."""
    reported = (each.strategy for each in resolved if each and each.source != StrategySource.OBSERVED)
    return [strategy for strategy in reported if strategy != UNKNOWN_STRATEGY]


def group_source(resolved: Sequence[Resolved], configured: str | None) -> StrategySource:
    """The weakest source among the members: DEFAULT, then OBSERVED, CONFIGURATION and CLIENT."""
    sources = {strategy.source for strategy in resolved}
    if not sources:
        return StrategySource.CONFIGURATION if configured else StrategySource.DEFAULT
    return next(source for source in reversed(StrategySource) if source in sources)


@cache
def _own_strategy(class_name: str | None, configured: str | None) -> Resolved | None:
    """The strategy of a class; only the configuration knows that of a user's own class, and the one inside NEARBY."""
    if class_name is None:
        return None
    name = strategy_of_class(class_name)
    if name is None:
        return Resolved(configured or UNKNOWN_STRATEGY, StrategySource.CONFIGURATION)
    if name == MACHINE_ROOM_NEARBY and configured and configured.startswith(MACHINE_ROOM_NEARBY):
        return Resolved(configured, StrategySource.CONFIGURATION)
    return Resolved(name, StrategySource.CLIENT)


def _fallback(known: Sequence[str], configured: str | None) -> Resolved:
    if configured:
        return Resolved(configured, StrategySource.CONFIGURATION)
    if not known:
        return Resolved(AVG, StrategySource.DEFAULT)
    counts = Counter(known)
    return Resolved(min(counts, key=lambda name: (-counts[name], name)), StrategySource.CLIENT)
