"""The snapshots of a client that list one queue, and by how much its clock is behind, as its pulls show."""

from typing import NamedTuple

import numpy as np

from spark_jobs.domain.model.caching import cached_with_value
from spark_jobs.domain.model.clients import queue_of
from spark_jobs.domain.model.history import UNKNOWN, ClientHistory, Mask, Matrix, Numbers
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.series import Timed
from spark_jobs.domain.model.window import MILLISECOND, StepWindow


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
    series, samples = client.series, client.samples
    inside = series.inside(start, end)
    place = _places(client, queue)[series.codes[inside]]
    listed = place >= 0
    rows = samples.offsets[:-1][inside][listed] + place[listed]
    columns = (samples.cached_count, samples.cached_min_offset, samples.last_pull, samples.last_consume)
    return ProcessQueue(series.times[inside][listed], *(column[rows] for column in columns))


@cached_with_value
def _places(client: ClientHistory, queue: MessageQueue) -> Numbers:
    """By state of the client, the queue's index among its process queues; -1: it is not listed, or dropped."""
    places = [
        next((place for place, own in enumerate(state.owned or ()) if queue_of(own) == queue and not own.dropped), -1)
        for state in client.series.states
    ]
    return np.array(places, dtype=np.int64)


def clock_behind_ms(client: ClientHistory, window: StepWindow, idle_ms: int) -> int:
    """Milliseconds by which the client's clock is at least behind, by the window's snapshots; 0 if none shows it.

    Between two snapshots it pulled no longer ago than the time between them. `idle_ms`: younger pulls say nothing.
    """
    is_idle = _idle_at(client, idle_ms).any_inside(window.read_from, window.end)
    return _behind_ms(client, window) if is_idle else 0  # mostly it is not


@cached_with_value
def _behind_ms(client: ClientHistory, window: StepWindow) -> int:
    """The same of a client of which a pull seems older."""
    seen = client.series.inside(window.read_from, window.end)
    listed = {queue_of(own) for state in set(client.series.at(seen)) for own in state.owned or ()}
    return max((_behind_by_pulls(client, queue, window) for queue in listed), default=0)


@cached_with_value
def _idle_at(client: ClientHistory, idle_ms: int) -> Timed:
    """The client's snapshots in which the last pull of a process queue seems older than this."""
    pulled, times = client.samples.last_pull, client.series.times[client.samples.snapshots]
    return Timed(times[is_known(pulled) & (times // MILLISECOND - pulled > idle_ms)])


def is_known(last_pull: Matrix) -> Mask:
    """A mask of the times of pulls; 0 is "never", which says nothing."""
    return np.asarray((last_pull != 0) & (last_pull != UNKNOWN))


def _behind_by_pulls(client: ClientHistory, queue: MessageQueue, window: StepWindow) -> int:
    samples = process_queue(client, queue, window.read_from, window.end)
    times, pulled = samples.times // MILLISECOND, samples.last_pull
    is_pulled = is_known(pulled[1:]) & is_known(pulled[:-1]) & (pulled[1:] > pulled[:-1])
    too_old = (times[1:] - pulled[1:]) - np.diff(times)
    return int(too_old[is_pulled].max(initial=0))
