"""Which findings a run was the first to publish: those that somebody should be told of."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from schemas import FINDINGS
from spark_jobs.publish.request import RunRequest
from spark_jobs.warehouse import Warehouse


def new_findings(
    spark: SparkSession, warehouse: Warehouse, request: RunRequest, run_id: str, version: int
) -> list[dict[str, Any]]:
    """The request's findings in the version that the run published, less those that were there before it and those that
    are muted, by start.

    The same whenever it is asked, and whatever is published since. None where the run changed nothing, or so long ago
    that the table's newest commits, which are looked at, are all of later runs.
    """
    before = warehouse.version_before(spark, FINDINGS, run_id)
    if before >= version:
        return []
    told, found = (warehouse.read(spark, FINDINGS, one).where(request.replaces(FINDINGS)) for one in (before, version))
    new = found.where("muted IS NULL").join(told, on="finding_id", how="left_anti")
    rows = new.select(*FINDINGS.columns).orderBy("start", "finding_id").collect()
    return [row.asDict(recursive=True) for row in rows]
