"""How much memory a command and all that it starts hold at one moment."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.process import resident

_SAMPLE_SECONDS = 0.2


class Watched(NamedTuple):
    """What a command said, how long it took, and the most bytes that its process tree held at one moment."""

    code: int
    output: str
    errors: str
    seconds: float
    peak_bytes: int


def watched(command: Sequence[str]) -> Watched:
    """Runs a command to its end."""
    peak, start = 0, time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        ended = threading.Event()

        def watch() -> None:
            nonlocal peak
            while not ended.wait(_SAMPLE_SECONDS):
                peak = max(peak, resident(process.pid))

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        output, errors = process.communicate()
        ended.set()
        watcher.join()
    return Watched(process.returncode, output, errors, time.monotonic() - start, peak)
