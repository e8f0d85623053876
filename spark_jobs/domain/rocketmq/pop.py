"""Assignments of a broker to clients that leave it to the broker (`clientRebalance=false`), above all by POP.

That setting is the client's own and holds for all its topics, in every version from 5.0.0 on. What a topic's messages
are got by is the broker's: its message request mode of the topic and group. Up to 5.3.1 a client that got no answer of
the broker to its first query of a topic allocates that topic itself (`RebalanceImpl.tryQueryAssignment`): by PULL the
result is the same, by POP it is not seen. Source: `RebalanceImpl`, `RebalancePushImpl`, `QueryAssignmentProcessor`.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeGuard

from spark_jobs.domain.model.history import RETRY, RequestMode
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.rocketmq.allocation import Share, first_positions, shares
from spark_jobs.domain.rocketmq.strategies import (
    AVG,
    AVG_BY_CIRCLE,
    POP,
    UNKNOWN_STRATEGY,
    Resolved,
    Strategy,
    is_popped,
)

PULL = "PULL"
#: Who reads the revive topics, in which each broker keeps what was popped until it is acknowledged or popped again: no
#: client, a thread of the broker for each queue. Source: `PopAckConstants`, `PopReviveService`.
REVIVE_GROUP = "CID_RMQ_SYS_REVIVE_GROUP"
_REVIVE_TOPIC = "rmq_sys_REVIVE_LOG_"
#: The strategies that a broker has; to who runs another one it assigns nothing.
OF_BROKERS = (AVG, AVG_BY_CIRCLE)
LACKING = "BROKER-"


def popped_topic(topic: str, group: str) -> str | None:
    """Of which topic the broker puts there what the group popped and did not acknowledge in time; None: of none, it is
    no POP retry topic. No client subscribes to these. Source: `KeyBuilder.buildPopRetryTopic`, versions 1 and 2.
    """
    retry = f"{RETRY}{group}"
    return topic[len(retry) + 1 :] if topic.startswith((f"{retry}_", f"{retry}+")) else None


def is_revive(topic: str, group: str) -> bool:
    """Return whether it is a revive topic, and the group the one that reads it."""
    return group == REVIVE_GROUP and topic.startswith(_REVIVE_TOPIC)


def is_redelivery(topic: str, group: str) -> bool:
    """Return whether the topic is one for the group's redeliveries; its queues are assigned to no member."""
    return popped_topic(topic, group) is not None or is_revive(topic, group)


def request_mode(modes_of_hosts: Iterable[Sequence[RequestMode] | None], topic: str) -> RequestMode | None:
    """The mode of a topic, by its hosts' modes for the group; None: unknown, or they differ. By default it is PULL
    (`defaultMessageRequestMode`), as always for a retry topic.
    """
    default = RequestMode(topic, PULL)
    topic_modes = {
        None if modes is None else next((mode for mode in modes if mode.topic == topic), default)
        for modes in modes_of_hosts
    }
    mode = topic_modes.pop() if len(topic_modes) == 1 else None
    return default if mode and topic.startswith(RETRY) else mode


def is_known(mode: RequestMode | None) -> TypeGuard[RequestMode]:
    """Return whether it says how the broker assigns."""
    return mode is not None and (mode.mode == PULL or (mode.mode == POP and mode.pop_share_queue_num is not None))


def pops_all(share: int, member_count: int) -> bool:
    """Return whether every client may pop every queue."""
    return share <= 0 or share >= member_count - 1


def as_assigned(resolved: Sequence[Resolved], by_broker: Iterable[bool], mode: RequestMode) -> list[Resolved]:
    """The strategies of members, with what the broker assigns by for those `by_broker`."""
    return [
        own._replace(strategy=assigned_by(own.strategy, mode))
        if is_assigned and own.strategy != UNKNOWN_STRATEGY
        else own
        for own, is_assigned in zip(resolved, by_broker, strict=True)
    ]


def assigned_by(strategy: str, mode: RequestMode) -> str:
    """The name of what the broker assigns by to a client that runs the strategy: `POP-AVG+2` is its own share by AVG,
    and those of the next 2 positions; `BROKER-…`: nothing, as the broker lacks it.
    """
    if strategy not in OF_BROKERS:
        return f"{LACKING}{strategy}"
    return strategy if mode.mode == PULL else f"{POP}-{strategy}+{mode.pop_share_queue_num}"


def shares_of(strategy: Strategy, queues: Sequence[MessageQueue], client_ids: Sequence[str]) -> list[Share]:
    """`allocation.shares`, also of a strategy named by `assigned_by`."""
    if not is_popped(strategy.name):
        return shares(strategy, queues, client_ids)
    inner, share = parts(strategy)
    return list(pop_shares(inner, share, queues, client_ids))


def parts(strategy: Strategy) -> tuple[Strategy, int]:
    """The strategy of the members, and the share count, of a strategy named by `assigned_by`."""
    inner, _, share = strategy.name.removeprefix(f"{POP}-").rpartition("+")
    return replace(strategy, name=inner), int(share)


def pop_shares(
    inner: Strategy, share: int, queues: Sequence[MessageQueue], client_ids: Sequence[str]
) -> Iterator[Share]:
    """One per (queue, position that may pop it): its own share and those of the next `share` positions; one queue for
    each if there are more clients than queues. Not if `pops_all`. All connections of an id pop the share of its first
    position, and those of later positions have no owner. Source: `QueryAssignmentProcessor.allocate4Pop`.
    """
    if len(client_ids) > len(queues):
        if queues:
            yield from (Share(position % len(queues), position) for position in range(len(client_ids)))
        return
    own: dict[int, list[int]] = defaultdict(list)
    for queue, position in shares(inner, queues, client_ids):
        own[position].append(queue)
    first = first_positions(client_ids)
    for position, client_id in enumerate(client_ids):
        helped = [position]
        if position == first[client_id]:
            following = (client_ids[(position + step) % len(client_ids)] for step in range(share + 1))
            helped = list(dict.fromkeys(first[following_id] for following_id in following))
        yield from (Share(queue, position) for owner in helped for queue in own[owner])
