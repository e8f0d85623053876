"""What a broker assigns to a client that consumes by POP."""

from __future__ import annotations

from collections.abc import Sequence

from spark_jobs.domain.allocation import allocate, check_lists
from spark_jobs.domain.message_queue import MessageQueue, sort_queues
from spark_jobs.domain.strategies import Strategy

#: Queue id that stands for all queues of a broker.
ALL_QUEUES_OF_BROKER = -1


def pop_assignment(
    inner: Strategy, share: int, client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]
) -> list[MessageQueue]:
    """The distinct queues a client may pop from, sorted; queue id -1 is every queue of that broker.

    `share` (popShareQueueNum) is how many following positions a client helps out; 0 or less, or all
    others, means that everybody pops everything, also who is not listed. Raises `KeepsWhatItHad` for empty
    lists otherwise. Source: `QueryAssignmentProcessor.allocate4Pop`.
    """
    if share <= 0 or share >= len(client_ids) - 1:
        return sort_queues({queue._replace(queue_id=ALL_QUEUES_OF_BROKER) for queue in queues})
    check_lists(client_id, queues, client_ids)
    if client_id not in client_ids:
        return []
    position = client_ids.index(client_id)
    if len(client_ids) > len(queues):
        return [queues[position % len(queues)]]
    helped = [client_ids[(position + step) % len(client_ids)] for step in range(share + 1)]
    return sort_queues({queue for one in helped for queue in allocate(inner, one, queues, client_ids) or ()})
