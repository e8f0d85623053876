"""DOUBLE_OWNED_QUEUE: several connections consume one queue, each message as often."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.findings.touches import DOUBLE_OWNED, nothing, queue, touches

RULE = "DOUBLE_OWNED_QUEUE"


def double_owned_queues(owned: DataFrame) -> DataFrame:
    """One touch per (interval, queue, client id that owns it with others); one condition per group, topic, cause."""
    double = owned.where("double_owned_cause IS NOT NULL")
    by_owner = double.withColumn("blamed", F.explode(F.array_distinct("owners.client_id")))
    return touches(by_owner, RULE, cause=F.col("double_owned_cause"), client_id=nothing(), queue=queue(DOUBLE_OWNED))
