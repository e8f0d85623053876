"""The replay against SQL that was written for it alone."""

from __future__ import annotations

import sys
from statistics import median

from benchmarks.bench import Bench
from benchmarks.measure import CallResults
from benchmarks.process import perform


def by_duckdb(bench: Bench) -> CallResults:
    """From the snapshots to intervals, owners and progress, unjudged ÷ the same in DuckDB, from the same files."""
    name = bench.whole_name
    bench.say("replaying the whole fleet")
    (ours,) = bench.seconds("replay", [bench.target(name)])
    bench.say("replaying it in DuckDB")
    task = {
        "action": "DuckDB's replay",
        "files": bench.files(name),
        "interval": str(bench.whole.interval),
        "rounds": bench.rounds,
    }
    theirs = median(perform(task, (sys.executable, "-m", "benchmarks.duckdb_replay")).result["seconds"])
    return CallResults(ours / theirs, f"{ours:.1f} s ÷ {theirs:.1f} s")
