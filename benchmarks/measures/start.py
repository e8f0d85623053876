"""What is paid before any data is read, and how long the tests take."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Sequence
from statistics import median

from benchmarks.bench import EMPTY, Bench
from benchmarks.measure import NotMeasuredError, Taken
from benchmarks.process import MeasurementError

_AUDIT = (sys.executable, "-m", "spark_jobs.cli")
#: The last line of pytest: `=== 512 passed in 401.12s (0:06:41) ===`
_TOOK = re.compile(r" in (\d+(?:\.\d+)?)s\b")


def help_text(bench: Bench) -> Taken:
    """`rebalance-audit --help`, the whole process."""
    return _command(bench, [*_AUDIT, "--help"])


def empty_step(bench: Bench) -> Taken:
    """`rebalance-audit run` over an hour in which nothing was recorded, the whole process."""
    warehouse = str(bench.root / bench.any_name())
    return _command(bench, [*_AUDIT, "run", "--warehouse", warehouse, "--interval", str(EMPTY)])


def _command(bench: Bench, command: Sequence[str]) -> Taken:
    """Seconds of a command that ends well, the first time not counted."""
    bench.say(f"starting rebalance-audit {command[len(_AUDIT)]}")
    seconds = [_seconds(command) for _ in range(1 + bench.rounds)][1:]
    return Taken(median(seconds), f"{min(seconds):.2f} to {max(seconds):.2f} s, {bench.rounds} processes")


def _seconds(command: Sequence[str]) -> float:
    began = time.perf_counter()
    answer = subprocess.run(command, check=False, capture_output=True, text=True)
    if answer.returncode not in (0, 2):  # 2: warnings
        what = f"rebalance-audit {command[len(_AUDIT)]}"
        raise MeasurementError(f"{what} ended with {answer.returncode}:\n{answer.stderr[-2000:]}")
    return time.perf_counter() - began


def test_suite(bench: Bench) -> Taken:
    """What the log of a `make test` says of its tests; the linters come on top."""
    if bench.test_log is None:
        raise NotMeasuredError("a log of `make test` was not given (--test-log)")
    try:
        found = _TOOK.findall(bench.test_log.read_text(encoding="utf-8", errors="replace"))
    except OSError as error:
        raise NotMeasuredError(f"{bench.test_log} cannot be read: {error.strerror}") from None
    if not found:
        raise NotMeasuredError(f"{bench.test_log} does not say how long the tests took")
    return Taken(float(found[-1]) / 60, bench.test_log.name)
