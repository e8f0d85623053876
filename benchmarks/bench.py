"""The benchmark: what an audit costs in units of a scan of the same tables, and how that grows."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping, Sequence
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
    """The fleets by name: 1×, 2× and 4× groups; a day and a week; one group flaps, or none."""
    whole = Fleet(groups=groups, hours=hours)
    history = Fleet(groups=max(groups // 10, 5), hours=24)
    stable = Fleet(groups=5 if quick else 20, hours=1, cadence_ms=FLAP_MS, churn=0, duplicates=0)
    return {
        "1x": replace(whole, groups=max(groups // 4, 1)),
        "2x": replace(whole, groups=max(groups // 2, 1)),
        "4x": whole,
        "day": history,
        "week": replace(history, hours=7 * 24),
        "stable": stable,
        "flapping": replace(stable, flapping=1),
    }


def audited(name: str, fleet: Fleet) -> Interval:
    """What is audited of a fleet: all of it, but of a long history its last hour."""
    whole = fleet.interval
    return Interval(whole.end - timedelta(hours=1), whole.end) if name in ("day", "week") else whole


def _task(action: str, root: Path, made: Mapping[str, Fleet], rounds: int) -> dict[str, object]:
    """A task over some fleets; its warm-up is the first one's first hour."""
    first = next(iter(made.values())).interval.start
    targets = [{"warehouse": str(root / name), "interval": str(audited(name, fleet))} for name, fleet in made.items()]
    warm_up = str(Interval(first, first + timedelta(hours=1)))
    return {"action": action, "targets": targets, "warm_up": warm_up, "rounds": rounds}


def measure(root: Path, made: Mapping[str, Fleet], rounds: int) -> Iterator[str | Measured]:
    """What is being done (text), then what came out; raises `MeasurementError`.

    Scans and audits run in a process of their own each, which nothing has warmed up or filled before.
    """
    yield f"making {len(made)} fleets of up to {max(fleet.groups for fleet in made.values())} groups"
    perform({"action": "make", "fleets": {str(root / name): asdict(fleet) for name, fleet in made.items()}})
    yield "scanning the largest one"
    scan = perform(_task("scan", root, {"4x": made["4x"]}, rounds))
    yield f"auditing every fleet, {rounds} × in turns"
    yield from _compared(made, scan, perform(_task("audit", root, made, rounds)))


def _compared(made: Mapping[str, Fleet], scan: Outcome, audit: Outcome) -> Iterator[Measured]:
    scanned = median(scan.result["seconds"][0])
    took = dict(zip(made, map(median, audit.result["seconds"]), strict=True))

    def ratio(what: str, over: str, base: str, goal: str) -> Measured:
        return Measured(what, f"{took[over] / took[base]:.2f}", goal, f"{took[over]:.1f} s ÷ {took[base]:.1f} s")

    groups = {name: fleet.groups for name, fleet in made.items()}
    by_scan = f"{took['4x']:.1f} s ÷ {scanned:.1f} s, {groups['4x']} groups × {made['4x'].hours} h"
    yield Measured("audit ÷ scan", f"{took['4x'] / scanned:.2f}", "≤ 4", by_scan)
    yield ratio(f"2 × the groups ({groups['1x']} → {groups['2x']})", "2x", "1x", "≤ 2")
    yield ratio(f"4 × the groups ({groups['1x']} → {groups['4x']})", "4x", "1x", "≤ 4")
    yield ratio("one hour of a week ÷ of a day", "week", "day", "≈ 1")
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
    rows: list[Measured] = []
    try:
        with tempfile.TemporaryDirectory(dir=arguments.directory) as root, progress_on(console) as say:
            for event in measure(Path(root), made, arguments.rounds or rounds):
                if isinstance(event, Measured):
                    rows.append(event)
                else:
                    say(event)
    except MeasurementError as error:
        console.print(f"a measurement failed: {error}", markup=False)
        return 1
    Console().print(_table(rows))
    return 0
