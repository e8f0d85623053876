"""BROKER_NOT_READABLE: a broker left a topic's route, or may not be read, while it holds messages for the group."""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.domain.message_queue import PERM_READ
from spark_jobs.domain.routes import NotReadableCause
from spark_jobs.findings.rule import Audited, Cause, Rule
from spark_jobs.findings.touches import measures, nothing, queue, touches
from spark_jobs.progress.readings import queue_readings
from spark_jobs.replay.history import TOPIC
from spark_jobs.replay.steps import duration, with_step
from spark_jobs.replay.views import ALL_HOSTS, GROUP_TOPIC, as_of

NAME = "BROKER_NOT_READABLE"
NOT_READABLE = "NOT_READABLE"
_BROKER = (*TOPIC, "step_start", "broker_name")


def brokers_not_readable(audited: Audited) -> DataFrame:
    """One touch per (group with backlog there, span in which the broker could not be read, queue with backlog); one
    condition per group, topic and cause.
    """
    spans = audited.keep(not_readable_spans(audited.changes.routes))
    of_topic = audited.sources.offsets.join(
        F.broadcast(spans.select(*TOPIC).distinct()), on=list(TOPIC), how="left_semi"
    )
    held = held_backlog(spans, of_topic.transform(with_step(audited.window)), audited.configuration.max_gap)
    return touches(
        held.where("backlog > 0"),
        NAME,
        client_id=nothing(),
        severity=F.lit("ERROR"),
        membership_view=F.lit(ALL_HOSTS),
        queue=queue(NOT_READABLE),
        weight=F.col("known_backlog"),
        measures=measures(last_known_backlog=F.col("known_backlog")),
    )


def not_readable_spans(routes: DataFrame) -> DataFrame:
    """One row per (topic, step, broker, maximal span in which it could not be read for one `cause`).

    `routes`: spans with `state.queues`. A broker is known from when it is first in the route.
    """
    per_topic = Window.partitionBy(*TOPIC, "step_start")
    names = F.array_distinct(F.flatten(F.collect_list("state.queues.broker_name").over(per_topic)))
    in_order = Window.partitionBy(*_BROKER).orderBy("start")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    entry = F.filter("state.queues", lambda one: one["broker_name"] == F.col("broker_name"))
    goes_on = (F.lag("end").over(in_order) == F.col("start")) & F.lag("cause").over(in_order).eqNullSafe(F.col("cause"))
    return (
        routes.withColumn("names", names)
        .select(*TOPIC, "step_start", "start", "end", "state", F.explode("names").alias("broker_name"))
        .withColumn("perm", F.try_element_at(entry, F.lit(1))["perm"])
        .withColumn("was_there", F.max(F.col("perm").isNotNull()).over(so_far))
        .withColumn("cause", not_readable(F.col("perm"), F.col("was_there")))
        .withColumn("starts", F.when(F.coalesce(goes_on, F.lit(False)), 0).otherwise(1))
        .withColumn("span", F.sum("starts").over(so_far))
        .where("cause IS NOT NULL")
        .groupBy(*_BROKER, "span", "cause")
        .agg(F.min("start").alias("start"), F.max("end").alias("end"))
        .drop("span")
    )


def not_readable(perm: Column, was_there: Column) -> Column:
    """Why a broker cannot be read, null: it can; its plain twin is `domain.routes.not_readable`."""
    left = F.when(perm.isNull() & was_there, NotReadableCause.LEFT_ROUTE.value)
    return F.coalesce(left, F.when(perm.bitwiseAND(PERM_READ) == 0, NotReadableCause.NO_READ_PERMISSION.value))


def held_backlog(spans: DataFrame, readings: DataFrame, max_gap: timedelta) -> DataFrame:
    """One row per (span, group, queue of the broker): `backlog`, the last that is known, `known_backlog` of all.

    Readings count from one `max_gap` before the span, so that a broker which is gone has some. Null is unknown.
    """
    known_from = F.col("start") - duration(max_gap)
    span = F.struct("start", "end", "cause")
    events = spans.select(*_BROKER, known_from.alias("at"), span.alias("span"))
    queues = queue_readings(readings.select(*GROUP_TOPIC, F.col("captured_at").alias("at"), "offsets"))
    of_broker = queues.join(F.broadcast(spans.select(*_BROKER).distinct()), on=list(_BROKER), how="left_semi")
    inside = as_of(events, of_broker, _BROKER, "span").where(F.col("at") < F.col("span.end"))
    last = F.max_by("backlog", F.when(F.col("backlog").isNotNull(), F.col("at"))).alias("backlog")
    per_span = Window.partitionBy(*GROUP_TOPIC, "broker_name", "span")
    return (
        inside.groupBy(*GROUP_TOPIC, "broker_name", "span", "queue_id")
        .agg(last)
        .withColumn("known_backlog", F.sum("backlog").over(per_span))
        .select(*GROUP_TOPIC, "broker_name", "queue_id", "backlog", "known_backlog", "span.*")
    )


RULE = Rule(
    name=NAME,
    meaning="A broker that holds messages for the group left the topic's route, or lost its read permission: nobody "
    "can consume them until it is back. One finding per group, topic and cause; `subject` names the queues with a "
    "backlog, `measures` how many messages it held when it was last read (`last_known_backlog`).",
    decided_by="the topic's route, and the group's offset readings from one `max_gap` before. No known backlog, no "
    "finding. A broker that left longer ago than a step looks back is no longer one of the topic. ERROR.",
    causes={
        NotReadableCause.LEFT_ROUTE: Cause(
            "the route named the broker before and does not now",
            "The broker is down or cut off from the name servers: bring it back, its messages can be read then. If "
            "it was taken out on purpose, drain it first (perm 4: read only).",
        ),
        NotReadableCause.NO_READ_PERMISSION: Cause(
            "the route names it without read permission",
            "The broker has no read permission for the topic: give it back (perm 6) until the messages are drained.",
        ),
    },
    example="broker-b is killed at 02:21:54 and back at 02:23:24: every group on it that had messages in flight there.",
    touches=brokers_not_readable,
)
