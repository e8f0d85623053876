"""Calls to the cluster: rate-limited, timed, counted, kept as lines; whoever does not answer gets a pause."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic, time_ns
from typing import NamedTuple

from spark_jobs.capture import lines
from spark_jobs.capture.calls import Admin, Answer, Call, CallError, CallOutcome, Request, outcome_of

_NS_PER_MS = 1_000_000
#: The first pause (seconds); each further silence doubles it.
FIRST_PAUSE = 1.0


class CallResults(NamedTuple):
    """Results of calls: lines, how many calls had which outcome, and when each call ended (ms UTC)."""

    lines: list[str]
    outcomes: Counter[CallOutcome]
    times: list[int]


class CallRunner:
    """Makes calls for several threads, and holds the lines that they bring until they are taken."""

    def __init__(self, admin: Admin, pace: RateLimit, backoff: Backoff, wait: Callable[[float], object]) -> None:
        """`wait` sleeps so many seconds, or less when capture is to end."""
        self._admin, self._pace, self._backoff, self._wait = admin, pace, backoff, wait
        self._lock = threading.Lock()
        self._taken = CallResults([], Counter(), [])

    def ask(self, call: Call, **extra: str) -> Answer:
        """The answer to the call; its lines are kept. `extra`: further fields of its line."""
        pause = self._pause(call)
        answer = self._made(call) if pause is None else Answer(CallOutcome.NOT_ASKED, _now(), None, error=pause)
        if not call.request.is_of_client and answer.outcome is not CallOutcome.NOT_ASKED:
            # A client that does not answer is no word about its broker.
            silence = answer.error if answer.outcome.is_unanswered else None
            self._backoff.heard(call.called.name, call.request, silence=silence)
        recorded = lines.answered(call, answer, **extra) if lines.is_recorded(call, answer) else None
        with self._lock:
            self._taken.outcomes[answer.outcome] += 1
            self._taken.times.append(answer.at)
            if recorded:
                self._taken.lines.append(recorded)
            self._taken.lines.append(lines.call_made(call, answer))
        return answer

    def keep(self, line: str) -> None:
        """Keeps a line that several calls have brought."""
        with self._lock:
            self._taken.lines.append(line)

    def take(self) -> CallResults:
        """The results of the calls since the last time."""
        with self._lock:
            taken, self._taken = self._taken, CallResults([], Counter(), [])
        return taken

    def _pause(self, call: Call) -> str | None:
        """Why the call is not made. A client is called only while its broker answers requests for members."""
        if call.request.is_of_client:
            return self._backoff.silence(call.called.name, Request.CONNECTION)
        return self._backoff.pause(call.called.name, call.request)

    def _made(self, call: Call) -> Answer:
        self._wait(self._pace.wait_seconds())
        begun = monotonic()
        body = error = ""
        try:
            body = self._admin.ask(call)
        except CallError as failure:
            error = str(failure)
        took_ms = round((monotonic() - begun) * 1000)
        return Answer(outcome_of(error) if error else CallOutcome.ANSWERED, _now(), took_ms, body, error)


def _now() -> int:
    return time_ns() // _NS_PER_MS


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
    error: str
    is_tried: bool = False


class Backoff:
    """Pauses for a callee and request without answer: 1, 2, 4 … seconds, at most `longest`, until it answers."""

    def __init__(self, longest: float, clock: Callable[[], float] = monotonic) -> None:
        self._longest, self._clock, self._lock = longest, clock, threading.Lock()
        self._pauses: dict[tuple[str, Request], _Pause] = {}

    def silence(self, name: str, request: Request) -> str | None:
        """The error of the last call, if it was not answered."""
        with self._lock:
            pause = self._pauses.get((name, request))
            return pause.error if pause else None

    def pause(self, name: str, request: Request) -> str | None:
        """The error that caused the pause; None: call. After a pause, one caller gets None until its call has ended."""
        with self._lock:
            pause = self._pauses.get((name, request))
            if pause is None:
                return None
            if self._clock() < pause.until:
                return pause.error
            pause.is_tried, pause.until = True, self._clock() + pause.seconds
            return None

    def heard(self, name: str, request: Request, *, silence: str | None) -> None:
        """Record a call's error if it was not answered, else None. Parallel unanswered calls count as one."""
        with self._lock:
            key = name, request
            pause = self._pauses.get(key)
            if silence is None:
                self._pauses.pop(key, None)
            elif pause is None:
                self._pauses[key] = _Pause(self._clock() + FIRST_PAUSE, FIRST_PAUSE, silence)
            elif pause.is_tried:
                seconds = min(pause.seconds * 2, self._longest)
                self._pauses[key] = _Pause(self._clock() + seconds, seconds, silence)
