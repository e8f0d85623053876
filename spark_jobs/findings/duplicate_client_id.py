"""DUPLICATE_CLIENT_ID: two connections of a group with one client id, which RocketMQ takes for one client."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.domain.causes import DoubleOwnedCause, UnassignedCause
from spark_jobs.domain.duplicates import UNIQUE_INSTANCE_NAME_VERSION, DuplicateCause
from spark_jobs.findings.rule import Audited, Cause, Rule
from spark_jobs.findings.touches import DOUBLE_OWNED, UNASSIGNED, nothing, queue, touches
from spark_jobs.replay.java import matches
from spark_jobs.replay.states import STATE, twin_ids

NAME = "DUPLICATE_CLIENT_ID"


def duplicate_client_ids(audited: Audited) -> DataFrame:
    """Touches of every (interval, client id with several connections): one for the id and one per harmed queue.

    One condition per group and client id, over all the group's topics.
    """
    owned, members = audited.owned, F.col("members")
    connections = F.transform(
        F.filter(members, lambda m: m["client_id"] == F.col("client_id")),
        lambda m: F.struct(*(m[name].alias(name) for name in ("client_id", "client_addr", "language", "version"))),
    )
    present = (
        audited.intervals.where("status = 'REPLAYED'")
        .join(audited.cures, on=list(STATE), how="inner")
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
        touches(present, NAME, blamed=F.col("client_id"), **group_wide)
        .union(touches(unassigned, NAME, queue=queue(UNASSIGNED), **group_wide))
        .union(touches(double, NAME, queue=queue(DOUBLE_OWNED), **group_wide))
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


RULE = Rule(
    name=NAME,
    meaning="Several connections of a group share a client id. Each of them computes the share of the id's *first* "
    "position; the shares of the further positions are nobody's. One finding per group and client id, over all the "
    "group's topics. The evidence says what two cures would leave: `if_deduplicated` (the list without repeats: no "
    "hole, but twins still consume twice) and `if_unique` (every connection its own id).",
    decided_by="an id that a host of the topic lists more than once. `PERSISTENT` (ERROR) if two snapshots 150 s or "
    "more apart show it, else `TRANSIENT` (INFO).",
    causes={
        DuplicateCause.STALE_CONNECTION: Cause(
            "transient, and all connections are from one host",
            "Nothing, if it ends by itself: after a reconnect the old connection lives for up to 130 s.",
        ),
        DuplicateCause.CONTAINER_IDENTITY: Cause(
            "the id is `ip@pid`, and a client names itself so (Java < 4.9.0, Go, C++, Python)",
            "The id is ip@pid, and containers share both. Upgrade to a Java client ≥ 4.9.0, or give every consumer "
            "its own instanceName.",
        ),
        DuplicateCause.FIXED_INSTANCE_NAME: Cause(
            "any other name: somebody set it",
            "Two consumers were given one instanceName. Leave it unset, or make it unique, for example from the pod "
            "name.",
        ),
        DuplicateCause.CLONED_PROCESS: Cause(
            "`pid#nanoTime`, and it stays",
            "Two connections of one process id and start time: look for a process that was cloned or restored from a "
            "snapshot, or two clients that share one id by code.",
        ),
    },
    example="`payment-service`, from 02:07:05 to 02:17:26: two consumers `172.17.0.1@1`, queues 4–7 of `payments` "
    "nobody's, about 6,100 messages piled up. With CONSISTENT_HASH (`tick-service`) nothing is lost, the id's share "
    "only grows and is consumed twice.",
    touches=duplicate_client_ids,
)
