"""Into which queues the recorded messages would have gone, where a case changes the number of queues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.message_queue import MessageQueue
from spark_jobs.domain.what_if.cases import Case
from spark_jobs.domain.what_if.recorded import Course, Held, Messages, Recorded


class _Split(NamedTuple):
    """All messages of the `sources` together go to the `targets` in equal parts; columns."""

    sources: list[int]
    targets: list[int]


def inflow(case: Case, recorded: Recorded) -> Course:
    """The course with the load and the queues of the case; in those that were not there nothing waited.

    k times as many queues: the messages of queue i go to i, i + n, … in equal parts, as those of many keys would.
    Another number: all messages of the topic are spread evenly. What waited already stays where it is.
    """
    course = replace(recorded.course, came=recorded.course.came * case.load)
    if case.queues is None:
        return course
    columns = {queue: column for column, queue in enumerate(course.queues)}
    for topic, held in recorded.held.items():
        for one in held:
            for place in case.queues_of(one.interval.queues or ()):
                columns.setdefault(MessageQueue(topic, *place), len(columns))
    new = ((0, 0), (0, len(columns) - len(course.queues)))
    grown = np.diff(course.came, axis=0, prepend=course.came[:1])
    came, known = np.pad(grown, new), np.pad(course.known, new)
    for topic, held in recorded.held.items():
        for one in held:
            rows = slice(*np.searchsorted(course.times, (one.start, one.end), side="right").tolist())
            _spread(list(_splits(case, topic, one, columns)), grown[rows], came[rows], known[rows])
    taken, waiting = np.pad(course.taken, new), np.pad(course.waiting, new)
    return Course(course.times, list(columns), np.cumsum(came, axis=0), taken, waiting, known)


def _splits(case: Case, topic: str, held: Held, columns: Mapping[MessageQueue, int]) -> Iterator[_Split]:
    """Of the readable queues of one interval."""
    before = held.interval.queues or ()

    def column(broker: str, queue_id: int) -> int:
        return columns[MessageQueue(topic, broker, queue_id)]

    if case.queues and case.queues.sign == "x":
        counts = Counter(broker for broker, _ in before)
        for broker, queue_id in before:
            count = counts[broker]
            targets = [column(broker, queue_id + turn * count) for turn in range(case.queues.number)]
            yield _Split([column(broker, queue_id)], targets)
    else:
        yield _Split([column(*place) for place in before], [column(*place) for place in case.queues_of(before)])


def _spread(splits: list[_Split], grown: Messages, came: Messages, known: NDArray[np.bool_]) -> None:
    """In place, of the rows of one interval: into the targets, which are known where all sources are."""
    for sources, _ in splits:
        came[:, sources] = 0
    for sources, targets in splits:
        came[:, targets] += grown[:, sources].sum(axis=1, keepdims=True) / len(targets)
        known[:, targets] = known[:, sources].all(axis=1, keepdims=True)
