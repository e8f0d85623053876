"""Hand-written histories of one hour: those of each file in a cluster of its own, and one audit of all of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from pyspark.sql import SparkSession

from schemas import QUEUE_PROGRESS, Table
from spark_jobs.config import Configuration
from spark_jobs.jobs.run import RunRequest, run
from spark_jobs.warehouse import Warehouse
from tests.histories import test_clients, test_group_conditions, test_queue_progress, test_twins
from tests.histories.audited import Audited
from tests.snapshots import HOUR, load

HISTORIES = (test_clients, test_group_conditions, test_queue_progress, test_twins)


@pytest.fixture(scope="session")
def audited(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Audited:
    """The audit of all of them."""
    warehouse = Warehouse.parse(str(tmp_path_factory.mktemp("histories") / "warehouse"))
    rows: dict[Table, list[dict[str, Any]]] = {}
    for history in HISTORIES:
        for table, row in history.snapshots():
            rows.setdefault(table, []).append({**row, "cluster": history.CLUSTER})
    load(spark, warehouse, rows)
    result = run(spark, warehouse, RunRequest(HOUR), Configuration())
    progress = (row.asDict() for row in warehouse.read(spark, QUEUE_PROGRESS).collect())
    return Audited(result.run, _by_cluster(result.findings), _by_cluster(progress))


def _by_cluster(rows: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {history.CLUSTER: [] for history in HISTORIES}
    for row in rows:
        found[row["cluster"]].append(row)
    return found
