"""How calls are spread: so many a second at most, and a pause for whoever does not answer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic

#: The first pause (seconds); each further silence doubles it.
FIRST_PAUSE = 1.0


class Pace:
    """Gives every call a time to start, one `1 / rate` seconds after the other, for all threads."""

    def __init__(self, rate: float, clock: Callable[[], float] = monotonic) -> None:
        self._between, self._clock = 1 / rate, clock
        self._next, self._lock = clock(), threading.Lock()

    def wait_seconds(self) -> float:
        """How long the caller has to wait before its call; what was not used before is not made up for."""
        with self._lock:
            now = self._clock()
            start = max(now, self._next)
            self._next = start + self._between
            return start - now


class Backoff:
    """Who was silent is not asked for a while: 1, 2, 4 … seconds, `longest` at most, until it answers."""

    def __init__(self, longest: float, clock: Callable[[], float] = monotonic) -> None:
        self._longest, self._clock, self._lock = longest, clock, threading.Lock()
        self._silent: dict[str, tuple[float, float]] = {}

    def is_due(self, name: str) -> bool:
        """Whether it may be asked. After a pause one caller is told so, and the next ones once that one has answered
        or a pause has passed.
        """
        with self._lock:
            if name not in self._silent:
                return True
            until, pause = self._silent[name]
            if self._clock() < until:
                return False
            self._silent[name] = self._clock() + pause, pause
            return True

    def heard(self, name: str, *, silent: bool) -> None:
        """What came of a call. Calls that were under way together count as one silence."""
        with self._lock:
            if not silent:
                self._silent.pop(name, None)
                return
            until, pause = self._silent.get(name, (0.0, FIRST_PAUSE / 2))
            if self._clock() >= until or name not in self._silent:
                pause = min(pause * 2, self._longest)
            self._silent[name] = self._clock() + pause, pause


def start_times(count: int, seconds: float) -> list[float]:
    """When each of so many tasks starts, in seconds from the first: evenly over the time."""
    return [seconds * place / count for place in range(count)]
