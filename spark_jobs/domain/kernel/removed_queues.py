"""Queues that left a topic's route because `readQueueNums` was lowered, with the messages that they hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.history import UNKNOWN, OffsetReadings, Place
from spark_jobs.domain.model.message_queue import PERM_READ, RouteEntry
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.window import Time, joined


class RemovedQueue(NamedTuple):
    """A maximal span `[start, end)` (microseconds) in which a queue that was readable is beyond the read queues, with
    its last known backlog before, messages.
    """

    topic: str
    queue: Place
    start: int
    end: int
    backlog: int


def removed_queues(step: AuditedStep) -> Iterator[RemovedQueue]:
    """One per span and queue that was not drained before, by topic, queue and time."""
    for topic, route in step.routes.items():
        readings = step.history.offsets.get(topic)
        for queue, times in removed_times(route).items() if readings else ():
            for start, end in times:
                backlog = left_backlog(readings, queue, (step.window.read_from, start)) if readings else 0
                if backlog:
                    yield RemovedQueue(topic, queue, start, end, backlog)


def removed_times(route: Iterable[Span[tuple[RouteEntry, ...]]]) -> Mapping[Place, list[Time]]:
    """Per queue that was readable, the maximal times in which it is beyond its broker's read queues. The queues of a
    topic that is deleted are forgotten: their messages are deleted, too.
    """
    most: dict[str, int] = {}
    times: dict[Place, list[Time]] = {}
    for span in route:
        if not span.state:
            most.clear()
        for entry in span.state:
            known = most.get(entry.broker_name, 0)
            for queue_id in range(entry.read_queue_nums, known):
                times.setdefault((entry.broker_name, queue_id), []).append((span.start, span.end))
            if entry.perm & PERM_READ:
                most[entry.broker_name] = max(known, entry.read_queue_nums)
    return {queue: joined(of_queue) for queue, of_queue in sorted(times.items())}


def left_backlog(readings: OffsetReadings, queue: Place, time: Time) -> int:
    """The messages that a queue holds by its last known sample in the time. 0: the group may have consumed them before
    the queue was removed, because they are no more than it consumed between its last two samples.
    """
    column = readings.columns.get(queue)
    if column is None:
        return 0
    seen = readings.inside(*time)
    lag, consumed = readings.lag[seen, column], readings.consumed_to[seen, column]
    last = np.flatnonzero(lag != UNKNOWN)[-2:]
    if not len(last):
        return 0
    backlog, pace = int(lag[last[-1]]), int(consumed[last[-1]] - consumed[last[0]])
    return backlog if backlog > pace else 0
