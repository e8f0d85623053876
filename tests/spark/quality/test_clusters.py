"""The gate closes for a cluster, not for others; what clients report about themselves closes none."""

from typing import Any

import pytest
from pyspark.sql import SparkSession

from schemas import AUDIT_RUNS, CLIENT_SNAPSHOTS, GROUP_STATUS, OFFSET_SNAPSHOTS, QUALITY_RESULTS, QUARANTINE, Table
from spark_jobs.config import Configuration
from spark_jobs.errors import QualityError
from spark_jobs.pipeline.run import RunSpec, run
from spark_jobs.store.warehouse import Warehouse
from tests.support.snapshots import append, client, healthy_group, load, offsets
from tests.support.stored import stored_rows
from tests.support.times import HOUR

SECONDS = range(0, 600, 20)
REQUEST = RunSpec(HOUR)


def of(cluster: str, *rows: dict[str, Any]) -> list[dict[str, Any]]:
    return [row | {"cluster": cluster} for row in rows]


def audited(warehouse: Warehouse) -> set[tuple[str, str]]:
    return {(row["cluster"], row["consumer_group"]) for row in stored_rows(warehouse, GROUP_STATUS)}


@pytest.mark.slow
@pytest.mark.usefixtures("tables")
def test_a_closed_cluster_keeps_no_other_from_being_published(spark: SparkSession, warehouse: Warehouse) -> None:
    """Of `bad` 2 of 32 offset snapshots break a rule, 6.25 %, which are 2.2 % of all 93. The only client of `odd` says
    that it holds -1 messages.
    """
    history: dict[Table, list[dict[str, Any]]] = {
        table: [row for cluster in ("bad", "good", "odd") for row in of(cluster, *rows)]
        for table, rows in healthy_group(SECONDS, "c1").items()
    }
    queue = {"topic": "t", "broker_name": "b", "queue_id": 0, "cached_count": -1}
    history[CLIENT_SNAPSHOTS] = of("odd", *(client(second, "c1", owned_queues=[queue]) for second in SECONDS))
    load(spark, warehouse, history)
    run(spark, warehouse, REQUEST, Configuration())
    every = {(cluster, "g") for cluster in ("bad", "good", "odd")}
    assert audited(warehouse) == every
    (first,) = stored_rows(warehouse, AUDIT_RUNS)
    assert "30 rows of client_snapshots are in quarantine" in first["message"]
    assert (
        "client_snapshots: few_rows_are_quarantined failed in the step 2026-03-01T10:00Z, cluster odd"
        in (first["message"])
    )
    before = [row for row in stored_rows(warehouse, GROUP_STATUS) if row["cluster"] == "bad"]

    broken = [offsets(second, (100, -1, 1)) for second in (601, 602)]
    append(spark, warehouse, OFFSET_SNAPSHOTS, *of("bad", *broken), *of("good", offsets(600, (110, 100, 1))))
    with pytest.raises(QualityError) as error:
        run(spark, warehouse, REQUEST, Configuration())
    assert str(error.value).splitlines()[:2] == [
        "the data-quality gate is closed, only good, odd was published:",
        "offset_snapshots: few_rows_are_quarantined failed in the step 2026-03-01T10:00Z, cluster bad: 6.25",
    ]
    later = [row for row in stored_rows(warehouse, AUDIT_RUNS) if row["run_id"] != first["run_id"]]
    assert {(row["cluster"], row["outcome"]) for row in later} == {
        ("bad", "rejected"),
        ("good", "published"),
        ("odd", "published"),
    }
    assert len({row["run_id"] for row in later}) == 3
    (rejected,) = (row for row in later if row["outcome"] == "rejected")
    assert rejected["message"] == str(error.value)
    checks = [row for row in stored_rows(warehouse, QUALITY_RESULTS) if row["run_id"] == rejected["run_id"]]
    assert {row["expectation"] for row in checks if row["severity"] == "critical" and not row["success"]} == {
        "few_rows_are_quarantined"
    }
    assert audited(warehouse) == every
    assert [row for row in stored_rows(warehouse, GROUP_STATUS) if row["cluster"] == "bad"] == before
    backlogs = {row["cluster"]: row["backlog_end"] for row in stored_rows(warehouse, GROUP_STATUS)}
    assert backlogs == {"bad": 0, "good": 10, "odd": 0}
    quarantined = [row["source_table"] for row in stored_rows(warehouse, QUARANTINE)]
    assert {name: quarantined.count(name) for name in quarantined} == {"client_snapshots": 30, "offset_snapshots": 2}
