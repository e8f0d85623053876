"""What reading a broker's logs takes: on two cores, and how memory grows with them."""

from __future__ import annotations

import sys

from benchmarks.bench import Bench
from benchmarks.logs import make
from benchmarks.measure import CallResults
from benchmarks.process import Outcome, perform

_SMALL, _LARGE = 50, 200


def two_cores(bench: Bench) -> CallResults:
    """200 MB on two cores ÷ on one."""
    one, two = (_read(bench, _LARGE, cores) for cores in (1, 2))
    speeds = " and ".join(f"{read.result['bytes'] / read.result['seconds'] / 1e6:.0f}" for read in (one, two))
    return CallResults(two.result["seconds"] / one.result["seconds"], f"{speeds} MB/s on one core and on two")


def linear(bench: Bench) -> CallResults:
    """200 MB ÷ 50 MB, on one core."""
    small, large = (_read(bench, megabytes, 1) for megabytes in (_SMALL, _LARGE))
    peaks = " and ".join(f"{read.peak_bytes / 2**20:.0f}" for read in (small, large))
    events = f"{large.result['events']:,} events"
    return CallResults(large.result["seconds"] / small.result["seconds"], f"peak memory {peaks} MiB, {events}")


def _read(bench: Bench, megabytes: int, cores: int) -> Outcome:
    folder = bench.root / f"logs-{megabytes}"
    if not folder.exists():
        bench.say(f"writing {megabytes} MB of logs")
        make(folder, megabytes)
    bench.say(f"reading {megabytes} MB of logs on {cores} cores")
    task = {"action": "read logs", "folder": str(folder), "cores": cores}
    return perform(task, command=(sys.executable, "-m", "benchmarks.logs"))
