"""What it costs when groups do nothing but rebalance."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.bench import Bench
from benchmarks.fleet import FLAP_MS
from benchmarks.measure import CallResults


def one_group(bench: Bench) -> CallResults:
    """A run over an hour in which a member of one group comes and goes 1,000 times ÷ in which none does."""
    return _flapping(bench, 1)


def tenth_of_groups(bench: Bench) -> CallResults:
    """The same with a tenth of the groups flapping."""
    return _flapping(bench, _groups(bench) // 10)


def _groups(bench: Bench) -> int:
    """A fifth of the groups: every source is captured every 1.8 s, so that each coming and going is seen."""
    return max(bench.groups(0.2), 10)


def _flapping(bench: Bench, count: int) -> CallResults:
    groups = _groups(bench)
    stable = replace(bench.whole, groups=groups, hours=1, cadence_ms=FLAP_MS, churn=0.0, duplicates=0.0)
    name = f"flapping-{count}"
    bench.make({"stable": stable, name: replace(stable, flapping=count)})
    bench.say(f"auditing {groups} groups, {count} of which flap, and none of which does")
    calm, stormy = bench.seconds("audit", [bench.target("stable"), bench.target(name)])
    return CallResults(stormy / calm, f"{stormy:.1f} s ÷ {calm:.1f} s, {count} of {groups} groups")
