"""The queues of an interval as findings name them, among them those without an owner or with several."""

from collections.abc import Iterator

from spark_jobs.domain.kernel.audited_step import IntervalProgress, RebalanceInterval
from spark_jobs.domain.model.causes import DoubleOwnedCause
from spark_jobs.domain.model.finding import FindingQueue, RuleHit
from spark_jobs.domain.model.history import Connection

UNASSIGNED, DOUBLE_OWNED, DISPUTED = "UNASSIGNED", "DOUBLE_OWNED", "DISPUTED"


def unassigned_queues(interval: RebalanceInterval) -> Iterator[tuple[FindingQueue, str, str | None]]:
    """One per queue without owner, also unreadable ones: the queue, the cause, the client id of its share, or None."""
    allocation = interval.shares
    if allocation is None:
        return
    if not allocation.counts.unassigned_queues and allocation.readable_count == len(allocation.queues):
        return
    causes, client_ids = allocation.unassigned_causes, allocation.unassigned_client_ids
    for queue, cause, client_id in zip(allocation.queues, causes, client_ids, strict=True):
        if cause is not None:
            yield FindingQueue(interval.topic, *queue, UNASSIGNED), cause, client_id


def double_owned_queues(interval: RebalanceInterval) -> Iterator[tuple[FindingQueue, str, tuple[str, ...]]]:
    """One per queue that several connections own, except by POP: the queue, the cause, their distinct client ids."""
    allocation = interval.shares
    if allocation is None or not allocation.counts.double_owned_queues:
        return
    causes = allocation.double_owned_causes
    for queue, cause, owner_ids in zip(allocation.queues, causes, allocation.owner_ids, strict=True):
        if cause is not None and cause != DoubleOwnedCause.POP_SHARED:
            yield FindingQueue(interval.topic, *queue, DOUBLE_OWNED), cause, owner_ids


def owners(interval: RebalanceInterval) -> dict[FindingQueue, tuple[str, ...]]:
    """The client ids that own each owned queue of an interval, in the role of one that may lose its owner."""
    allocation = interval.allocation
    if allocation is None:
        return {}
    places = zip(allocation.queues, allocation.owner_ids, strict=True)
    return {FindingQueue(interval.topic, *queue, UNASSIGNED): ids for queue, ids in places if ids}


def owned_queues(interval: RebalanceInterval, client_id: str, role: str) -> list[FindingQueue]:
    """The queues that a client owns by replay, sorted, in the role that they play in a finding."""
    places = interval.allocation.queues_of_client.get(client_id, ()) if interval.allocation else ()
    return [FindingQueue(interval.topic, *place, role) for place in sorted(places)]


def connections_of(interval: RebalanceInterval, client_id: str) -> tuple[Connection, ...]:
    """The connections of a client id among the members of an interval, in allocation order."""
    members = (member for member in interval.members or () if member.client_id == client_id)
    return tuple(Connection(each.client_id, each.client_addr, each.language, each.version) for each in members)


def queue_hit(interval: RebalanceInterval, queue: FindingQueue, cause: str, implicated: str | None = None) -> RuleHit:
    """The hit of a queue for a whole interval; without the queue, if clients that did not follow own it otherwise."""
    return RuleHit(
        *(interval.start, interval.end, cause, interval.topic, None, interval.view, interval.seen_at),
        queue=queue if _is_shown(interval, queue) else None,
        implicated=implicated,
    )


def _is_shown(interval: RebalanceInterval, queue: FindingQueue) -> bool:
    if interval.by_strategy is None or interval.allocation is None:
        return True
    count = len(interval.allocation.owners_of_queue[queue.broker_name, queue.queue_id])
    return count == 0 if queue.role == UNASSIGNED else count > 1


def queue_at(progress: IntervalProgress, place: int, role: str) -> FindingQueue:
    """The queue at a place of an interval's progress, in the role it plays in a finding."""
    return FindingQueue(progress.interval.topic, *progress.queues[place], role)
