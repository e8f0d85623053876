"""The queues of an interval as findings name them: those that have no owner or too many, and the numbers of a single
one, with unknown kept apart.
"""

from __future__ import annotations

from collections.abc import Iterator

from spark_jobs.domain.kernel.audited_step import IntervalProgress, RebalanceInterval
from spark_jobs.domain.model.causes import DoubleOwnedCause
from spark_jobs.domain.model.finding import FindingQueue, RuleHit
from spark_jobs.domain.model.history import UNKNOWN, Matrix

UNASSIGNED, DOUBLE_OWNED, DISPUTED = "UNASSIGNED", "DOUBLE_OWNED", "DISPUTED"


def unassigned_queues(interval: RebalanceInterval) -> Iterator[tuple[FindingQueue, str, str | None]]:
    """Each queue that nobody owns, why, and the client id in whose share it lies (None: in nobody's).

    With those that nobody may read.
    """
    found = interval.allocation
    if found is None or (not found.counts.unassigned_queues and found.readable_count == len(found.queues)):
        return
    for queue, cause, client_id in zip(found.queues, found.unassigned_causes, found.unassigned_client_ids, strict=True):
        if cause is not None:
            yield FindingQueue(interval.topic, *queue, UNASSIGNED), cause, client_id


def double_owned_queues(interval: RebalanceInterval) -> Iterator[tuple[FindingQueue, str, tuple[str, ...]]]:
    """Each queue that several connections own, why, and their different client ids; not those that are shared by
    design.
    """
    found = interval.allocation
    if found is None or not found.counts.double_owned_queues:
        return
    for queue, cause, owner_ids in zip(found.queues, found.double_owned_causes, found.owner_ids, strict=True):
        if cause is not None and cause != DoubleOwnedCause.POP_SHARED:
            yield FindingQueue(interval.topic, *queue, DOUBLE_OWNED), cause, owner_ids


def queue_hit(interval: RebalanceInterval, queue: FindingQueue, cause: str, implicated: str | None = None) -> RuleHit:
    """The hit of a queue for a whole interval of its topic."""
    return RuleHit(
        interval.start,
        interval.end,
        cause=cause,
        topic=interval.topic,
        view=interval.view,
        seen_at=interval.seen_at,
        queue=queue,
        implicated=implicated,
    )


def queue_at(progress: IntervalProgress, place: int, role: str) -> FindingQueue:
    """The queue at a place of an interval's progress, in the role it plays in a finding."""
    return FindingQueue(progress.interval.topic, *progress.queues[place], role)


def number(values: Matrix, place: int) -> float | None:
    """A number as rules measure it; None: unknown."""
    return None if values[place] == UNKNOWN else float(values[place])
