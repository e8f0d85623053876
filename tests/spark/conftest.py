"""What tests in a Spark session start from."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from schemas import AUDIT_RUNS, OUTPUTS, QUALITY_RESULTS, SOURCES
from spark_jobs.store.warehouse import Warehouse
from tests.support.snapshots import copy_empty


@pytest.fixture
def tables(spark: SparkSession, warehouse: Warehouse) -> None:
    """The tables that every run reads or publishes are there, without rows. Other tests see that a run makes them."""
    copy_empty(spark, warehouse, (*SOURCES, *OUTPUTS, AUDIT_RUNS, QUALITY_RESULTS))
