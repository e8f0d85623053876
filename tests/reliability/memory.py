"""How much memory a command and all that it starts hold, from its beginning to its end."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.process import resident

_SAMPLE_SECONDS = 0.2


class Watched(NamedTuple):
    """What a command said, how long it took, and the bytes that its process tree held, five times a second."""

    code: int
    output: str
    errors: str
    seconds: float
    bytes_held: list[int]

    @property
    def peak_bytes(self) -> int:
        """The most at one moment."""
        return max(self.bytes_held)


def watched(command: Sequence[str]) -> Watched:
    """Runs a command to its end, with the Java that users have."""
    held, start, pipe = [0], time.monotonic(), subprocess.PIPE
    environment = {name: text for name, text in os.environ.items() if name != "SPARK_SUBMIT_OPTS"}
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment) as process:
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(_SAMPLE_SECONDS):
                held.append(resident(process.pid))

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        output, errors = process.communicate()
        ended.set()
        watcher.join()
    return Watched(process.returncode, output, errors, time.monotonic() - start, held)
