"""Who owned each queue when, and who was in the group: spans for the timelines."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.columns import with_island
from spark_jobs.report.keys import GROUP, QUEUE, TOPIC, known_lags

_INTERVAL = ("step_start", *TOPIC, "membership_view", "interval_start")
_STATE = ("readable", "owners", "unassigned_cause", "unassigned_client_id", "double_owned_cause")


def ownership(allocations: DataFrame, progress: DataFrame) -> DataFrame:
    """One row per (queue, membership view, maximal time with the same owners): `start`, `end`.

    `lag_first` and `lag_last` are the first and last known lag inside it, `lag_max` the highest, in messages.
    """
    lags = progress.select(*_INTERVAL, "broker_name", "queue_id", "lag_first", "lag_last", "lag_max")
    spans = allocations.join(lags, on=[*_INTERVAL, "broker_name", "queue_id"], how="left").withColumnsRenamed(
        {"interval_start": "start", "interval_end": "end"}
    )
    key = (*QUEUE, "membership_view", *_STATE)
    return (
        with_island(spans, key)
        .groupBy(*key, "island")
        .agg(
            F.min("start").alias("start"),
            F.max("end").alias("end"),
            *known_lags("start"),
        )
        .drop("island")
    )


def members(intervals: DataFrame) -> DataFrame:
    """One row per (group, connection, maximal time in which some topic's allocation counted it): `start`, `end`.

    `strategy` is the one it was last seen with; `twins` whether another connection had its client id then.
    """
    key = (*GROUP, "client_id", "client_addr", "twins")
    member = F.col("member")
    same_id = F.filter("members", lambda other: other["client_id"] == member["client_id"])
    connections = (
        intervals.where("status = 'REPLAYED'")
        .withColumn("member", F.explode("members"))
        .select(
            *GROUP,
            member["client_id"].alias("client_id"),
            member["client_addr"].alias("client_addr"),
            (F.size(same_id) > 1).alias("twins"),
            member["strategy"].alias("strategy"),
            member["version"].alias("version"),
            F.col("interval_start").alias("start"),
            F.col("interval_end").alias("end"),
        )
    )
    return (
        with_island(connections, key)
        .groupBy(*key, "island")
        .agg(
            F.min("start").alias("start"),
            F.max("end").alias("end"),
            F.max_by("strategy", "start").alias("strategy"),
            F.max_by("version", "start").alias("version"),
        )
        .drop("island")
    )
