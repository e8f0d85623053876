"""What rules about single queues of an interval share: the queue itself, and its numbers with unknown kept apart."""

from __future__ import annotations

from spark_jobs.domain.audited_step import IntervalProgress
from spark_jobs.domain.history import UNKNOWN, Matrix
from spark_jobs.domain.rules.rule import FindingQueue


def queue_at(progress: IntervalProgress, place: int, role: str) -> FindingQueue:
    """The queue at a place of an interval's progress, in the role it plays in a finding."""
    return FindingQueue(progress.interval.topic, *progress.queues[place], role)


def number(values: Matrix, place: int) -> float | None:
    """A number as rules measure it; None: unknown."""
    return None if values[place] == UNKNOWN else float(values[place])
