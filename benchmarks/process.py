"""Runs a task in a fresh process, and watches how much memory it takes."""

import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import psutil  # type: ignore[import-untyped]

from spark_jobs.errors import RebalanceAuditError

_SAMPLE_SECONDS = 0.2
#: Exit codes: 2 is a warning.
_ANSWERED = (0, 2)
#: The folder of this commit.
PROJECT = Path(__file__).parents[1]


class MeasurementError(RebalanceAuditError):
    """A task that did not end well; the text has the last lines it wrote."""


class Outcome(NamedTuple):
    """What the task gave, and the most memory its process tree (Python and JVM) held at one moment, in bytes."""

    result: Any
    peak_bytes: int


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


def perform(task: Mapping[str, Any], command: Sequence[str] = ()) -> Outcome:
    """The outcome of `worker.perform`, or of another command that takes the file of a task, in a process of its own.

    Raises `MeasurementError`.
    """
    with tempfile.TemporaryDirectory() as scratch:
        # A file, as tasks grow larger than an argument may be.
        given = Path(scratch, "task.json")
        given.write_text(json.dumps(task), encoding="utf-8")
        line = [*(command or (sys.executable, "-m", "benchmarks.worker")), str(given)]
        ran = watched(line, os.environ | {"PYTHONPATH": str(PROJECT)})
    if ran.code != 0:
        last_lines = "\n".join(ran.errors.splitlines()[-15:])
        raise MeasurementError(f"{task['action']} ended with {ran.code}:\n{last_lines}")
    return Outcome(json.loads(ran.output.splitlines()[-1]), ran.peak_bytes)


def watched(command: Sequence[str], environment: Mapping[str, str]) -> Watched:
    """Runs a command to its end."""
    resident_bytes, start, pipe = [0], time.monotonic(), subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment) as process:
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(_SAMPLE_SECONDS):
                resident_bytes.append(resident(process.pid))

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        output, errors = process.communicate()
        ended.set()
        watcher.join()
    return Watched(process.returncode, output, errors, time.monotonic() - start, resident_bytes)


def used(arguments: Iterable[str]) -> tuple[float, int]:
    """Seconds of processor time of all processes of Python with these arguments, and the most bytes that they held.

    Raises `MeasurementError`.
    """
    line = [sys.executable, *arguments]
    before = _processor_seconds()
    ran = watched(line, os.environ | {"PYTHONPATH": str(PROJECT)})
    if ran.code not in _ANSWERED:
        raise MeasurementError(f"{' '.join(line)} ended with {ran.code}:\n{ran.errors[-2000:]}")
    return _processor_seconds() - before, ran.peak_bytes


def _processor_seconds() -> float:
    """Of all processes that this one has started and that ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime


def resident(pid: int) -> int:
    """Bytes that the process and all below it hold; pages they share count in each."""
    try:
        root = psutil.Process(pid)
        return sum(_of_one(process) for process in (root, *root.children(recursive=True)))
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return 0


def _is_fork_of_jvm(process: psutil.Process) -> bool:
    """Whether a JVM has just forked it (for a chmod): it still shows the JVM's own memory, a second time."""
    parent = process.parent()
    return Path(process.exe()).name == "java" and parent is not None and parent.exe() == process.exe()


def _of_one(process: psutil.Process) -> int:
    try:
        return 0 if _is_fork_of_jvm(process) else int(process.memory_info().rss)
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return 0
