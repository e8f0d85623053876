"""Rows that break rules, written past the ingest: each is set aside for its own reasons. The rest, some of it
odd, is audited as if they were not there.

`make reliability` takes ROWS of them (100,000), `make slow` a few hundred.
"""

import json
import os
import resource
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from schemas import OUTPUTS, QUARANTINE, SOURCES, Table
from spark_jobs.config import Configuration
from spark_jobs.config.model import Quality
from spark_jobs.ingest.batches import PLACE, arrow_table
from spark_jobs.pipeline.publish.rows import tables
from spark_jobs.pipeline.run import RunSpec, run
from spark_jobs.store.read.delta import DeltaTables
from spark_jobs.store.read.stored import rows
from spark_jobs.store.warehouse import Warehouse
from tests.end_to_end.reliability.rows import BREAKS, Broken, Row, broken_rows, good_row, odd_rows
from tests.support.kernel import evaluated
from tests.support.times import HOUR

CONFIGURATION = Configuration(quality=Quality(max_quarantined_percent=100.0))
GOOD = {table: [good_row(table, n, s) for n in range(20) for s in range(5, 3600, 200)] for table in SOURCES}
_PART = 25_000


@pytest.mark.slow
def test_a_few_hundred_broken_rows(spark: SparkSession, tmp_path: Path) -> None:
    check(spark, tmp_path, list(broken_rows(1, len(BREAKS) + 100)), 300)


@pytest.mark.reliability
def test_very_many_broken_rows(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = list(broken_rows(2, int(os.environ.get("ROWS", "100000")), heavy=True))
    start = time.monotonic()
    # Some odd routes have 65,535 queues: with five times as many rows, seven million would be published.
    check(spark, tmp_path, broken, 1_000)
    with capsys.disabled():
        of_this = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"\n{len(broken):,} rows in {time.monotonic() - start:.0f} s, this process at most {of_this:.2f} GiB")
        print(Counter(row.reason for row in broken))


def check(spark: SparkSession, folder: Path, broken: Sequence[Broken], odd_count: int) -> None:
    """A run over good and odd rows with broken ones between them publishes what the kernel evaluates without these."""
    warehouse = Warehouse.parse(str(folder / "warehouse"))
    odd = list(odd_rows(3, odd_count))
    kept = {table: good + [row for of_table, row in odd if of_table is table] for table, good in GOOD.items()}
    load(spark, warehouse, {table: kept[table] + [one.row for one in broken if one.table is table] for table in kept})
    run(spark, warehouse, RunSpec(HOUR), CONFIGURATION)
    stored, expected = DeltaTables(warehouse), tables(evaluated(kept, HOUR, sighted={}))
    for table in OUTPUTS:
        both = (stored.read(table, table.columns), expected[table.name].select(table.columns))
        published, evaluated_rows = (sorted(map(_comparable, rows(one)), key=repr) for one in both)
        published = [row for row in published if row["consumer_group"] is not None]  # clusters have rows of coverage
        assert published == evaluated_rows != [], table.name
    quarantined = quarantined_rows(spark, warehouse)
    assert len(quarantined) == len(broken)
    assert Counter(quarantined) == Counter((one.table.name, key(one), frozenset({one.reason})) for one in broken)


def _comparable(row: Row) -> dict[str, Any]:
    """The row of coverage without the reasons: snapshots that broke a rule are missing for another one."""
    if "missing" not in row:
        return dict(row)
    return {**row, "missing": [(each["started_at"], each["ended_at"], each["source"]) for each in row["missing"]]}


def load(spark: SparkSession, warehouse: Warehouse, of_tables: Mapping[Table, Sequence[Row]]) -> None:
    warehouse.create(spark, SOURCES)
    for table in SOURCES:
        filled = [dict.fromkeys(table.columns) | row for row in of_tables[table]]
        for first in range(0, len(filled), _PART):
            part = filled[first : first + _PART]
            frame = spark.createDataFrame(arrow_table(table, part).drop_columns([PLACE]))
            warehouse.save(frame.write.format("delta").mode("append"), table)


def quarantined_rows(spark: SparkSession, warehouse: Warehouse) -> list[tuple[str, str, frozenset[str]]]:
    """Of every row in quarantine: table, key without its long names, reasons."""
    quarantine = warehouse.read(spark, QUARANTINE).select("source_table", "row_key", "reasons").collect()
    return [(row.source_table, captured(row.row_key), frozenset(row.reasons)) for row in quarantine]


def captured(text: str) -> str:
    """When a row was captured, by its key; a key that was cut does not end as JSON."""
    try:
        moment = datetime.fromisoformat(json.loads(text)["captured_at"])
    except json.JSONDecodeError:
        return text[:100]
    return moment.astimezone(UTC).isoformat()


def key(one: Broken) -> str:
    names = {name: one.row[name] for name in one.table.key if name != "captured_at"}
    if max(map(len, names.values())) > 64 * 1024:
        return json.dumps(names, separators=(",", ":"))[:100]
    moment: datetime = one.row["captured_at"]  # of which the key shows the milliseconds
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000).isoformat()
