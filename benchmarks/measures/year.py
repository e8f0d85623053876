"""Processor time of an answer in an old warehouse ÷ in one of a day: both end with the same steps."""

from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.errors import NotMeasuredError
from benchmarks.history import PublishedHistory
from benchmarks.measure import CallResults
from benchmarks.process import used
from benchmarks.times import Times

_DAY = 24
#: Stands for the folder of one of the two.
_WAREHOUSE = "{warehouse}"
_MIB = 1 << 20
#: What a run does with the incidents, after it has published its step.
_FOLD = (
    "import sys; from spark_jobs.domain.model.intervals import Interval; "
    "from spark_jobs.show.incidents import publish_incidents; "
    "from spark_jobs.store.read.delta import delta_tables; "
    "publish_incidents(delta_tables(sys.argv[1]), (), Interval.parse(sys.argv[2]))"
)


def incidents_of_run(bench: Bench) -> CallResults:
    """The incidents that a run brings up to date after it has published the newest step, in a process of its own."""
    return _ratio(bench, "-c", _FOLD, _WAREHOUSE, str(PublishedHistory(1, 1).newest))


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
    return _ratio(bench, "-m", "spark_jobs.cli", command, "--warehouse", _WAREHOUSE, *options)


def _ratio(bench: Bench, *arguments: str) -> CallResults:
    """Python with these arguments on both warehouses in turns; the first round does not count, as it reads files and
    makes what stays.
    """
    if bench.history_hours <= _DAY:
        raise NotMeasuredError("a history of more than a day was not asked for (--hours)")
    warehouses = [_history(bench, steps) for steps in (bench.history_hours, _DAY)]
    rounds = [[_of_python(warehouse, arguments) for warehouse in warehouses] for _ in range(1 + bench.rounds)][1:]
    (old, old_bytes), (new, new_bytes) = (zip(*of_warehouse, strict=True) for of_warehouse in zip(*rounds, strict=True))
    memory = f"at most {max(old_bytes) / _MIB:,.0f} and {max(new_bytes) / _MIB:,.0f} MiB"
    return CallResults.ratio(Times(old), Times(new), memory, _size(bench, warehouses[0]))


def _of_python(warehouse: Path, arguments: tuple[str, ...]) -> tuple[float, int]:
    return used(str(warehouse) if each == _WAREHOUSE else each for each in arguments)


def _size(bench: Bench, warehouse: Path) -> str:
    """How large the old warehouse is."""
    files = [*warehouse.rglob("*.parquet")]
    logs = sum(file.stat().st_size for file in warehouse.glob("*/_delta_log/*"))
    steps = f"{bench.history_hours:,} steps and {_DAY} of {bench.full_fleet.groups} groups"
    return f"{steps}; {len(files):,} files, {logs / _MIB:,.0f} MiB of logs"


def _history(bench: Bench, steps: int) -> Path:
    warehouse = bench.root / f"history-{steps}"
    if not warehouse.exists():
        bench.say(f"writing {steps:,} published steps")
        PublishedHistory(bench.full_fleet.groups, steps).write(warehouse)
    return warehouse
