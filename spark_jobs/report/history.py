"""What happened to a group's topics: rebalances, and the backlog."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.columns import seconds_between
from spark_jobs.domain.intervals import Interval
from spark_jobs.report.keys import QUEUE, TOPIC, known_lags, part_of

#: Points per line of backlog, at most.
PARTS = 240
_FACTS = (
    *("status", "reason", "strategy", "strategy_source", "member_count", "distinct_members", "queue_count"),
    *("unassigned_queues", "double_owned_queues", "idle_members"),
)
_CHANGE = ("trigger", "trigger_subject", "queues_moved", "queues_preserved", "least_moves")


def states(intervals: DataFrame) -> DataFrame:
    """One row per (topic, membership view, maximal time without a rebalance): `start`, `end`, facts and what began it.

    An interval without trigger that follows one with the same facts (a new step began) goes on with it.
    """
    rows = intervals.select(
        *TOPIC, "membership_view", F.col("interval_start").alias("start"), F.col("interval_end").alias("end"),
        *_FACTS, *_CHANGE,
    )  # fmt: skip
    in_order = Window.partitionBy(*TOPIC, "membership_view").orderBy("start")
    same = F.lag("end").over(in_order) == F.col("start")
    for name in _FACTS:
        same &= F.lag(name).over(in_order).eqNullSafe(F.col(name))
    begins = F.when(same & F.col("trigger").isNull(), 0).otherwise(1)
    number = F.sum("begins").over(in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    return (
        rows.withColumn("begins", begins)
        .withColumn("number", number)
        .groupBy(*TOPIC, "membership_view", "number")
        .agg(
            F.min("start").alias("start"),
            F.max("end").alias("end"),
            *(F.min_by(name, "start").alias(name) for name in (*_FACTS, *_CHANGE)),
        )
        .drop("number")
    )


def backlog(progress: DataFrame, interval: Interval) -> DataFrame:
    """One row per (queue, one of `PARTS` parts of the interval in which an interval of it begins): `start`, `end`.

    `lag_first` and `lag_last` are its first and last known lag then, `lag_max` the highest, `produced` and `consumed`
    what went in and out, all in messages; null is unknown. `seconds` is the time in which they were counted.
    """
    seconds = F.when(F.col("produced").isNotNull(), seconds_between("interval_start", "interval_end"))
    return (
        progress.withColumn("part", part_of("interval_start", interval, PARTS))
        .groupBy(*QUEUE, "part")
        .agg(
            F.min("interval_start").alias("start"),
            F.max("interval_end").alias("end"),
            *known_lags("interval_start"),
            F.sum("produced").alias("produced"),
            F.sum("consumed").alias("consumed"),
            F.sum(seconds).alias("seconds"),
        )
        .drop("part")
    )
