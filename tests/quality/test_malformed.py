"""Whatever the source tables hold: nothing crashes, every row is used or set aside, and what is used is audited."""

from __future__ import annotations

import os
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from schemas import OUTPUTS, QUARANTINE, SOURCES, Table
from spark_jobs.config import Configuration
from spark_jobs.config.model import Quality
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import to_micros
from spark_jobs.pipeline.audit_run import AuditRun
from spark_jobs.pipeline.check import check as check_tables
from spark_jobs.pipeline.check import usual_of
from spark_jobs.pipeline.publish.request import RunRequest
from spark_jobs.pipeline.quality.checks import raise_if_critical
from spark_jobs.pipeline.quality.facts import LEFT_OUT, ROWS
from spark_jobs.pipeline.run import judge
from spark_jobs.store.warehouse import Warehouse
from tests.quality.malformed import Row, good_row, malformed_rows
from tests.snapshots import at, load

REQUEST = RunRequest(Interval(at(0), at(3600)))
CONFIGURATION = Configuration(quality=Quality(max_quarantined_percent=100.0))


def test_malformed_rows_are_set_aside_and_the_rest_is_audited(spark: SparkSession, warehouse: Warehouse) -> None:
    check(spark, warehouse, 300)


@pytest.mark.fuzz
def test_many_malformed_rows(spark: SparkSession, warehouse: Warehouse) -> None:
    check(spark, warehouse, int(os.environ.get("FUZZ_CASES", "10000")))


def check(spark: SparkSession, warehouse: Warehouse, count: int) -> None:
    """Good rows of 20 groups, and malformed ones between them."""
    good = {table: [good_row(table, n, s) for n in range(20) for s in range(5, 3600, 200)] for table in SOURCES}
    malformed = list(malformed_rows(1, count))
    bad = {table: [one.row for one in malformed if one.table is table] for table in SOURCES}
    load(spark, warehouse, {table: good[table] + bad[table] for table in SOURCES})
    run = AuditRun.begin(spark, warehouse, REQUEST, CONFIGURATION)
    found = judge(run, usual_of(run))
    raise_if_critical(found.results + check_tables(run, OUTPUTS, found.counted.facts, usual_of(run)))
    aside, rejected = _aside(spark, warehouse), _rejected(found.packed)
    for table in SOURCES:
        facts = found.counted.facts[table]
        assert sum(step[ROWS] for step in facts) == len(good[table]) + len(bad[table])
        assert sum(step[LEFT_OUT] for step in facts) == aside[table.name]
        assert not _keys(table, good[table]) & rejected[table.name]
        for_sure = _keys(table, [one.row for one in malformed if one.is_bad and one.table is table])
        assert len(for_sure) > len(bad[table]) / 10
        assert for_sure <= rejected[table.name] <= _keys(table, bad[table])


def _rejected(packed: DataFrame) -> dict[str, set[tuple[Any, ...]]]:
    """The keys of what was not used, by table: those of `_keys`."""
    found: dict[str, set[tuple[Any, ...]]] = {table.name: set() for table in SOURCES}
    for row in packed.select(F.inline("rejected")).collect():
        found[row.table_name].add((row.cluster, row.consumer_group, row.name, row.captured_at))
    return found


def _aside(spark: SparkSession, warehouse: Warehouse) -> dict[str, int]:
    """Rows in quarantine, by table."""
    ids = F.count_distinct("quarantine_id").alias("ids")
    rows = warehouse.read(spark, QUARANTINE).groupBy("source_table").agg(ids).collect()
    return {row.source_table: row.ids for row in rows}


def _keys(table: Table, rows: list[Row]) -> set[tuple[Any, ...]]:
    """Cluster, group (of a topic none), what was seen, and when (microseconds)."""
    return {
        (row["cluster"], row.get("consumer_group"), row[table.key[-2]], to_micros(row["captured_at"])) for row in rows
    }
