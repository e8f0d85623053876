"""Clients that did not answer when they were asked: what tells a member that expired from one that left."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.history import ClientHistory
from spark_jobs.domain.moves import has_expired
from spark_jobs.domain.window import StepWindow


class Unanswered(NamedTuple):
    """A time in which a client did not answer, in microseconds; `next_answer` None: it did not any more."""

    last_answer: int
    first_unanswered: int
    next_answer: int | None


def unanswered(client: ClientHistory, window: StepWindow) -> Iterator[Unanswered]:
    """The times inside a step's window in which a client that had answered before did not."""
    seen = client.series.inside(window.read_from, window.end)
    answered = np.array([state.answered for state in client.series.states], dtype=bool)[client.series.codes[seen]]
    if answered.all():
        return
    times = client.series.times[seen]
    begins = np.flatnonzero(answered[:-1] & ~answered[1:]) + 1
    answers = np.flatnonzero(answered)
    for place in begins:
        after = np.searchsorted(answers, place)
        following = int(times[answers[after]]) if after < len(answers) else None
        yield Unanswered(int(times[place - 1]), int(times[place]), following)


def expired_at(
    clients: Mapping[str, ClientHistory], window: StepWindow, cadence: int, moment: int, client_ids: Collection[str]
) -> frozenset[str]:
    """Those of the client ids that had not answered for as long as an expired connection, if they are gone then."""
    return frozenset(
        client_id
        for client_id in client_ids
        if client_id in clients
        and any(has_expired(moment, *one, cadence) for one in unanswered(clients[client_id], window))
    )
