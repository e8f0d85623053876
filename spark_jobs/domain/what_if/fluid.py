"""The fluid of messages through the queues of a span in which nobody's share changes: arrays of times × queues."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Amounts = NDArray[np.float64]
Places = NDArray[np.int64]


class Service(NamedTuple):
    """Who serves what: an entry per (server, queue that it owns). Servers are numbered from 0, in order, none without
    a queue; `queue` is a column.

    A server is a client id: its connections all consume the whole of its queues, so they serve no more than one does.
    """

    server: Places
    queue: Places


class Flowed(NamedTuple):
    """`waiting`: messages in each queue at each time; `served`: by each entry over the span; `strained`: which servers
    ever left a message for later.
    """

    waiting: Amounts
    served: Amounts
    strained: NDArray[np.bool_]


def flow(start: Amounts, came: Amounts, service: Service, capacity: Amounts) -> Flowed:
    """`start`: messages in each queue before the first time; `came`: up to each time, since the one before;
    `capacity`: messages that each server can serve in that time, times × servers.

    A server that cannot serve all that waits serves the same part of each of its queues. Of a queue with several
    servers, each serves all messages, and what waits is what the fastest has left.
    """
    waiting = start + np.cumsum(came, axis=0)
    if not len(service.queue):
        return Flowed(waiting, np.zeros(0), np.zeros(0, bool))
    had, new = start[service.queue], came[:, service.queue]
    firsts = np.flatnonzero(np.diff(service.server, prepend=-1))
    waits, left = _of_servers(np.add.reduceat(had, firsts), np.add.reduceat(new, firsts, axis=1), capacity)
    of_entry = _decayed(had, new, left[:, service.server])
    waiting[:, service.queue] = np.inf
    np.minimum.at(waiting.T, service.queue, of_entry.T)
    return Flowed(waiting, had + new.sum(axis=0) - of_entry[-1], waits.max(axis=0) >= 1)


def _of_servers(start: Amounts, came: Amounts, capacity: Amounts) -> tuple[Amounts, Amounts]:
    """What waits for each server at each time, and which part that is of what it had to serve.

    The sum of what came less what could be served, reflected at zero: Lindley's recursion without a loop.
    """
    free = start + np.cumsum(came - capacity, axis=0)
    waits = free - np.minimum(np.minimum.accumulate(free, axis=0), 0)
    had = np.vstack([start, waits[:-1]]) + came
    return waits, np.divide(waits, had, out=np.zeros_like(waits), where=had > 0)


def _decayed(start: Amounts, came: Amounts, left: Amounts) -> Amounts:
    """`x(t) = left(t)·(x(t−1) + came(t))` for all times: neighbours are put together, then pairs of them, and so on."""
    amounts, left = came.copy(), left.copy()
    amounts[0] += start
    amounts *= left
    step = 1
    while step < len(amounts):
        amounts[step:] += left[step:] * amounts[:-step]
        left[step:] *= left[:-step]
        step *= 2
    return amounts
