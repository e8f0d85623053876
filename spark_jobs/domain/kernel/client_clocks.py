"""By how much a client's clock is behind the recorder's, as its pulls show."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.kernel.process_queues import process_queue
from spark_jobs.domain.model.caching import cached_with_value
from spark_jobs.domain.model.clients import queue_of
from spark_jobs.domain.model.history import UNKNOWN, ClientHistory, Matrix
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.window import MILLISECOND, StepWindow


def clock_behind_ms(client: ClientHistory, window: StepWindow, idle_ms: int) -> int:
    """Milliseconds by which the client's clock is at least behind, by the snapshots of the window; 0: as far as is
    known, it is not.

    A client that pulled between two snapshots pulled no longer ago than the time between them. What its `last_pull` is
    older than that, its clock is behind. `idle_ms`: if no pull seems older, the clocks agree well enough.
    """
    idle_at = _idle_at(client, idle_ms)
    is_idle = idle_at.searchsorted(window.read_from) < idle_at.searchsorted(window.end)
    return _behind_ms(client, window) if is_idle else 0  # mostly it is not


@cached_with_value
def _behind_ms(client: ClientHistory, window: StepWindow) -> int:
    """The same of a client of which a pull seems older."""
    seen = client.series.inside(window.read_from, window.end)
    states = (client.series.states[code] for code in set(client.series.codes[seen].tolist()))
    listed = {queue_of(own) for state in states for own in state.owned or ()}
    return max((_behind_by_pulls(client, queue, window) for queue in listed), default=0)


@cached_with_value
def _idle_at(client: ClientHistory, idle_ms: int) -> NDArray[np.int64]:
    """The times of the client's snapshots in which the last pull of a process queue seems older than this."""
    pulled, times = client.readings.last_pull, np.repeat(client.series.times, np.diff(client.readings.offsets))
    return times[is_known(pulled) & (times // MILLISECOND - pulled > idle_ms)]


def is_known(last_pull: Matrix) -> NDArray[np.bool_]:
    """Return whether each is the time of a pull; 0 is "never", which says nothing."""
    return np.asarray((last_pull != 0) & (last_pull != UNKNOWN))


def _behind_by_pulls(client: ClientHistory, queue: MessageQueue, window: StepWindow) -> int:
    samples = process_queue(client, queue, window.read_from, window.end)
    times, pulled = samples.times // MILLISECOND, samples.last_pull
    is_pulled = is_known(pulled[1:]) & is_known(pulled[:-1]) & (pulled[1:] > pulled[:-1])
    too_old = (times[1:] - pulled[1:]) - np.diff(times)
    return int(too_old[is_pulled].max(initial=0))
