"""Every call goes through here: in its turn, timed, told to whoever counts, and kept as lines of the recording."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from time import monotonic, time_ns
from typing import NamedTuple

from spark_jobs.capture import lines
from spark_jobs.capture.admin import Admin, CallError
from spark_jobs.capture.calls import Answer, Call, Fate, Request, fate_of
from spark_jobs.capture.pace import Backoff, RateLimit

_NS_PER_MS = 1_000_000


class Taken(NamedTuple):
    """What calls have brought: lines, how many calls had which fate, and `times`, ms UTC, when each was told."""

    lines: list[str]
    fates: Counter[Fate]
    times: list[int]


class Asking:
    """Makes calls for several threads, and holds the lines that they bring until they are taken."""

    def __init__(self, admin: Admin, pace: RateLimit, backoff: Backoff, wait: Callable[[float], object]) -> None:
        """`wait` sleeps so many seconds, or less when capture is to end."""
        self._admin, self._pace, self._backoff, self._wait = admin, pace, backoff, wait
        self._lock = threading.Lock()
        self._taken = Taken([], Counter(), [])

    def ask(self, call: Call, beside: Callable[[Answer], Mapping[str, str]] = lambda _: {}) -> Answer:
        """What came of the call; its lines are kept. `beside`: further fields of its line, by more calls if need be."""
        answer = self._made(call) if self._backoff.is_due(call.called.name) else _not_asked()
        if call.request is not Request.RUNNING and answer.fate is not Fate.NOT_ASKED:
            # A client that does not answer is no word about its broker.
            self._backoff.heard(call.called.name, silent=answer.fate.is_silence)
        recorded = lines.answered(call, answer, **beside(answer)) if lines.is_recorded(call, answer) else None
        with self._lock:
            self._taken.fates[answer.fate] += 1
            self._taken.times.append(answer.at)
            if recorded:
                self._taken.lines.append(recorded)
            self._taken.lines.append(lines.fate(call, answer))
        return answer

    def keep(self, line: str) -> None:
        """Keeps a line that several calls have brought."""
        with self._lock:
            self._taken.lines.append(line)

    def take(self) -> Taken:
        """What the calls since the last time have brought."""
        with self._lock:
            taken, self._taken = self._taken, Taken([], Counter(), [])
        return taken

    def _made(self, call: Call) -> Answer:
        self._wait(self._pace.wait_seconds())
        begun = monotonic()
        body = error = ""
        try:
            body = self._admin.ask(call)
        except CallError as failure:
            error = str(failure)
        took_ms = round((monotonic() - begun) * 1000)
        return Answer(fate_of(error) if error else Fate.ANSWERED, _now(), took_ms, body, error)


def _not_asked() -> Answer:
    return Answer(Fate.NOT_ASKED, _now(), None)


def _now() -> int:
    return time_ns() // _NS_PER_MS
