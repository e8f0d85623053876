"""Two hours of a small group, audited before some snapshots came, which `run`, `late` and `backfill` then see."""

import gzip
import hashlib
import io
import shutil
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from schemas import (
    CAPTURE_CALLS,
    MEMBERSHIP_SNAPSHOTS,
    OFFSET_SNAPSHOTS,
    OUTPUTS,
    QUARANTINE,
    ROUTE_SNAPSHOTS,
    SIGHTINGS,
    SOURCES,
)
from spark_jobs.cli.main import main
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval, StepGrid
from spark_jobs.pipeline.run import RunSpec, run
from spark_jobs.store.read.delta import delta_tables
from spark_jobs.store.read.stored import tuples
from spark_jobs.store.warehouse import Warehouse
from tests.spark.recording.conftest import EXAMPLE
from tests.support.snapshots import load, membership, offsets, route
from tests.support.times import at

WHOLE = Interval(at(0), at(7200))
STEPS = list(StepGrid(WHOLE.end - at(3600)).steps(WHOLE))
TIMES = range(0, 7200, 20)
#: Lines of the recording that `ingest` loads, with some that it quarantines.
LINES = 1500
#: Of each command where nothing happens to it: some have warnings.
EXIT_CODES = {"run": 2, "late": 2, "backfill": 2, "ingest": 2, "maintain": 0}
Contents = Mapping[str, tuple[int, str]]


@dataclass(frozen=True)
class Prepared:
    """Warehouses to be copied, and a recording that none of them has."""

    audited: Path
    late: Path
    recording: Path

    def copy(self, command: str, folder: Path) -> Warehouse:
        """The warehouse that a command begins with."""
        shutil.copytree(self.audited if command in ("ingest", "maintain") else self.late, folder)
        return Warehouse.parse(str(folder))


def prepare(spark: SparkSession, folder: Path) -> Prepared:
    """All members own what they should; then a twin comes to light who was there in the middle of both hours."""
    audited = Warehouse.parse(str(folder / "audited"))
    load(
        spark,
        audited,
        {
            MEMBERSHIP_SNAPSHOTS: [membership(second, "a", "b") for second in TIMES],
            ROUTE_SNAPSHOTS: [route(second, 4) for second in TIMES],
            OFFSET_SNAPSHOTS: [offsets(second, *[(100 + second, 100 + second, 1)] * 4) for second in TIMES],
        },
    )
    audited.create(spark, (*SOURCES, SIGHTINGS, CAPTURE_CALLS, QUARANTINE))
    for step in STEPS:
        run(spark, audited, RunSpec(step), Configuration())
    late = folder / "late"
    shutil.copytree(audited.location, late)
    middle = [second for second in TIMES if 1200 < second % 3600 < 2400]
    twins = [membership(second + 10, "a", "a", "b") for second in middle]
    behind = [offsets(second + 10, *[(100 + second, 100, 1)] * 4) for second in middle]
    load(spark, Warehouse.parse(str(late)), {MEMBERSHIP_SNAPSHOTS: twins, OFFSET_SNAPSHOTS: behind})
    recording = folder / "recording.jsonl"
    with gzip.open(EXAMPLE) as lines:
        recording.write_bytes(b"".join(next(lines) for _ in range(LINES)) + b"no line\n")
    return Prepared(Path(audited.location), late, recording)


def arguments(command: str, warehouse: Warehouse, prepared: Prepared) -> list[str]:
    """What is typed after `rebalance-audit`."""
    of_warehouse, of_time = ["--warehouse", warehouse.location], ["--interval", str(WHOLE)]
    return {
        "ingest": ["ingest", *of_warehouse, str(prepared.recording)],
        "run": ["run", *of_warehouse, *of_time, "--json"],
        "late": ["late", *of_warehouse, *of_time, "--json"],
        "backfill": ["backfill", *of_warehouse, *of_time, "--jobs", "2", "--json"],
        "maintain": ["maintain", *of_warehouse, "--json"],
    }[command]


def contents(warehouse: Warehouse) -> Contents:
    """Row count and hash of every table that a command fills, whatever the order of rows and files."""
    stored, filled = delta_tables(warehouse.location), (*OUTPUTS, *SOURCES, SIGHTINGS, QUARANTINE)
    return {
        table.name: _content(stored.read(table, [*filter("rejected_at".__ne__, table.columns)]))
        for table in filled
        if stored.exists(table)
    }


def _content(table: pa.Table) -> tuple[int, str]:
    texts = sorted(map(repr, tuples(table)))
    return len(texts), hashlib.sha256("\n".join(texts).encode()).hexdigest()


def quietly(arguments: list[str]) -> int:
    """The exit code of a command, in this process and its session."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        return main(arguments)
