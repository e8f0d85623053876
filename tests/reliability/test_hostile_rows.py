"""Rows that break rules, written past the ingest: each is set aside for its own reasons, the audit of the rest is as
if they were not there.

`make reliability` takes ROWS of them (100,000), `make test` a few hundred.
"""

from __future__ import annotations

import json
import os
import resource
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from schemas import FINDINGS, OUTPUTS, QUARANTINE, SOURCES, Table
from spark_jobs.config import Configuration
from spark_jobs.config.model import Quality
from spark_jobs.ingest.batches import LINE_NUMBER, arrow_table
from spark_jobs.jobs.audit import audit, window_of
from spark_jobs.jobs.check import Gate
from spark_jobs.jobs.sightings import Past
from spark_jobs.jobs.sources import pinned_versions, read_sources
from spark_jobs.publish.content import Content, contents_of
from spark_jobs.publish.request import RunRequest
from spark_jobs.warehouse import Warehouse
from tests.quality.malformed import Row, good_row
from tests.reliability.rows import BREAKS, Broken, broken_rows
from tests.snapshots import HOUR

REQUEST = RunRequest(HOUR)
CONFIGURATION = Configuration(quality=Quality(max_quarantined_percent=100.0))
GOOD = {table: [good_row(table, n, s) for n in range(20) for s in range(5, 3600, 200)] for table in SOURCES}
_PART = 25_000


def test_a_few_hundred_broken_rows(spark: SparkSession, tmp_path: Path) -> None:
    check(spark, tmp_path, list(broken_rows(1, len(BREAKS) + 100)))


@pytest.mark.reliability
def test_very_many_broken_rows(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = list(broken_rows(2, int(os.environ.get("ROWS", "100000")), heavy=True))
    start = time.monotonic()
    check(spark, tmp_path, rows)
    with capsys.disabled():
        of_this = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"\n{len(rows):,} rows in {time.monotonic() - start:.0f} s, this process at most {of_this:.2f} GiB")
        print(Counter(reason for one in rows for reason in one.reasons))


def check(spark: SparkSession, folder: Path, broken: Sequence[Broken]) -> None:
    clean = audited(spark, Warehouse.parse(str(folder / "clean")), [])
    assert clean[FINDINGS].rows > 0
    hostile = Warehouse.parse(str(folder / "hostile"))
    assert audited(spark, hostile, broken) == clean
    told = spark_rows(spark, hostile)
    assert len(told) == len(broken)
    assert Counter(told) == Counter((one.table.name, key(one), one.reasons) for one in broken)


def audited(spark: SparkSession, warehouse: Warehouse, broken: Sequence[Broken]) -> dict[Table, Content]:
    """What a run publishes of the good rows, with broken ones between them."""
    found: dict[Table, list[Row]] = defaultdict(list)
    for one in broken:
        found[one.table].append(one.row)
    load(spark, warehouse, {table: GOOD[table] + found[table] for table in SOURCES})
    gate, versions = Gate(spark, warehouse, REQUEST, CONFIGURATION, "run"), pinned_versions(spark, warehouse)
    sources = read_sources(spark, warehouse, versions, window_of(REQUEST, CONFIGURATION).read, REQUEST)
    past = Past(spark, warehouse, versions, REQUEST, CONFIGURATION)
    judged = audit(gate, sources, past, lambda _: None)
    assert gate.quarantined_rows == {table.name: len(rows) for table, rows in found.items() if rows}
    gate.outputs(judged.counted.facts)
    gate.record()
    assert judged.outputs().keys() == set(OUTPUTS)
    return contents_of(judged.outputs())


def load(spark: SparkSession, warehouse: Warehouse, rows: dict[Table, list[Row]]) -> None:
    warehouse.create(spark, SOURCES)
    for table, found in rows.items():
        filled = [dict.fromkeys(table.columns) | row for row in found]
        for first in range(0, len(filled), _PART):
            part = filled[first : first + _PART]
            frame = spark.createDataFrame(arrow_table(table, part, range(len(part))).drop_columns([LINE_NUMBER]))
            warehouse.save(frame.write.format("delta").mode("append"), table)


def spark_rows(spark: SparkSession, warehouse: Warehouse) -> list[tuple[str, str, frozenset[str]]]:
    """Of every row in quarantine: table, key without its long names, reasons."""
    rows = warehouse.read(spark, QUARANTINE).select("source_table", "key", "reasons").collect()
    return [(row.source_table, captured(row.key), frozenset(row.reasons)) for row in rows]


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
