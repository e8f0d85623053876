"""What is paid before any data is read, and how long the tests take."""

from __future__ import annotations

import re
from statistics import median

from benchmarks.bench import Bench
from benchmarks.measure import CallResults, NotMeasuredError
from benchmarks.sides import Side

#: The last line of pytest: `=== 512 passed in 401.12s (0:06:41) ===`
_TOOK = re.compile(r" in (\d+(?:\.\d+)?)s\b")


def help_text(bench: Bench) -> CallResults:
    """`rebalance-audit --help`, the whole process, the first time not counted."""
    bench.say("starting rebalance-audit --help")
    seconds = [Side("now").cold("--help") for _ in range(1 + bench.rounds)][1:]
    return CallResults(median(seconds), f"{min(seconds):.2f} to {max(seconds):.2f} s, {bench.rounds} processes")


def test_suite(bench: Bench) -> CallResults:
    """What the log of a `make test` says of its tests; the linters come on top."""
    if bench.test_log is None:
        raise NotMeasuredError("a log of `make test` was not given (--test-log)")
    try:
        found = _TOOK.findall(bench.test_log.read_text(encoding="utf-8", errors="replace"))
    except OSError as error:
        raise NotMeasuredError(f"{bench.test_log} cannot be read: {error.strerror}") from None
    if not found:
        raise NotMeasuredError(f"{bench.test_log} does not say how long the tests took")
    return CallResults(float(found[-1]) / 60, bench.test_log.name)
