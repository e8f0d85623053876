"""Tables from which tests in a Spark session start."""

import pytest
from pyspark.sql import SparkSession

from schemas import AUDIT_RUNS, CAPTURE_CALLS, CLIENT_STACKS, OUTPUTS, QUALITY_RESULTS, QUARANTINE, SIGHTINGS, SOURCES
from spark_jobs.store.warehouse import Warehouse
from tests.support.snapshots import copy_empty


@pytest.fixture
def tables(spark: SparkSession, warehouse: Warehouse) -> None:
    """The tables that every run reads or publishes are there, without rows. Other tests see that a run makes them."""
    copy_empty(spark, warehouse, (*SOURCES, *OUTPUTS, AUDIT_RUNS, QUALITY_RESULTS))


@pytest.fixture
def filled_tables(spark: SparkSession, warehouse: Warehouse) -> None:
    """The tables that `ingest` fills are there, without rows. `test_ingest_job.py` sees that it makes them."""
    copy_empty(spark, warehouse, (*SOURCES, CAPTURE_CALLS, CLIENT_STACKS, QUARANTINE, SIGHTINGS))
