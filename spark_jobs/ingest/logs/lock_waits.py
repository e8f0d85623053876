"""When orderly clients waited for the lock of a queue, by the refusals that brokers logged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.window import Time
from spark_jobs.ingest.logs.events import LockAsked
from spark_jobs.ingest.logs.sources import Process

#: A client asks again every 20 s (`rocketmq.client.rebalance.lockInterval`, and each rebalance), in milliseconds; after
#: two of these times it no longer wants the queue.
_ASKS_AGAIN: Final = 20_000


class WaitChanged(NamedTuple):
    """From a time (milliseconds) on, a client of a group asks for the lock of a queue in vain, or no longer does."""

    at: int
    group: str
    client_id: str
    queue: MessageQueue
    waits: bool


def lock_waits(read: Sequence[Process]) -> Iterator[WaitChanged]:
    """The waits of all clients: each from the first refusal until the client has the lock, or would ask again."""
    requests: dict[tuple[str, str, MessageQueue], list[tuple[int, bool]]] = defaultdict(list)
    for process in read:
        for at, event in process.logged:
            if isinstance(event, LockAsked):
                requests[event.group, event.client_id, event.queue].append((at, event.got))
    for key, answers in requests.items():
        for start, end in _waits(sorted(answers)):
            yield WaitChanged(start, *key, waits=True)
            yield WaitChanged(end, *key, waits=False)


def _waits(answers: Sequence[tuple[int, bool]]) -> Iterator[Time]:
    since = refused_at = None
    for at, got in answers:
        if since is not None and refused_at is not None and (got or at > refused_at + 2 * _ASKS_AGAIN):
            yield since, min(at, refused_at + _ASKS_AGAIN)
            since = None
        if not got:
            since, refused_at = at if since is None else since, at
    if since is not None and refused_at is not None:
        yield since, refused_at + _ASKS_AGAIN
