"""REBALANCE_STORM: a group that rebalances again and again, and consumes less each time."""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.findings.rule import Audited, Cause, Rule
from spark_jobs.findings.touches import measures, nothing, touches
from spark_jobs.replay.steps import duration
from spark_jobs.replay.views import ALL_HOSTS, GROUP_STEP

NAME = "REBALANCE_STORM"
MEMBER_CHANGES = "MEMBER_CHANGES"
ROUTE_CHANGES = "ROUTE_CHANGES"


def rebalance_storms(audited: Audited) -> DataFrame:
    """One touch per storm of a group, from its first to its last rebalance."""
    thresholds = audited.configuration.thresholds
    within = timedelta(seconds=thresholds.storm_seconds)
    found = storms(_moments(audited.rebalances), thresholds.storm_rebalances, within)
    by_members = F.col("by_members") * 2 >= F.col("rebalances")
    return touches(
        found,
        NAME,
        topic=nothing(),
        membership_view=F.lit(ALL_HOSTS),
        cause=F.when(by_members, MEMBER_CHANGES).otherwise(ROUTE_CHANGES),
        patience=F.lit(0.0),
        severity=F.lit("WARN"),
        measures=measures(
            rebalances=F.col("rebalances"), queues_moved=F.col("queues_moved"), least_moves=F.col("least_moves")
        ),
    )


def _moments(rebalances: DataFrame) -> DataFrame:
    """One row per (group, step, moment): queues moved over all topics, and whether members were the reason."""
    by_members = F.col("trigger").startswith("MEMBER_")
    return rebalances.groupBy(*GROUP_STEP, "moment").agg(
        F.sum("queues_moved").alias("queues_moved"),
        F.sum("least_moves").alias("least_moves"),
        F.max(by_members.cast("int")).alias("by_members"),
    )


def storms(moments: DataFrame, least: int, within: timedelta) -> DataFrame:
    """One row per (group, step, storm): `start`, `end`, `rebalances`, and the sums of what the moments say.

    A moment begins a storm if `least` moments from it on take less than `within`; runs that share a moment are one
    (`domain.rebalances.storms`).
    """
    in_order = Window.partitionBy(*GROUP_STEP).orderBy("moment")
    last = F.lead("moment", least - 1).over(in_order)
    begins = F.coalesce(last - F.col("moment") < duration(within), F.lit(False))
    goes_on = F.max("begins").over(in_order.rowsBetween(1 - least, -1))
    storm = F.sum((F.col("begins") & ~F.coalesce("goes_on", F.lit(False))).cast("int"))
    return (
        moments.withColumn("begins", begins)
        .withColumn("goes_on", goes_on)
        .withColumn("storm", storm.over(in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)))
        .where(F.col("begins") | F.col("goes_on"))
        .groupBy(*GROUP_STEP, "storm")
        .agg(
            F.min("moment").alias("start"),
            F.max("moment").alias("end"),
            F.count("*").alias("rebalances"),
            *(F.sum(name).alias(name) for name in ("queues_moved", "least_moves", "by_members")),
        )
    )


RULE = Rule(
    name=NAME,
    meaning="The group rebalances again and again. Every time, queues change hands, clients stop on them for up to "
    "20 s, and what was in flight is consumed again. `measures`: `rebalances`, `queues_moved` over all of them and "
    "topics, and `least_moves`, the fewest that allocations with the same shares would have moved.",
    decided_by="at least `storm_rebalances` (5) rebalances in less than `storm_seconds` (600 s). What all hosts agree "
    "on counts, and one change counts once, however many topics it concerns. A step looks at its own time and the "
    "warm-up before it: of a storm that began earlier it sees only what lies in there.",
    causes={
        MEMBER_CHANGES: Cause(
            "most of them because members came and went",
            "Members keep coming and going: look for restarts (FLAPPING_MEMBER names who), out-of-memory kills and "
            "failing probes. A deploy that restarts one consumer after another does this too: restart several at "
            "once.",
        ),
        ROUTE_CHANGES: Cause(
            "most of them because queues or brokers came and went",
            "The topic's queues keep changing: look at the brokers' restarts and their connection to the name servers.",
        ),
    },
    example="`flapper`: 12 rebalances from 02:12:19 to 02:16:56 because a member comes and goes, and two more when "
    "`broker-b` goes and comes back within ten minutes of the last five: 119 queues moved.",
    touches=rebalance_storms,
)
