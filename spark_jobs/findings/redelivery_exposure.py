"""REDELIVERY_EXPOSURE: what a rebalance may have consumed again."""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.findings.rule import Audited, Cause, Rule
from spark_jobs.findings.touches import measures, nothing, touches
from spark_jobs.progress.readings import committed
from spark_jobs.replay.steps import StepWindow, duration, with_step
from spark_jobs.replay.views import ALL_HOSTS, GROUP_STEP, GROUP_TOPIC, as_of

NAME = "REDELIVERY_EXPOSURE"
QUEUES_MOVED = "QUEUES_MOVED"


def redelivery_exposures(audited: Audited) -> DataFrame:
    """One touch per (group, step) with rebalances that moved messages in flight, from the first to the last."""
    thresholds = audited.configuration.thresholds
    # What moved in the warm-up is the step's before.
    moved = audited.rebalances.where((F.size("handed_over") > 0) & (F.col("moment") >= F.col("step_start")))
    found = exposures(with_last_offsets(moved, audited.sources.offsets, audited.window), audited.configuration.max_gap)
    settled = F.col("last") + duration(timedelta(seconds=thresholds.convergence_seconds))
    is_large = F.col("in_flight_max") >= thresholds.redelivery_messages
    names = ("rebalances", "in_flight_max", "in_flight_total", "queues_handed_over", "unknown_queues")
    return touches(
        found,
        NAME,
        topic=nothing(),
        membership_view=F.lit(ALL_HOSTS),
        cause=F.lit(QUEUES_MOVED),
        end=F.least(settled, audited.window.step_end),
        patience=F.lit(0.0),
        severity=F.when(is_large, "WARN").otherwise("INFO"),
        measures=measures(**{name: F.col(name) for name in names}),
    )


def with_last_offsets(moved: DataFrame, offsets: DataFrame, window: StepWindow) -> DataFrame:
    """One row per (rebalance, topic): `handed_over`, and `reading`, the topic's last offsets (`read_at`, `offsets`)
    up to `at`, when the allocation before was last seen to hold.
    """
    points = moved.select(*GROUP_TOPIC, "moment", "handed_over", F.col("before_seen_at").alias("at"))
    # Whole snapshots are left out before they are merged: in most steps of most groups nothing moved.
    of_moved = offsets.transform(with_step(window)).join(
        F.broadcast(moved.select(*GROUP_TOPIC).distinct()), on=[*GROUP_TOPIC], how="left_semi"
    )
    reading = F.struct(F.col("captured_at").alias("read_at"), "offsets").alias("reading")
    events = of_moved.select(*GROUP_TOPIC, F.col("captured_at").alias("at"), reading)
    return as_of(events, points, GROUP_TOPIC, "reading")


def exposures(moved: DataFrame, max_gap: timedelta) -> DataFrame:
    """One row per (group, step) with messages in flight on queues that moved: `start` and `last` such rebalance, their
    number, `in_flight_max` of one and `in_flight_total`, `queues_handed_over`, of which `unknown_queues` count as 0.

    Messages. A reading older than `max_gap` says nothing.
    """
    is_fresh = F.col("reading.read_at") >= F.col("at") - duration(max_gap)

    def of_moved(reading: Column) -> Column:
        return F.array_contains("handed_over", F.concat_ws(":", reading["broker_name"], reading["queue_id"]))

    counts = F.transform(F.filter("reading.offsets", of_moved), in_flight)
    known = F.filter(F.when(is_fresh, counts), lambda count: count.isNotNull())
    per_rebalance = (
        moved.withColumn("known", F.coalesce(known, F.array().cast("array<bigint>")))
        .withColumn("in_flight", F.aggregate("known", F.lit(0).cast("bigint"), lambda total, one: total + one))
        .groupBy(*GROUP_STEP, "moment")
        .agg(
            F.sum("in_flight").alias("in_flight"),
            F.sum(F.size("handed_over")).alias("queues"),
            F.sum(F.size("handed_over") - F.size("known")).alias("unknown"),
        )
    )
    return (
        per_rebalance.where("in_flight > 0")
        .groupBy(*GROUP_STEP)
        .agg(
            F.min("moment").alias("start"),
            F.max("moment").alias("last"),
            F.count("*").alias("rebalances"),
            F.max("in_flight").alias("in_flight_max"),
            F.sum("in_flight").alias("in_flight_total"),
            F.sum("queues").alias("queues_handed_over"),
            F.sum("unknown").alias("unknown_queues"),
        )
    )


def in_flight(reading: Column) -> Column:
    """Messages that the owner pulled and did not commit; null is unknown (`domain.rebalances.in_flight`)."""
    consumed_to, pulled_to = committed(reading), reading["pull_offset"]
    known = consumed_to.isNotNull() & pulled_to.isNotNull() & ~((pulled_to <= 0) & (consumed_to > 0))
    return F.when(known, F.greatest(pulled_to - consumed_to, F.lit(0)))


RULE = Rule(
    name=NAME,
    meaning="When a queue changes hands, its next owner begins at the committed offset: what the owner before had "
    "pulled and not committed is consumed again, at most. One finding per group and step, over all its rebalances. "
    "`measures`, in messages: `in_flight_max` of one rebalance and `in_flight_total` of all; `rebalances` with "
    "messages in flight, `queues_handed_over` in them, and `unknown_queues`, those of which no such offsets are "
    "known: they are left out.",
    decided_by="Σ (pull offset − consumer offset) over the queues that had an owner and changed it, by the last offset "
    "reading while the allocation before was seen to hold, not older than `max_gap`. INFO; WARN from "
    "`redelivery_messages` (10,000) in one rebalance. No finding where nothing was in flight.",
    causes={
        QUEUES_MOVED: Cause(
            "always",
            "Consumers must bear to get a message twice. To have less in flight, let them commit before they stop "
            "(shut them down, do not kill them), and lower pullThresholdForQueue where listeners are slow.",
        ),
    },
    example="`order-service`: members join and leave, queues are added, a broker goes and comes back: five rebalances "
    "with 1 to 4 messages in flight, 11 together.",
    touches=redelivery_exposures,
)
