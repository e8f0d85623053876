"""Runs a task in a fresh process, and watches how much memory it takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import psutil  # type: ignore[import-untyped]

from spark_jobs.errors import RebalanceAuditError

_SAMPLE_SECONDS = 0.2
#: The folder of this commit.
PROJECT = Path(__file__).parents[1]


class MeasurementError(RebalanceAuditError):
    """A task that did not end well; the text has the last lines it wrote."""


@dataclass(frozen=True)
class Outcome:
    """What the task gave, and the most memory its process tree (Python and JVM) held at one moment, in bytes."""

    result: Any
    peak_bytes: int


def perform(task: Mapping[str, Any], command: Sequence[str] = ()) -> Outcome:
    """The outcome of `worker.perform`, or of another command that takes the file of a task, in a process of its own.

    Raises `MeasurementError`.
    """
    with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryFile("w+") as log:
        # A file, as tasks grow larger than an argument may be.
        given = Path(scratch, "task.json")
        given.write_text(json.dumps(task), encoding="utf-8")
        line = [*(command or (sys.executable, "-m", "benchmarks.worker")), str(given)]
        code, output, peak = _ended(line, log)
        if code != 0:
            log.seek(0)
            raise MeasurementError(f"{task['action']} ended with {code}:\n" + "".join(list(log)[-15:]))
    return Outcome(json.loads(output.splitlines()[-1]), peak)


def _ended(line: Sequence[str], log: IO[str]) -> tuple[int, bytes, int]:
    """Exit code, output, and most bytes held at one moment, of a command; what it logs goes into the file."""
    environment = os.environ | {"PYTHONPATH": str(PROJECT)}
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=log, env=environment) as process:
        peak = [0]
        watcher = threading.Thread(target=_watch, args=(process, peak), daemon=True)
        watcher.start()
        output, _ = process.communicate()
        watcher.join()
    return process.returncode, output, peak[0]


def _watch(process: subprocess.Popen[bytes], peak: list[int]) -> None:
    while process.poll() is None:
        peak[0] = max(peak[0], resident(process.pid))
        threading.Event().wait(_SAMPLE_SECONDS)


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
