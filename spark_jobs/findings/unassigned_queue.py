"""UNASSIGNED_QUEUE: messages may arrive in a queue that nobody consumes."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.findings.touches import UNASSIGNED, nothing, queue, touches

RULE = "UNASSIGNED_QUEUE"


def unassigned_queues(owned: DataFrame) -> DataFrame:
    """One touch per (interval, queue without owner); one condition per group, topic and cause."""
    return touches(
        owned.where("unassigned_cause IS NOT NULL"),
        RULE,
        cause=F.col("unassigned_cause"),
        client_id=nothing(),
        blamed=F.col("unassigned_client_id"),
        queue=queue(UNASSIGNED),
    )
