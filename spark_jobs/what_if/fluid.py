"""A fluid model of messages in queues while no share changes, and of queues that were not there; times × queues."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.model.history import Place
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.what_if.cases import Case
from spark_jobs.what_if.recorded import Assignment, BacklogCourse, Messages, Recorded

Places = NDArray[np.int64]


class Service(NamedTuple):
    """Who serves what: an entry per (server, queue that it owns). Servers are numbered from 0, in order, none without
    a queue; `queue` is a column.

    A server is a client id: its connections all consume the whole of its queues, so they serve no more than one does.
    """

    server: Places
    queue: Places


class FlowResult(NamedTuple):
    """`waiting`: messages in each queue at each time; `served`: by each entry over the span; `strained`: which servers
    ever left a message for later, and of them those whose pulls held back more than their capacity (`by_pulls`).
    """

    waiting: Messages
    served: Messages
    strained: NDArray[np.bool_]
    by_pulls: NDArray[np.bool_]


def flow(
    start: Messages, produced: Messages, service: Service, capacity: Messages, pulls: Messages | float = np.inf
) -> FlowResult:
    """`start`: messages in each queue before the first time; `produced`: up to each time, since the one before;
    `capacity`: messages that each server can serve in that time, times × servers; `pulls`: that it can get of each of
    its queues, times × entries.

    A server that cannot serve all that it has pulled serves the same part of each of its queues. Of a queue with
    several servers, each serves all messages, and what waits is what the fastest has left.
    """
    waiting = start + np.cumsum(produced, axis=0)
    if not len(service.queue):
        return FlowResult(waiting, np.zeros(0), np.zeros(0, bool), np.zeros(0, bool))
    had, new = start[service.queue], produced[:, service.queue]
    firsts = np.flatnonzero(np.diff(service.server, prepend=-1))
    unpulled = _queued(had, new, np.broadcast_to(pulls, new.shape))
    pulled = new - np.diff(unpulled, axis=0, prepend=had[None])
    nothing = np.zeros(len(firsts))
    waits = _queued(nothing, np.add.reduceat(pulled, firsts, axis=1), capacity)
    given = np.vstack([nothing, waits[:-1]]) + np.add.reduceat(pulled, firsts, axis=1)
    unserved = np.divide(waits, given, out=np.zeros_like(waits), where=given > 0)
    of_entry = unpulled + _decayed(pulled, unserved[:, service.server])
    waiting[:, service.queue] = np.inf
    for queue, left in zip(service.queue.tolist(), of_entry.T, strict=True):
        waiting[:, queue] = np.minimum(waiting[:, queue], left)
    behind_pulls = np.add.reduceat(unpulled, firsts, axis=1)
    strained = (waits + behind_pulls).max(axis=0) >= 1
    by_pulls = behind_pulls.sum(axis=0) > waits.sum(axis=0)
    return FlowResult(waiting, had + new.sum(axis=0) - of_entry[-1], strained, by_pulls)


def _queued(start: Messages, produced: Messages, capacity: Messages) -> Messages:
    """Messages that wait at each time for each server: produced less served, reflected at zero (Lindley's recursion
    without a loop). The capacity is cut to what there ever is, so that an unlimited one stays a number.
    """
    free = start + np.cumsum(produced - np.minimum(capacity, start + produced.sum(axis=0) + 1), axis=0)
    return np.asarray(free - np.minimum(np.minimum.accumulate(free, axis=0), 0))


def _decayed(produced: Messages, unserved: Messages) -> Messages:
    """`x(t) = unserved(t)·(x(t−1) + produced(t))` for all times: neighbors are joined, then pairs, and so on."""
    amounts, unserved = produced * unserved, unserved.copy()
    step = 1
    while step < len(amounts):
        amounts[step:] += unserved[step:] * amounts[:-step]
        unserved[step:] *= unserved[:-step]
        step *= 2
    return amounts


def inflow(case: Case, recorded: Recorded) -> BacklogCourse:
    """The course with the load and the queues of the case; nothing waits in queues that were not there. With k times
    the queues, messages of queue i go to i, i + n, … in equal parts; otherwise they are spread evenly over the topic.
    """
    course = replace(recorded.course, produced=recorded.course.produced * case.load)
    if case.queues is None:
        return course
    spans = [span for of_topic in recorded.replayed.values() for span in of_topic]
    columns = dict(course.columns)
    for span in spans:
        readable = span.interval.queues or ()
        for place in (*readable, *case.queues_of(readable)):
            columns.setdefault(MessageQueue(span.topic, *place), len(columns))
    new = ((0, 0), (0, len(columns) - len(course.queues)))
    grown = np.pad(np.diff(course.produced, axis=0, prepend=course.produced[:1]), new)
    produced, known = grown.copy(), np.pad(course.known, new)
    for span in spans:
        rows = slice(*np.searchsorted(course.times, (span.start, span.end), side="right").tolist())
        _spread(_splits(case, span, columns), grown[rows], produced[rows], known[rows])
    consumed, waiting = np.pad(course.consumed, new), np.pad(course.waiting, new)
    return BacklogCourse(course.times, list(columns), np.cumsum(produced, axis=0), consumed, waiting, known)


#: Columns of queues whose messages all go to the queues of the other columns, in equal parts.
_Split = tuple[list[int], list[int]]


def _splits(case: Case, span: Assignment, columns: Mapping[MessageQueue, int]) -> list[_Split]:
    """Of the readable queues of one interval."""
    readable = span.interval.queues or ()

    def columns_of(places: Iterable[Place]) -> list[int]:
        return [columns[MessageQueue(span.topic, *place)] for place in places]

    if case.queues is None or case.queues.sign != "x":
        return [(columns_of(readable), columns_of(case.queues_of(readable)))]
    counts, turns = Counter(broker for broker, _ in readable), range(case.queues.number)
    return [
        (columns_of([(broker, queue_id)]), columns_of((broker, queue_id + turn * counts[broker]) for turn in turns))
        for broker, queue_id in readable
    ]


def _spread(splits: Sequence[_Split], grown: Messages, produced: Messages, known: NDArray[np.bool_]) -> None:
    """In place, of the rows of one interval: into the targets, which are known where all sources are."""
    for sources, _ in splits:
        produced[:, sources] = 0
    for sources, targets in splits:
        produced[:, targets] += grown[:, sources].sum(axis=1, keepdims=True) / len(targets)
        known[:, targets] = known[:, sources].all(axis=1, keepdims=True)
