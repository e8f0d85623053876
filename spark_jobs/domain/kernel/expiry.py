"""When a member that left had fallen silent: an expired connection, not one that was closed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.model.history import ClientHistory
from spark_jobs.domain.model.window import SECOND, StepWindow

#: A broker drops a connection 120 s after its last heartbeat, which it looks for every 10 s; heartbeats come every
#: 30 s (`ClientManageProcessor`, `ConsumerManager.scanNotActiveChannel`). So one that fell silent goes 90–130 s later.
EXPIRES_AFTER = 90 * SECOND
EXPIRED_BY = 150 * SECOND


class Unanswered(NamedTuple):
    """A time in which a client did not answer, in microseconds; `next_answer` None: it never did again."""

    last_answer: int
    first_unanswered: int
    next_answer: int | None


def unanswered(client: ClientHistory, window: StepWindow) -> Iterator[Unanswered]:
    """The times inside a step's window in which a client that had answered before did not."""
    inside = client.series.inside(window.read_from, window.end)
    answered = np.array([state.answered for state in client.series.states], dtype=bool)[client.series.codes[inside]]
    if answered.all():
        return
    times = client.series.times[inside]
    answers = np.flatnonzero(answered)
    for place in np.flatnonzero(answered[:-1] & ~answered[1:]) + 1:
        after = np.searchsorted(answers, place)
        next_answer = int(times[answers[after]]) if after < len(answers) else None
        yield Unanswered(int(times[place - 1]), int(times[place]), next_answer)


def has_expired(left_at: int, silence: Unanswered, cadence: int) -> bool:
    """Whether a member that left then had been silent for as long as a connection that expires; microseconds."""
    last_answer, first_unanswered, next_answer = silence
    never_since = first_unanswered < left_at and (next_answer is None or next_answer >= left_at)
    return never_since and EXPIRES_AFTER <= left_at - last_answer <= EXPIRED_BY + cadence


def expired_at(
    clients: Mapping[str, ClientHistory], window: StepWindow, cadence: int, left_at: int, client_ids: Collection[str]
) -> frozenset[str]:
    """Of the client ids that left at `left_at` (microseconds), those whose connections had expired."""
    return frozenset(
        client_id
        for client_id in client_ids
        if client_id in clients
        and any(has_expired(left_at, silence, cadence) for silence in unanswered(clients[client_id], window))
    )
