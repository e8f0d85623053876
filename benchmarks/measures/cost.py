"""What an audit of the whole fleet costs: in itself, and against SQL that was written for its replay alone."""

import sys
from dataclasses import replace

from benchmarks.bench import Bench
from benchmarks.measure import CallResults
from benchmarks.process import perform
from benchmarks.times import Times

#: What `run` says when it begins the work of the gate, beside what the Arrow function checks.
_GATE = "checking what was counted"


def audit_by_scan(bench: Bench) -> CallResults:
    """A whole `run` ÷ reading the same columns of the same tables into a `noop` sink."""
    fleet = f"{bench.full_fleet.groups} groups × {bench.full_fleet.hours} h"
    return CallResults.ratio(bench.audit_times(), bench.scan_times, fleet)


def gate_by_audit(bench: Bench) -> CallResults:
    """The stage of a run in which the gate evaluates ÷ all of its other stages.

    What is checked where the rows are is a part of evaluating every group, and is not counted here.
    """
    rounds = bench.audits.result["stages"][-1]
    gate = Times(stages[_GATE] for stages in rounds)
    other_stages = Times(sum(seconds for name, seconds in stages.items() if name != _GATE) for stages in rounds)
    return CallResults.ratio(gate, other_stages, "without what the Arrow function checks")


def strategies_by_audit(bench: Bench) -> CallResults:
    """Processor time of `strategy_comparison` over every step, without checking and writing its table ÷ a whole `run`.

    A run works on several cores at once, so its processor time is more than its time on the clock, and this part less.
    """
    bench.say("comparing the strategies of the whole fleet")
    return _part_of_audit(bench, "strategies")


def backlog_by_audit(bench: Bench) -> CallResults:
    """Processor time in which the rows of `backlog` are made, without checking and writing them ÷ a whole `run`."""
    bench.say("adding up the backlogs of the whole fleet")
    return _part_of_audit(bench, "backlog")


def inference_by_audit(bench: Bench) -> CallResults:
    """Processor time in which strategies are inferred from the queues that all clients list ÷ a whole `run`."""
    name = "listing"
    bench.make({name: replace(bench.full_fleet, says_strategy=False, lists_queues=True)})
    bench.say("replaying the whole fleet, its strategies inferred and known")
    rounds = bench.perform("inference", [bench.target(name)]).result["stages"][0]
    inferred = Times(parts["inferred"] - parts["known"] for parts in rounds)
    (audited,) = bench.times("audit", [bench.target(name)])
    return CallResults.ratio(inferred, audited, "the first of one core")


def _part_of_audit(bench: Bench, action: str) -> CallResults:
    rounds = bench.perform(action, [bench.target(bench.full_fleet_name)]).result["stages"][0]
    part = Times(parts[action] for parts in rounds)
    return CallResults.ratio(part, bench.audit_times(), "the first of one core")


def peak_memory(bench: Bench) -> CallResults:
    """The most that Python and the JVM, driver and executors in one, held at one moment of the audits."""
    peak = bench.audits.peak_bytes / 2**30
    return CallResults(peak, f"Python and a JVM of {bench.audits.result['heap']} heap")


def by_duckdb(bench: Bench) -> CallResults:
    """From the snapshots to intervals, owners and progress, not evaluated ÷ the same in DuckDB, from the same files."""
    name = bench.full_fleet_name
    bench.say("replaying the whole fleet")
    (ours,) = bench.times("replay", [bench.target(name)])
    bench.say("replaying it in DuckDB")
    task = {
        "action": "DuckDB's replay",
        "files": bench.files(name),
        "interval": str(bench.full_fleet.interval),
        "rounds": bench.rounds,
    }
    theirs = perform(task, (sys.executable, "-m", "benchmarks.duckdb_replay")).result["seconds"]
    return CallResults.ratio(ours, Times(theirs))
