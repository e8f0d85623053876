"""The times in which clients may still have the queues of a route that has changed.

A client hears of a route when it asks for it, every 30 s, and takes its share at its next rebalance, within 20 s more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from spark_jobs.domain.kernel.audited_step import RebalanceInterval
from spark_jobs.domain.kernel.holdings import settled_at
from spark_jobs.domain.model.statuses import Trigger
from spark_jobs.domain.model.window import AuditSettings

_OF_THE_ROUTE = {Trigger.BROKER_GONE, Trigger.BROKER_BACK, Trigger.QUEUES_REMOVED, Trigger.QUEUES_ADDED}


def with_settling(intervals: Iterable[RebalanceInterval], settings: AuditSettings) -> Iterator[RebalanceInterval]:
    """The intervals of a topic in order; those in which clients follow a route say when they must have."""
    until = 0
    for interval in intervals:
        triggers = interval.moves.triggers if interval.moves else ()
        if any(trigger in _OF_THE_ROUTE for trigger, _ in triggers):
            until = settled_at(interval.start, interval.start, settings)
        yield replace(interval, settled_at=until) if interval.start < until else interval
