"""Queues that stand with a backlog, and so which clients are asked for the stacks of their threads."""

import threading
from collections.abc import Callable, Mapping
from time import monotonic

from spark_jobs.capture.bodies import Queue

#: Seconds between two requests to a client for its stacks, and how many clients are asked in a round.
BETWEEN, A_ROUND = 300.0, 10


class StandingQueues:
    """The queues with a backlog, by group; several threads may use it."""

    def __init__(self, after: float | None = None, clock: Callable[[], float] = monotonic) -> None:
        """`after`: the seconds after which a queue whose consumer offset does not change stands; None: none does."""
        self._after, self._clock, self._lock = after, clock, threading.Lock()
        self._since: dict[str, Mapping[Queue, tuple[int, float]]] = {}
        self._turns: dict[str, float] = {}
        self._left = A_ROUND

    def begin_round(self) -> None:
        """Allow the requests of another round, also to clients that were asked long enough ago."""
        with self._lock:
            self._left, now = A_ROUND, self._clock()
            self._turns = {client: at for client, at in self._turns.items() if now - at < BETWEEN}

    def see(self, group: str, offsets: Mapping[Queue, int]) -> None:
        """Take note of the consumer offsets of all queues of the group that have a backlog in this round."""
        now, before = self._clock(), self._since.pop(group, {})
        if offsets and self._after is not None:
            seen = {queue: (offset, now) for queue, offset in offsets.items()}
            same = {queue: known for queue, known in before.items() if known[0] == offsets.get(queue)}
            self._since[group] = seen | same

    def queues(self, group: str) -> set[Queue]:
        """The queues of the group that stand."""
        if self._after is None:
            return set()
        until = self._clock() - self._after
        return {queue for queue, (_, since) in self._since.get(group, {}).items() if since <= until}

    def take_turn(self, client: str) -> bool:
        """Return whether the client may be asked now, which counts as asked."""
        with self._lock:
            if self._left == 0 or client in self._turns:
                return False
            self._left -= 1
            self._turns[client] = self._clock()
            return True
