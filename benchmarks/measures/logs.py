"""What reading a broker's logs takes: on two cores, and how memory grows with them."""

import sys
from pathlib import Path
from typing import NamedTuple

from benchmarks.bench import Bench
from benchmarks.logs import make
from benchmarks.measure import CallResults
from benchmarks.process import perform
from benchmarks.times import Times
from spark_jobs.domain.phrases import count

_SMALL, _LARGE = 50, 200


def two_cores(bench: Bench) -> CallResults:
    """200 MB on two cores ÷ on one."""
    one, two = _read(bench, (_LARGE, 1), (_LARGE, 2))
    speeds = " and ".join(f"{_LARGE / each.times.median:.0f}" for each in (one, two))
    return CallResults.ratio(two.times, one.times, f"{speeds} MB/s on one core and on two")


def linear(bench: Bench) -> CallResults:
    """200 MB ÷ 50 MB, on one core."""
    small, large = _read(bench, (_SMALL, 1), (_LARGE, 1))
    peaks = " and ".join(f"{each.peak_bytes / 2**20:.0f}" for each in (small, large))
    return CallResults.ratio(large.times, small.times, f"peak memory {peaks} MiB, {large.events:,} events")


class _Read(NamedTuple):
    """The cost of reading some logs, in all rounds."""

    times: Times
    peak_bytes: int
    events: int


def _read(bench: Bench, *works: tuple[int, int]) -> list[_Read]:
    """So many megabytes of logs, read on so many cores; the works take turns."""
    what = (f"{megabytes} MB of logs on {count(cores, 'core')}" for megabytes, cores in works)
    bench.say(f"reading {' and '.join(what)}")
    tasks = [{"action": "read logs", "folder": str(_logs(bench, size)), "cores": cores} for size, cores in works]
    turns = [[perform(task, (sys.executable, "-m", "benchmarks.logs")) for task in tasks] for _ in range(bench.rounds)]
    return [
        _Read(
            Times(outcome.result["seconds"] for outcome in outcomes),
            max(outcome.peak_bytes for outcome in outcomes),
            outcomes[0].result["events"],
        )
        for outcomes in zip(*turns, strict=True)
    ]


def _logs(bench: Bench, megabytes: int) -> Path:
    """The folder of logs of that size, written if it is not there."""
    folder = bench.root / f"logs-{megabytes}"
    if not folder.exists():
        bench.say(f"writing {megabytes} MB of logs")
        make(folder, megabytes)
    return folder
