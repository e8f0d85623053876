"""What each member of a group had to consume in a step, and whether that is far from equal."""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.config.model import Thresholds
from spark_jobs.domain.subscriptions import RETRY
from spark_jobs.replay.steps import duration, seconds_between
from spark_jobs.replay.views import ALL_HOSTS, GROUP_STEP

_TRAFFIC = ("consumed", "client_id", "produced", "queue_seconds", "start", "end")


def member_traffic(progress: DataFrame) -> DataFrame:
    """One row per (group, step, client id that owned a queue): the fields of `domain.balance.Traffic`.

    Of ordinary topics, while all hosts list the same members. Who consumed how much of a queue with several owners
    nobody knows, so that is unknown for each of them, as everything is of which a part is unknown.
    """

    def sum_of_all(name: str) -> Column:
        return F.when(F.count(name) == F.count(F.lit(1)), F.sum(name)).alias(name)

    return (
        progress.where((F.col("membership_view") == ALL_HOSTS) & ~F.col("topic").startswith(RETRY))
        .withColumn("consumed", F.when(F.size("owners") == 1, F.col("consumed")))
        .withColumn("client_id", F.explode(F.array_distinct("owners.client_id")))
        .groupBy(*GROUP_STEP, "client_id")
        .agg(
            sum_of_all("consumed"),
            sum_of_all("produced"),
            # Micros are added up exactly, in whatever order.
            (F.sum(F.unix_micros("interval_end") - F.unix_micros("interval_start")) / 1_000_000).alias("queue_seconds"),
            F.min("interval_start").alias("start"),
            F.max("interval_end").alias("end"),
        )
    )


def unequal_traffic(members: DataFrame, thresholds: Thresholds, max_gap: timedelta) -> DataFrame:
    """One row per group and step with unequal traffic: `start` and `end` of its members' time, `most` and `least`, the
    members as structs; decided as `domain.balance.unequal_traffic` says.
    """
    gap, ratio = duration(max_gap), thresholds.skew_ratio
    known = F.filter(
        "members",
        lambda m: (
            (m["start"] <= F.col("start") + gap)
            & (m["end"] >= F.col("end") - gap)
            & m["consumed"].isNotNull()
            & m["produced"].isNotNull()
        ),
    )
    most, least = F.col("most"), F.col("least")
    far_more = (most["consumed"] > 0) & (most["consumed"] >= least["consumed"] * ratio)
    hotter = _pace(most) >= _pace(least) * ratio
    enough = _pace(most) * seconds_between("start", "end") >= thresholds.skew_messages_per_queue
    return (
        members.groupBy(*GROUP_STEP)
        .agg(
            F.min("start").alias("start"),
            F.max("end").alias("end"),
            F.collect_list(F.struct(*_TRAFFIC)).alias("members"),
        )
        .withColumn("known", known)
        .withColumns({"most": F.array_max("known"), "least": F.array_min("known")})
        .where(far_more & hotter & enough)
    )


def _pace(member: Column) -> Column:
    return member["produced"] / member["queue_seconds"]
