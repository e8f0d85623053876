"""Runs a command, and ends every process that came of it: when the command ends, on SIGTERM, and when its starter ends.

    python tests/support/process_tree.py COMMAND …

The starter gives the reading end of a pipe as stdin, and keeps the other end: that is closed however the starter ends,
SIGKILL too. Linux makes this process the parent of all orphans below it, so that none is lost by being detached.
"""

import ctypes
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from typing import Any

import psutil  # type: ignore[import-untyped]

_PR_SET_CHILD_SUBREAPER = 36
_LOOK_SECONDS = 0.1


def main(command: list[str]) -> int:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    signal.signal(signal.SIGTERM, _exit)
    try:
        running = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        while running.poll() is None and not select.select([sys.stdin], [], [], _LOOK_SECONDS)[0]:
            pass
        return running.returncode or 0
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        end_all()


def end_all() -> None:
    """Until there is none: a process may start others before it is ended."""
    while below := psutil.Process().children(recursive=True):
        for process in below:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        while _has_reaped():
            pass


def _has_reaped() -> bool:
    try:
        return os.waitpid(-1, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return False


def _exit(*_: Any) -> None:
    raise SystemExit(128 + signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
