"""The benchmark: what an audit costs in units of other work, how that grows, and which goals it misses."""

import argparse
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import psutil  # type: ignore[import-untyped]
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.bench import SIZES, Bench
from benchmarks.fleet import Fleet
from benchmarks.measure import TOLERANCE, Measure, Result, measured
from benchmarks.measures import MEASURES
from spark_jobs.cli.terminal import progress_on

_CORES = 2
#: Characters; where nobody sets one, as in a log, less is assumed, and every cell breaks.
_TABLE_WIDTH = 130
_EPILOG = """\
examples:
  python -m benchmarks                      # a fleet-day: 2.16 million membership snapshots, 34.6 million samples
  python -m benchmarks --quick              # 3 minutes: does it work, what is paid before the data is
  python -m benchmarks --only scan gate     # two measures
  python -m benchmarks --only year          # a warehouse of 8,760 steps ÷ one of a day
  git worktree add /tmp/before COMMIT && python -m benchmarks --before /tmp/before
  python -m benchmarks --groups 100 --hours 6 --rounds 5 --directory /data/scratch
"""


def wanted(names: Sequence[str] | None, *, quick: bool) -> list[Measure]:
    """The measures that were asked for, in the order of the table."""
    return [
        measure
        for measure in MEASURES
        if (measure.name in names or measure.family in names if names else measure.is_quick or not quick)
    ]


def results(bench: Bench, measures: Sequence[Measure]) -> Iterator[Result]:
    """What came out of each."""
    for measure in measures:
        result = measured(measure, bench)
        bench.say(f"{measure.what}: {result.value or result.detail} ({result.verdict})")
        yield result


def table(rows: Sequence[Result]) -> Table:
    """Every measure with its goal beside its value."""
    output = Table("measure", "value", "goal", "verdict", "from", title="Cost of an audit", title_justify="left")
    for row in rows:
        output.add_row(*map(escape, (row.measure.what, row.value, row.measure.goal, row.verdict, row.detail)))
    return output


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=f"{__doc__} Exit code 1: a goal was missed by more than {TOLERANCE:.0%}, or a measure failed.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [*dict.fromkeys(name for measure in MEASURES for name in (measure.family, measure.name) if name)]
    parser.add_argument("--quick", action="store_true", help="20 groups × 1 h, one round, what is done in 3 minutes")
    parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--groups", type=int, metavar="N", help="groups of the largest fleet (500)")
    parser.add_argument("--hours", type=int, metavar="N", help="length of its history (24; year: 8,760)")
    parser.add_argument("--rounds", type=int, metavar="N", help="how often a time is taken; the median counts (5)")
    parser.add_argument("--directory", type=Path, help="where the fleets are made, and deleted afterwards (temporary)")
    parser.add_argument("--before", type=Path, metavar="DIR", help="a checkout of the commit to compare with")
    parser.add_argument("--test-log", type=Path, metavar="FILE", help="output of `make test`: how long it took")
    arguments = parser.parse_args(argv)
    if arguments.directory is not None and not arguments.directory.is_dir():
        parser.error(f"argument --directory: there is no folder {arguments.directory}: create it first")
    return arguments


def _bench(arguments: argparse.Namespace, root: Path, measures: Sequence[Measure], say: Callable[[str], None]) -> Bench:
    groups, hours, rounds = (20, 1, 1) if arguments.quick else (500, 24, 5)
    return Bench(
        root,
        Fleet(groups=arguments.groups or groups, hours=arguments.hours or hours),
        arguments.rounds or rounds,
        say,
        SIZES if any(measure.name == "groups" for measure in measures) else SIZES[-1:],
        arguments.test_log,
        arguments.before,
        arguments.hours or Bench.history_hours,
    )


def _on_two_cores() -> None:
    """Keeps this process, and all that it starts, on two cores, where the system can do that."""
    process = psutil.Process()
    if hasattr(process, "cpu_affinity"):
        process.cpu_affinity(process.cpu_affinity()[:_CORES])


def main(argv: Sequence[str]) -> int:
    """Prints the table; 1 if a goal was missed by more than the tolerance, or a measure failed."""
    arguments = _arguments(argv)
    measures = wanted(arguments.only, quick=arguments.quick)
    _on_two_cores()
    with (
        tempfile.TemporaryDirectory(dir=arguments.directory) as root,
        progress_on(Console(stderr=True)) as say,
    ):
        bench = _bench(arguments, Path(root), measures, say)
        rows = list(results(bench, measures))
    console = Console()
    console.width = max(console.width, _TABLE_WIDTH)
    console.print(table(rows))
    return int(any(row.missed for row in rows))
