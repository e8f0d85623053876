"""Which step of a group is its newest, in tables written by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from schemas import AUDIT_RUNS, GROUP_STATUS, OUTPUTS
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.errors import NothingPublishedError, WarehouseError
from spark_jobs.show.data_age import DataAge
from spark_jobs.show.status import Statuses, statuses
from spark_jobs.store.read.delta import DeltaTables
from spark_jobs.store.read.published import Scope
from spark_jobs.store.warehouse import Warehouse
from tests.support.snapshots import append
from tests.support.stored import audit_run

HOUR = datetime(2026, 11, 21, 2, tzinfo=UTC)


def status(cluster: str, group: str, hours: int, severity: str | None = None) -> dict[str, Any]:
    counts = {"finding_count": 0, "unknown_queues": 0, "bottleneck": "NO_BACKLOG", "advice": f"{hours}"}
    key = {"step_start": HOUR + timedelta(hours=hours), "cluster": cluster, "consumer_group": group}
    return key | {"worst_severity": severity} | counts


def published(spark: SparkSession, warehouse: Warehouse) -> dict[str, Any]:
    """A run that left the tables as they are now."""
    versions = {table.name: warehouse.version(spark, table) for table in OUTPUTS}
    return audit_run(Interval(HOUR, HOUR + timedelta(hours=1)), versions)


def test_the_newest_step_of_every_group_that_a_run_has_published(spark: SparkSession, warehouse: Warehouse) -> None:
    warehouse.create(spark, (*OUTPUTS, AUDIT_RUNS))
    rows = [status("eu", "a", 0, "ERROR"), status("eu", "a", 1), status("eu", "b", 0, "WARN"), status("us", "a", 1)]
    append(spark, warehouse, GROUP_STATUS, *rows)
    append(spark, warehouse, AUDIT_RUNS, published(spark, warehouse))
    # A run that has not come to its end: its rows are not published.
    append(spark, warehouse, GROUP_STATUS, status("eu", "a", 2, "ERROR"))

    newest = statuses(DeltaTables(warehouse))
    assert newest.newest_step == HOUR + timedelta(hours=1)
    rows_shown = [(row["cluster"], row["consumer_group"], row["step_start"], row["advice"]) for row in newest.groups]
    assert rows_shown == [
        ("eu", "b", HOUR, "0"),
        ("eu", "a", HOUR + timedelta(hours=1), "1"),
        ("us", "a", HOUR + timedelta(hours=1), "1"),
    ]
    # What is old is told by all groups, also where only old ones are asked for.
    only = statuses(DeltaTables(warehouse), Scope(None, None, "b"))
    assert ([row["consumer_group"] for row in only.groups], only.newest_step) == (["b"], HOUR + timedelta(hours=1))
    assert [row["cluster"] for row in statuses(DeltaTables(warehouse), Scope(None, "us")).groups] == ["us"]
    with pytest.raises(NothingPublishedError, match=r"a is in several clusters \(eu, us\)"):
        statuses(DeltaTables(warehouse), Scope(None, None, "a"))
    with pytest.raises(NothingPublishedError, match="there is no cluster asia; audited clusters: eu, us"):
        statuses(DeltaTables(warehouse), Scope(None, "asia"))


def test_a_warehouse_in_which_nothing_was_published(warehouse: Warehouse) -> None:
    with pytest.raises(WarehouseError, match="no such folder"):
        statuses(DeltaTables(warehouse))
    assert warehouse.local_path is not None
    warehouse.local_path.mkdir()
    with pytest.raises(NothingPublishedError, match="nothing has been published in the warehouse"):
        statuses(DeltaTables(warehouse))


def test_a_run_that_found_no_group(spark: SparkSession, warehouse: Warehouse) -> None:
    warehouse.create(spark, (*OUTPUTS, AUDIT_RUNS))
    append(spark, warehouse, AUDIT_RUNS, published(spark, warehouse))
    assert statuses(DeltaTables(warehouse)) == Statuses(None, [], DataAge({}, timedelta(hours=1)))
    with pytest.raises(NothingPublishedError, match="there is no cluster eu; audited clusters: none"):
        statuses(DeltaTables(warehouse), Scope(None, "eu"))
