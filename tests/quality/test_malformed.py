"""Whatever the source tables hold: nothing crashes, every row is used or set aside, and what is used is audited."""

from __future__ import annotations

import os
from collections import Counter
from datetime import datetime
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from schemas import QUARANTINE, SOURCES, Table
from spark_jobs.config import Configuration
from spark_jobs.config.model import Quality
from spark_jobs.domain.intervals import Interval
from spark_jobs.jobs.audit import audit, window_of
from spark_jobs.jobs.check import Gate
from spark_jobs.jobs.sources import pinned_versions, read_sources
from spark_jobs.publish.publisher import of_request
from spark_jobs.publish.request import RunRequest
from spark_jobs.warehouse import Warehouse
from tests.quality.malformed import Row, good_row, malformed_rows
from tests.snapshots import at, load

REQUEST = RunRequest(Interval(at(0), at(3600)))
CONFIGURATION = Configuration(quality=Quality(max_quarantined_percent=100.0))
WINDOW = window_of(REQUEST, CONFIGURATION)


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
    gate = Gate(spark, warehouse, REQUEST, CONFIGURATION, "run")
    sources = read_sources(spark, warehouse, pinned_versions(spark, warehouse), WINDOW.read, REQUEST)
    used = gate.sources(sources)
    aside = _aside(spark, warehouse)
    for table, frame in used.sources.by_table.items():
        keys = Counter(tuple(row) for row in frame.select(*table.key).collect())
        assert keys.total() + aside[table.name] == len(good[table]) + len(bad[table])
        assert set(keys.values()) == {1}
        assert _keys(table, good[table]) <= set(keys)
        for_sure = _keys(table, [one.row for one in malformed if one.is_bad and one.table is table])
        assert len(for_sure) > len(bad[table]) / 10
        assert not for_sure & set(keys)
    outputs = audit(used, REQUEST.interval, CONFIGURATION, lambda _: None)
    gate.outputs(of_request(REQUEST, outputs))
    gate.record()


def _aside(spark: SparkSession, warehouse: Warehouse) -> dict[str, int]:
    """Rows in quarantine, by table."""
    ids = F.count_distinct("quarantine_id").alias("ids")
    rows = warehouse.read(spark, QUARANTINE).groupBy("source_table").agg(ids).collect()
    return {row.source_table: row.ids for row in rows}


def _keys(table: Table, rows: list[Row]) -> set[tuple[Any, ...]]:
    return {tuple(_naive(row[name]) for name in table.key) for row in rows}


def _naive(value: Any) -> Any:
    """As Spark gives it back."""
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value
