"""The snapshots of a client that list one queue: what it held of the queue, and when it last pulled and consumed it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.model.caching import cached_with_value
from spark_jobs.domain.model.clients import queue_of
from spark_jobs.domain.model.history import ClientHistory, Matrix
from spark_jobs.domain.model.message_queue import MessageQueue


class ProcessQueue(NamedTuple):
    """Snapshots in the order of time, one entry each; `UNKNOWN` where the client did not report a number.

    `times`: microseconds; `cached_count`: messages; `cached_min_offset`: the oldest cached message's offset;
    `last_pull`, `last_consume`: milliseconds by the client's clock, 0: never.
    """

    times: Matrix
    cached_count: Matrix
    cached_min_offset: Matrix
    last_pull: Matrix
    last_consume: Matrix


def process_queue(client: ClientHistory, queue: MessageQueue, start: int, end: int) -> ProcessQueue:
    """The snapshots in `[start, end)`, microseconds, that list the queue and have not dropped it."""
    series, readings = client.series, client.readings
    inside = series.inside(start, end)
    place = _places(client, queue)[series.codes[inside]]
    listed = place >= 0
    rows = readings.offsets[:-1][inside][listed] + place[listed]
    columns = (readings.cached_count, readings.cached_min_offset, readings.last_pull, readings.last_consume)
    return ProcessQueue(series.times[inside][listed], *(column[rows] for column in columns))


@cached_with_value
def _places(client: ClientHistory, queue: MessageQueue) -> NDArray[np.int64]:
    """By state of the client, the queue's index among its process queues; -1: it is not listed, or dropped."""
    places = [
        next((place for place, own in enumerate(state.owned or ()) if queue_of(own) == queue and not own.dropped), -1)
        for state in client.series.states
    ]
    return np.array(places, dtype=np.int64)
