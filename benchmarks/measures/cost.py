"""What an audit of the whole fleet costs: in itself, and against SQL that was written for its replay alone."""

from __future__ import annotations

import sys
from dataclasses import replace
from statistics import median

from benchmarks.bench import Bench
from benchmarks.measure import CallResults
from benchmarks.process import perform

#: What `run` says when it begins the work of the gate, beside what the Arrow function checks.
_GATE = "checking what was counted"


def audit_by_scan(bench: Bench) -> CallResults:
    """A whole `run` ÷ reading the same columns of the same tables into a `noop` sink."""
    audited, scanned = bench.audit_seconds(), bench.scan_seconds
    fleet = f"{bench.full_fleet.groups} groups × {bench.full_fleet.hours} h"
    return CallResults(audited / scanned, f"{audited:.1f} s ÷ {scanned:.1f} s, {fleet}")


def gate_by_audit(bench: Bench) -> CallResults:
    """The stage of a run in which the gate judges ÷ all of its other stages.

    What is checked where the rows are is a part of judging every group, and is not counted here.
    """
    rounds = bench.audits.result["stages"][-1]
    gate = median(stages[_GATE] for stages in rounds)
    other_stages = median(sum(seconds for name, seconds in stages.items() if name != _GATE) for stages in rounds)
    return CallResults(
        gate / other_stages, f"{gate:.1f} s ÷ {other_stages:.1f} s, without what the Arrow function checks"
    )


def strategies_by_audit(bench: Bench) -> CallResults:
    """Processor time of `strategy_comparison` over every step, without checking and writing its table ÷ a whole `run`.

    A run works on several cores at once, so its processor time is more than its time on the clock, and this part less.
    """
    bench.say("comparing the strategies of the whole fleet")
    rounds = bench.perform("strategies", [bench.target(bench.full_fleet_name)]).result["stages"][0]
    compared, audited = median(parts["strategies"] for parts in rounds), bench.audit_seconds()
    return CallResults(compared / audited, f"{compared:.2f} s of one core ÷ {audited:.1f} s")


def inference_by_audit(bench: Bench) -> CallResults:
    """Processor time in which strategies are inferred from the queues that all clients list ÷ a whole `run`."""
    name = "listing"
    bench.make({name: replace(bench.full_fleet, says_strategy=False, lists_queues=True)})
    bench.say("replaying the whole fleet, its strategies inferred and known")
    rounds = bench.perform("inference", [bench.target(name)]).result["stages"][0]
    inferred, known = (median(parts[part] for parts in rounds) for part in ("inferred", "known"))
    (audited,) = bench.seconds("audit", [bench.target(name)])
    measured = f"({inferred:.2f} − {known:.2f}) s of one core ÷ {audited:.1f} s"
    return CallResults((inferred - known) / audited, measured)


def peak_memory(bench: Bench) -> CallResults:
    """The most that Python and the JVM, driver and executors in one, held at one moment of the audits."""
    peak = bench.audits.peak_bytes / 2**30
    return CallResults(peak, f"Python and a JVM of {bench.audits.result['heap']} heap")


def by_duckdb(bench: Bench) -> CallResults:
    """From the snapshots to intervals, owners and progress, unjudged ÷ the same in DuckDB, from the same files."""
    name = bench.full_fleet_name
    bench.say("replaying the whole fleet")
    (ours,) = bench.seconds("replay", [bench.target(name)])
    bench.say("replaying it in DuckDB")
    task = {
        "action": "DuckDB's replay",
        "files": bench.files(name),
        "interval": str(bench.full_fleet.interval),
        "rounds": bench.rounds,
    }
    theirs = median(perform(task, (sys.executable, "-m", "benchmarks.duckdb_replay")).result["seconds"])
    return CallResults(ours / theirs, f"{ours:.1f} s ÷ {theirs:.1f} s")
