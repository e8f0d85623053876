"""Audit recordings without Spark, and leave a warehouse that every command that only reads can show.

python -m tests.support.look WAREHOUSE 2026-11-21T02:00/2026-11-21T03:00 CADENCE_SECONDS FILE…
"""

import shutil
import sys
from collections.abc import Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from schemas import AUDIT_RUNS, CLIENT_STACKS, COVERAGE, MEMBERSHIP_SNAPSHOTS, OUTPUTS, SIGHTINGS, SOURCES
from spark_jobs.config import Configuration
from spark_jobs.domain.evaluate import EvaluatedStep
from spark_jobs.domain.kernel.coverage import cluster_coverage
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.ingest.sightings import sightings
from spark_jobs.pipeline.publish.rows import coverage_rows, tables
from tests.support.gathered import Rows
from tests.support.kernel import evaluated, recorded_rows
from tests.support.stored import arrow_table, audit_run, write


def audit_into(
    warehouse: Path,
    interval: Interval,
    cadence_seconds: int,
    recordings: Iterable[Path],
    consumer_group: str | None = None,
) -> list[EvaluatedStep]:
    """Write the source rows of the recordings, and what an audit of the interval in steps of an hour publishes: of all
    groups, or of one. Return its steps.
    """
    return rows_into(warehouse, interval, cadence_seconds, recorded_rows(*recordings), consumer_group)


def rows_into(
    warehouse: Path, interval: Interval, cadence_seconds: int, rows: Rows, consumer_group: str | None = None
) -> list[EvaluatedStep]:
    """The same of source rows."""
    configuration = Configuration(cadence_seconds=cadence_seconds)
    steps = evaluated(rows, interval, configuration.audit_settings)
    steps = [each for each in steps if consumer_group in (None, each.step.history.consumer_group)]
    outputs = tables(steps)
    if consumer_group is None:
        clusters = cluster_coverage([each.coverage for each in steps], configuration.audit_settings.step)
        outputs[COVERAGE.name] = pa.concat_tables([outputs[COVERAGE.name], coverage_rows(clusters)])
    for table in SOURCES:
        write_deltalake(warehouse / table.name, arrow_table(table, rows.get(table, ())), mode="append")
    if CLIENT_STACKS in rows:
        write(warehouse, CLIENT_STACKS, rows[CLIENT_STACKS])
    members = [(MEMBERSHIP_SNAPSHOTS, row) for row in rows.get(MEMBERSHIP_SNAPSHOTS, ())]
    write(warehouse, SIGHTINGS, sightings(members))
    for table in OUTPUTS:
        write_deltalake(warehouse / table.name, outputs[table.name], mode="append")
    versions, sources = (
        {table.name: DeltaTable(warehouse / table.name).version() for table in tables_of}
        for tables_of in (OUTPUTS, SOURCES)
    )
    finished_at = interval.end + timedelta(minutes=1)
    values: dict[str, Any] = {"finished_at": finished_at, "consumer_group": consumer_group}
    values |= {"configuration": configuration.model_dump_json(), "source_versions": sources}
    write(warehouse, AUDIT_RUNS, [audit_run(interval, versions, **values)])
    return steps


def main(arguments: Sequence[str]) -> None:
    warehouse, interval, cadence, *recordings = arguments
    shutil.rmtree(warehouse, ignore_errors=True)
    audit_into(Path(warehouse), Interval.parse(interval), int(cadence), map(Path, recordings))


if __name__ == "__main__":
    main(sys.argv[1:])
