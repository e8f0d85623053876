"""DUPLICATE_CLIENT_ID: two connections of a group with one client id, which RocketMQ takes for one client."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.domain.causes import DoubleOwnedCause, UnassignedCause
from spark_jobs.domain.duplicates import UNIQUE_INSTANCE_NAME_VERSION, DuplicateCause
from spark_jobs.findings.touches import DOUBLE_OWNED, UNASSIGNED, nothing, queue, touches
from spark_jobs.replay.java import matches
from spark_jobs.replay.states import STATE, twin_ids

RULE = "DUPLICATE_CLIENT_ID"


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
    """Where a repeated id probably comes from; the reasons are with its plain twin, `duplicates.duplicate_cause`.

    `connections`: array<struct<client_addr, language, version>> of the id, null is unknown.
    """
    hosts = F.array_distinct(F.transform(connections, lambda c: F.regexp_extract(c["client_addr"], "^(.*):", 1)))
    one_host = (F.size(hosts) == 1) & (F.element_at(hosts, 1) != "")
    instance = F.coalesce(F.try_element_at(F.split(client_id, "@"), F.lit(2)), F.lit(""))
    by_pid = F.exists(connections, _names_itself_by_pid)
    return (
        F.when(~is_persistent & one_host, DuplicateCause.STALE_CONNECTION.value)
        .when(matches(instance, F.lit("[0-9]+(#DEFAULT)?")) & by_pid, DuplicateCause.CONTAINER_IDENTITY.value)
        .when(matches(instance, F.lit("[0-9]+#[0-9]+")), DuplicateCause.CLONED_PROCESS.value)
        .otherwise(DuplicateCause.FIXED_INSTANCE_NAME.value)
    )


def _names_itself_by_pid(connection: Column) -> Column:
    is_java = connection["language"].eqNullSafe("JAVA")
    return ~is_java | connection["version"].isNull() | (connection["version"] < UNIQUE_INSTANCE_NAME_VERSION)
