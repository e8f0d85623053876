"""DUPLICATE_CLIENT_ID: two connections of a group with one client id, which RocketMQ takes for one client."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.domain.causes import DoubleOwnedCause, UnassignedCause
from spark_jobs.domain.duplicates import DuplicateCause
from spark_jobs.findings.touches import DOUBLE_OWNED, UNASSIGNED, nothing, queue, touches
from spark_jobs.replay.states import STATE, twin_ids

RULE = "DUPLICATE_CLIENT_ID"
#: Since RocketMQ 4.9.0 (ordinal 393) a Java client names itself PID#nanoTime.
_PID_AND_NANO_TIME_SINCE = 393


def duplicate_client_ids(intervals: DataFrame, owned: DataFrame, cures: DataFrame) -> DataFrame:
    """Touches of every (interval, client id with several connections): one for the id and one per harmed queue.

    One condition per group and client id, over all the group's topics.
    """
    members = F.col("members")
    connections = F.transform(
        F.filter(members, lambda m: m["client_id"] == F.col("client_id")),
        lambda m: F.struct(*(m[name].alias(name) for name in ("client_id", "client_addr", "language", "version"))),
    )
    present = (
        intervals.where("status = 'REPLAYED'")
        .join(cures, on=list(STATE), how="inner")
        .withColumn("client_id", F.explode(twin_ids()))
        .withColumn("connections", connections)
    )
    unassigned = owned.where(F.col("unassigned_cause") == UnassignedCause.DUPLICATE_CLIENT_ID.value).withColumn(
        "client_id", F.col("unassigned_client_id")
    )
    double = owned.where(F.col("double_owned_cause") == DoubleOwnedCause.DUPLICATE_CLIENT_ID.value).withColumn(
        "client_id", F.element_at("owners", 1)["client_id"]
    )
    group_wide = {"topic": nothing(), "cause": nothing()}
    return (
        touches(present, RULE, blamed=F.col("client_id"), **group_wide)
        .union(touches(unassigned, RULE, queue=queue(UNASSIGNED), **group_wide))
        .union(touches(double, RULE, queue=queue(DOUBLE_OWNED), **group_wide))
    )


def probable_cause(client_id: Column, connections: Column, is_persistent: Column) -> Column:
    """Where a repeated id probably comes from; the plain twin is `domain.duplicates.probable_cause`."""
    hosts = F.array_distinct(F.transform(connections, lambda c: F.substring_index(c["client_addr"], ":", 1)))
    instance = F.try_element_at(F.split(client_id, "@"), F.lit(2))
    by_pid = F.exists(connections, lambda c: (c["language"] != "JAVA") | (c["version"] < _PID_AND_NANO_TIME_SINCE))
    return (
        F.when(~is_persistent & (F.size(hosts) == 1), DuplicateCause.STALE_CONNECTION.value)
        .when(F.rlike(instance, F.lit(r"^\d+$")) & by_pid, DuplicateCause.CONTAINER_IDENTITY.value)
        .when(F.rlike(instance, F.lit(r"^\d+#\d+$")), DuplicateCause.CLONED_PROCESS.value)
        .otherwise(DuplicateCause.FIXED_INSTANCE_NAME.value)
    )
