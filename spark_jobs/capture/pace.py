"""How calls are spread: so many a second at most, and a pause for whoever does not answer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

#: The first pause (seconds); each further silence doubles it.
FIRST_PAUSE = 1.0


class RateLimit:
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


@dataclass
class _Pause:
    until: float
    seconds: float
    is_tried: bool = False


class Backoff:
    """Who was silent is not asked for a while: 1, 2, 4 … seconds, `longest` at most, until it answers."""

    def __init__(self, longest: float, clock: Callable[[], float] = monotonic) -> None:
        self._longest, self._clock, self._lock = longest, clock, threading.Lock()
        self._pauses: dict[str, _Pause] = {}

    def is_due(self, name: str) -> bool:
        """Whether it may be asked. After a pause one caller is told so, the next ones once that one was answered."""
        with self._lock:
            pause = self._pauses.get(name)
            if pause is None:
                return True
            if self._clock() < pause.until:
                return False
            pause.is_tried, pause.until = True, self._clock() + pause.seconds
            return True

    def heard(self, name: str, *, silent: bool) -> None:
        """What came of a call. Calls that were under way together count as one silence."""
        with self._lock:
            pause = self._pauses.get(name)
            if not silent:
                self._pauses.pop(name, None)
            elif pause is None:
                self._pauses[name] = _Pause(self._clock() + FIRST_PAUSE, FIRST_PAUSE)
            elif pause.is_tried:
                seconds = min(pause.seconds * 2, self._longest)
                self._pauses[name] = _Pause(self._clock() + seconds, seconds)


def start_times(count: int, seconds: float) -> list[float]:
    """When each of so many tasks starts, in seconds from the first: evenly over the time."""
    return [seconds * place / count for place in range(count)]
