"""What several jobs look at."""

from __future__ import annotations

import shutil

import pytest
from pyspark.sql import SparkSession

from schemas import MEMBERSHIP_SNAPSHOTS
from spark_jobs.config import Configuration
from spark_jobs.domain.intervals import Interval
from spark_jobs.jobs.run import RunRequest, run
from spark_jobs.warehouse import Warehouse
from tests.snapshots import healthy_group, load, membership

HOUR = Interval.parse("2026-03-01T10:00/2026-03-01T11:00")


@pytest.fixture(scope="session")
def twins_hour(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """A full hour of two groups on the one queue of topic `t`, audited: the twins of `g` own it twice, which is two
    findings; `other` is healthy. Tests must not change it.
    """
    warehouse = Warehouse.parse(str(tmp_path_factory.mktemp("twins") / "warehouse"))
    times = range(0, 3600, 20)
    rows = healthy_group(times, "c1", "c1", queues=1)
    rows[MEMBERSHIP_SNAPSHOTS] += [membership(second, "d1", group="other") for second in times]
    load(spark, warehouse, rows)
    run(spark, warehouse, RunRequest(HOUR), Configuration())
    return warehouse


@pytest.fixture
def copied(twins_hour: Warehouse, warehouse: Warehouse) -> Warehouse:
    """The same, to be changed."""
    shutil.copytree(twins_hour.location, warehouse.location)
    return warehouse
