"""Signals that end a command that runs until it is told."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def until_told(stop: Callable[[], None]) -> Iterator[None]:
    """SIGTERM and Ctrl-C call `stop`; a second Ctrl-C ends the process."""

    def on_signal(_number: int, _frame: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        stop()

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
