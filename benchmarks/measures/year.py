"""Processor time of an answer in an old warehouse ÷ in one of a day: both end with the same steps."""

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.errors import NotMeasuredError
from benchmarks.history import PublishedHistory
from benchmarks.measure import CallResults
from benchmarks.process import PROJECT, MeasurementError
from benchmarks.sides import Side
from benchmarks.times import Times

_DAY = 24
#: What a run does with the incidents, after it has published its step.
_FOLD = (
    "import sys; from spark_jobs.domain.model.intervals import Interval; "
    "from spark_jobs.show.incidents import publish_incidents; "
    "from spark_jobs.store.read.delta import delta_tables; "
    "publish_incidents(delta_tables(sys.argv[1]), (), Interval.parse(sys.argv[2]))"
)


def incidents_of_run(bench: Bench) -> CallResults:
    """The incidents that a run brings up to date after it has published the newest step, in a process of its own."""

    def fold(warehouse: Path) -> None:
        newest = str(PublishedHistory(1, 1).newest)
        line = [sys.executable, "-c", _FOLD, str(warehouse), newest]
        answer = subprocess.run(line, check=False, capture_output=True, text=True, cwd=PROJECT)
        if answer.returncode:
            raise MeasurementError(f"the incidents of {warehouse} were not published:\n{answer.stderr[-2000:]}")

    return _ratio(bench, fold)


def status(bench: Bench) -> CallResults:
    """`rebalance-audit status`."""
    return _of_command(bench, "status", "--fail-on", "NEVER")


def incidents(bench: Bench) -> CallResults:
    """`rebalance-audit incidents --last 1h`."""
    return _of_command(bench, "incidents", "--last", "1h", "--fail-on", "NEVER")


def metrics(bench: Bench) -> CallResults:
    """`rebalance-audit metrics`."""
    return _of_command(bench, "metrics")


def missing(bench: Bench) -> CallResults:
    """`rebalance-audit runs --missing`, which `watch`, `backfill --only-missing`, `late` and `notify` ask, too."""
    return _of_command(bench, "runs", "--missing")


def notify(bench: Bench) -> CallResults:
    """`rebalance-audit notify --dry-run`."""
    return _of_command(bench, "notify", "--dry-run")


def late(bench: Bench) -> CallResults:
    """`rebalance-audit late` over the newest step."""
    return _of_command(bench, "late", "--interval", str(PublishedHistory(1, 1).newest))


def report(bench: Bench) -> CallResults:
    """`rebalance-audit report --last 1h`."""
    return _of_command(bench, "report", "--last", "1h", "--out", str(bench.root / "report.html"))


def maintain(bench: Bench) -> CallResults:
    """`rebalance-audit maintain`, with nothing to do."""
    return _of_command(bench, "maintain")


def _of_command(bench: Bench, command: str, *options: str) -> CallResults:
    return _ratio(bench, lambda warehouse: Side("now").cold(command, "--warehouse", str(warehouse), *options))


def _ratio(bench: Bench, answer: Callable[[Path], object]) -> CallResults:
    """Both warehouses in turns; the first round does not count, as it reads files and makes what stays."""

    def seconds(warehouse: Path) -> float:
        before = _processor_seconds()
        answer(warehouse)
        return _processor_seconds() - before

    hours = bench.full_fleet.hours
    if hours <= _DAY:
        raise NotMeasuredError("a history of more than a day was not asked for (--hours)")
    warehouses = [_history(bench, steps) for steps in (hours, _DAY)]
    rounds = [[seconds(warehouse) for warehouse in warehouses] for _ in range(1 + bench.rounds)][1:]
    old, new = map(Times, zip(*rounds, strict=True))
    return CallResults.ratio(old, new, f"{hours:,} steps and {_DAY} of {bench.full_fleet.groups} groups")


def _processor_seconds() -> float:
    """Of all processes that this one has started and that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _history(bench: Bench, steps: int) -> Path:
    warehouse = bench.root / f"history-{steps}"
    if not warehouse.exists():
        bench.say(f"writing {steps:,} published steps")
        PublishedHistory(bench.full_fleet.groups, steps).write(warehouse)
    return warehouse
