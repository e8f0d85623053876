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
    ever left a message for later, and of them those whose pulls held back more than their capacity (`by_pulls`).
    """

    waiting: Amounts
    served: Amounts
    strained: NDArray[np.bool_]
    by_pulls: NDArray[np.bool_]


def flow(start: Amounts, came: Amounts, service: Service, capacity: Amounts, pulls: Amounts | float = np.inf) -> Flowed:
    """`start`: messages in each queue before the first time; `came`: up to each time, since the one before;
    `capacity`: messages that each server can serve in that time, times × servers; `pulls`: that it can get of each of
    its queues, times × entries.

    A server that cannot serve all that it has pulled serves the same part of each of its queues. Of a queue with
    several servers, each serves all messages, and what waits is what the fastest has left.
    """
    waiting = start + np.cumsum(came, axis=0)
    if not len(service.queue):
        return Flowed(waiting, np.zeros(0), np.zeros(0, bool), np.zeros(0, bool))
    had, new = start[service.queue], came[:, service.queue]
    firsts = np.flatnonzero(np.diff(service.server, prepend=-1))
    unpulled = _queued(had, new, np.broadcast_to(pulls, new.shape))
    pulled = new - np.diff(unpulled, axis=0, prepend=had[None])
    nothing = np.zeros(len(firsts))
    waits = _queued(nothing, np.add.reduceat(pulled, firsts, axis=1), capacity)
    given = np.vstack([nothing, waits[:-1]]) + np.add.reduceat(pulled, firsts, axis=1)
    left = np.divide(waits, given, out=np.zeros_like(waits), where=given > 0)
    of_entry = unpulled + _decayed(pulled, left[:, service.server])
    waiting[:, service.queue] = np.inf
    np.minimum.at(waiting.T, service.queue, of_entry.T)
    held = np.add.reduceat(unpulled, firsts, axis=1)
    strained = (waits + held).max(axis=0) >= 1
    return Flowed(waiting, had + new.sum(axis=0) - of_entry[-1], strained, held.sum(axis=0) > waits.sum(axis=0))


def _queued(start: Amounts, came: Amounts, capacity: Amounts) -> Amounts:
    """What waits at each time, for each server on its own.

    The sum of what came less what could be served, reflected at zero: Lindley's recursion without a loop. More than
    there ever is cannot be served, so that an unlimited capacity stays a number.
    """
    free = start + np.cumsum(came - np.minimum(capacity, start + came.sum(axis=0) + 1), axis=0)
    return np.asarray(free - np.minimum(np.minimum.accumulate(free, axis=0), 0))


def _decayed(came: Amounts, left: Amounts) -> Amounts:
    """`x(t) = left(t)·(x(t−1) + came(t))` for all times: neighbours are put together, then pairs of them, and so on."""
    amounts, left = came * left, left.copy()
    step = 1
    while step < len(amounts):
        amounts[step:] += left[step:] * amounts[:-step]
        left[step:] *= left[:-step]
        step *= 2
    return amounts
