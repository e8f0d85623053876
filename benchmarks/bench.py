"""The benchmark: what an audit costs in units of a scan of the same tables, and how that grows."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from benchmarks.fleet import FLAP_MS, Fleet
from benchmarks.process import MeasurementError, Outcome, perform
from spark_jobs.domain.intervals import Interval
from spark_jobs.terminal import progress_on

_EPILOG = """\
examples:
  python -m benchmarks                   # the default fleet: 2.16 million membership snapshots, 34.6 million readings
  python -m benchmarks --quick           # small, a few minutes: does it work, what is the fixed cost
  python -m benchmarks --groups 100 --hours 6 --rounds 5
"""


@dataclass(frozen=True)
class Measured:
    """One row of the result: a value beside its goal, and what it was computed from."""

    name: str
    value: str
    goal: str
    detail: str


def fleets(groups: int, hours: int, *, quick: bool) -> dict[str, Fleet]:
    """The fleets by name: 1×, 2× and 4× groups; 7× the history; one group flaps, or none."""
    whole = Fleet(groups=groups, hours=hours)
    quarter = replace(whole, groups=max(groups // 4, 1))
    stable = Fleet(groups=5 if quick else 20, hours=1, cadence_ms=FLAP_MS, churn=0, duplicates=0)
    made = {
        "1x": quarter,
        "2x": replace(whole, groups=max(groups // 2, 1)),
        "4x": whole,
        "7x": replace(quarter, hours=7 * hours),
        "stable": stable,
        "flapping": replace(stable, flapping=1),
    }
    return {name: fleet for name, fleet in made.items() if not (quick and name == "2x")}


def audited(made: Mapping[str, Fleet]) -> dict[str, tuple[str, Interval]]:
    """What is audited: fleet and interval, by name. Of the longest history and of a short one also the last hour."""
    whole = {name: (name, fleet.interval) for name, fleet in made.items() if name != "7x"}
    ends = {f"last hour of {name}": (name, made[name].interval.end) for name in ("1x", "7x")}
    return whole | {name: (fleet, Interval(end - timedelta(hours=1), end)) for name, (fleet, end) in ends.items()}


def _task(action: str, root: Path, targets: Iterable[tuple[str, Interval]], rounds: int) -> dict[str, object]:
    named = [{"warehouse": str(root / name), "interval": str(interval)} for name, interval in targets]
    return {"action": action, "targets": named, "rounds": rounds}


def measure(root: Path, made: Mapping[str, Fleet], rounds: int, say: Callable[[str], None]) -> list[Measured]:
    """What came out; raises `MeasurementError`.

    Scans and audits run in a process of their own each, which nothing has warmed up or filled before.
    """
    say(f"making {len(made)} fleets of up to {max(fleet.groups for fleet in made.values())} groups")
    perform({"action": "make", "fleets": {str(root / name): asdict(fleet) for name, fleet in made.items()}}, say)
    say("scanning the largest one")
    scan = perform(_task("scan", root, [("4x", made["4x"].interval)], rounds), say)
    say("auditing")
    audit = perform(_task("audit", root, audited(made).values(), rounds), say)
    return list(_compared(made, scan, audit))


def _compared(made: Mapping[str, Fleet], scan: Outcome, audit: Outcome) -> Iterator[Measured]:
    scanned = median(scan.result["seconds"][0])
    took = dict(zip(audited(made), map(median, audit.result["seconds"]), strict=True))

    def ratio(what: str, over: str, base: str, goal: str) -> Measured:
        return Measured(what, f"{took[over] / took[base]:.2f}", goal, f"{took[over]:.1f} s ÷ {took[base]:.1f} s")

    groups = {name: fleet.groups for name, fleet in made.items()}
    by_scan = f"{took['4x']:.1f} s ÷ {scanned:.1f} s, {groups['4x']} groups × {made['4x'].hours} h"
    yield Measured("audit ÷ scan", f"{took['4x'] / scanned:.2f}", "≤ 4", by_scan)
    if "2x" in made:
        yield ratio(f"2 × the groups ({groups['1x']} → {groups['2x']})", "2x", "1x", "≤ 2")
    yield ratio(f"4 × the groups ({groups['1x']} → {groups['4x']})", "4x", "1x", "≤ 4")
    history = f"one hour of {made['7x'].hours} h ÷ of {made['1x'].hours} h"
    yield ratio(history, "last hour of 7x", "last hour of 1x", "≈ 1")
    yield ratio(f"one of {groups['stable']} groups flaps 1,000 × an hour ÷ none", "flapping", "stable", "≈ 1")
    heap = audit.result["heap"]
    yield Measured("peak memory", f"{audit.peak_bytes / 2**30:.1f} GiB", "≤ 6 GiB", f"Python and a JVM of {heap} heap")


def _table(rows: Sequence[Measured]) -> Table:
    table = Table("measurement", "value", "goal", "from", title="Cost of an audit", title_justify="left")
    for row in rows:
        table.add_row(row.name, row.value, row.goal, row.detail)
    return table


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="20 groups × 2 h, one round")
    parser.add_argument("--groups", type=int, metavar="N", help="groups of the largest fleet (500)")
    parser.add_argument("--hours", type=int, metavar="N", help="length of its history (24)")
    parser.add_argument("--rounds", type=int, metavar="N", help="how often a time is taken; the median counts (3)")
    parser.add_argument("--directory", type=Path, help="where the fleets are made, and deleted afterwards (temporary)")
    return parser.parse_args(argv)


def main(argv: Sequence[str]) -> int:
    """Prints the table; 1 if a measurement failed, whatever the values are."""
    arguments = _arguments(argv)
    groups, hours, rounds = (20, 2, 1) if arguments.quick else (500, 24, 3)
    made = fleets(arguments.groups or groups, arguments.hours or hours, quick=arguments.quick)
    console = Console(stderr=True)
    try:
        with tempfile.TemporaryDirectory(dir=arguments.directory) as root, progress_on(console) as say:
            rows = measure(Path(root), made, arguments.rounds or rounds, say)
    except MeasurementError as error:
        console.print(f"a measurement failed: {error}", markup=False)
        return 1
    Console().print(_table(rows))
    return 0
