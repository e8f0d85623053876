"""What whole processes take: answers that are read from published tables, help, the tests."""

import re

from benchmarks.bench import RECORDING, Bench
from benchmarks.errors import NotMeasuredError
from benchmarks.measure import CallResults
from benchmarks.sides import Side
from benchmarks.times import Times
from spark_jobs.operate.demo import INTERVAL, RECORDED, example_files

#: The last line of pytest: `=== 512 passed in 401.12s (0:06:41) ===`
_TOOK = re.compile(r" in (\d+(?:\.\d+)?)s\b")
_MOMENT = "2026-11-21T02:10"


def status(bench: Bench) -> CallResults:
    """`rebalance-audit status` on the audited recording."""
    return _seconds(bench, "status")


def explain(bench: Bench) -> CallResults:
    """`rebalance-audit explain` of one of its groups."""
    return _seconds(bench, "explain", "--group", "payment-service", "--at", _MOMENT)


def report(bench: Bench) -> CallResults:
    """`rebalance-audit report` of what was recorded."""
    page = str(bench.root / "report.html")
    return _seconds(bench, "report", "--interval", str(RECORDED), "--out", page)


def _seconds(bench: Bench, command: str, *options: str) -> CallResults:
    bench.say(f"starting rebalance-audit {command}")
    return _processes(bench, command, "--warehouse", _audited(bench), *options)


def _audited(bench: Bench) -> str:
    """The recording's hour, published."""
    bench.load_recording()
    warehouse = bench.copied(RECORDING, "read")
    if not (warehouse / "findings").exists():
        bench.say("auditing the recording's hour, to be read")
        configured = ("--config", str(example_files().configuration), "--interval", str(INTERVAL))
        Side("now").cold("run", "--warehouse", str(warehouse), "--fail-on", "NEVER", *configured)
    return str(warehouse)


def _processes(bench: Bench, *arguments: str) -> CallResults:
    """The first process does not count: it reads Python's files."""
    times = Times([Side("now").cold(*arguments) for _ in range(1 + bench.rounds)][1:])
    return CallResults(times.median, f"{times}, {bench.rounds} processes")


def help_text(bench: Bench) -> CallResults:
    """`rebalance-audit --help`."""
    bench.say("starting rebalance-audit --help")
    return _processes(bench, "--help")


def test_suite(bench: Bench) -> CallResults:
    """What the log of a `make test` says of its tests; the linters come on top."""
    if bench.test_log is None:
        raise NotMeasuredError("a log of `make test` was not given (--test-log)")
    try:
        durations = _TOOK.findall(bench.test_log.read_text(encoding="utf-8", errors="replace"))
    except OSError as error:
        raise NotMeasuredError(f"{bench.test_log} cannot be read: {error.strerror}") from None
    if not durations:
        raise NotMeasuredError(f"{bench.test_log} does not say how long the tests took")
    return CallResults(float(durations[-1]) / 60, bench.test_log.name)
