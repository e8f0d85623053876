"""The share of one client by an allocation strategy, as RocketMQ's own classes are called: one client id at a time."""

from collections.abc import Sequence

from spark_jobs.domain.model.message_queue import MessageQueue, sort_queues
from spark_jobs.domain.rocketmq.allocation import KeepsAllocation, first_positions, shares
from spark_jobs.domain.rocketmq.pop import pop_shares, pops_all
from spark_jobs.domain.rocketmq.strategies import CONFIG, Strategy, Variant

#: Queue id that stands for all queues of a broker.
ALL_QUEUES_OF_BROKER = -1


def allocate(
    strategy: Strategy, client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]
) -> list[MessageQueue] | None:
    """The queues one client takes, given both lists sorted; order and repeats carry no meaning.

    [] and None (CONFIG that was never configured) drop every queue of the topic. Raises `KeepsAllocation`
    where the Java class throws (Go and Java up to 4.7.1 give [] instead), `StrategyError` if settings are
    missing. Source: the classes that implement `AllocateMessageQueueStrategy`.
    """
    if strategy.name == CONFIG:
        return strategy.configured_queues(client_id)
    if strategy.variant == Variant.JAVA:
        check_lists(client_id, queues, client_ids)
    if client_id not in client_ids:
        return []
    first = client_ids.index(client_id)
    return [queues[share.queue] for share in shares(strategy, queues, client_ids) if share.position == first]


def check_lists(client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]) -> None:
    """Raises `KeepsAllocation` for an empty own id or list (`AbstractAllocateMessageQueueStrategy.check`)."""
    if not client_id:
        raise KeepsAllocation("currentCID is empty")
    if not queues:
        raise KeepsAllocation("mqAll is null or mqAll empty")
    if not client_ids:
        raise KeepsAllocation("cidAll is null or cidAll empty")


def pop_assignment(
    inner: Strategy, share: int, client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]
) -> list[MessageQueue]:
    """The distinct queues a client may pop from, sorted; queue id -1 is every queue of that broker.

    `share` (popShareQueueNum) is how many following positions a client helps out; 0 or less, or all
    others, means that everybody pops everything, also who is not listed. Raises `KeepsAllocation` for empty
    lists otherwise. Source: `QueryAssignmentProcessor.allocate4Pop`.
    """
    if pops_all(share, len(client_ids)):
        return sort_queues({queue._replace(queue_id=ALL_QUEUES_OF_BROKER) for queue in queues})
    check_lists(client_id, queues, client_ids)
    place = first_positions(client_ids).get(client_id)
    found = pop_shares(inner, share, queues, client_ids)
    return sort_queues({queues[queue] for queue, position in found if position == place})
