"""UNOBSERVED: nothing was recorded of a group, or of its topics, for longer than a snapshot holds."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemas import MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, Table
from spark_jobs.domain.subscriptions import RETRY
from spark_jobs.findings.rule import Audited, Cause, Rule
from spark_jobs.findings.touches import nothing, touches
from spark_jobs.replay.history import TOPIC, Changes
from spark_jobs.replay.spans import gaps, with_island
from spark_jobs.replay.steps import StepWindow
from spark_jobs.replay.views import ALL_HOSTS, GROUP_STEP, GROUP_TOPIC

NAME = "UNOBSERVED"
NO_SNAPSHOTS = "NO_SNAPSHOTS"


def unobserved(audited: Audited) -> DataFrame:
    """One touch per (group, maximal time in which at least one source is silent), with those that were silent then.

    One condition each.
    """
    topics = audited.intervals.where(~F.col("topic").startswith(RETRY)).select(*GROUP_TOPIC).distinct()
    silent = together(silences(audited.changes, topics, audited.window))
    return touches(
        silent,
        NAME,
        topic=nothing(),
        client_id=nothing(),
        cause=F.lit(NO_SNAPSHOTS),
        membership_view=F.lit(ALL_HOSTS),
        severity=F.when(F.col("end") < audited.window.step_end, "WARN").otherwise("INFO"),
        parties=F.transform("sources", _party),
    )


def silences(changes: Changes, topics: DataFrame, window: StepWindow) -> DataFrame:
    """One row per (group, step, source, gap): `source` names the table, and the topic where it has one.

    `topics`: one row per (group, topic, step) to look at.
    """
    of_members = gaps(changes.memberships, GROUP_STEP, window).withColumn("source", F.lit(MEMBERSHIP_SNAPSHOTS.name))
    of_routes = (
        gaps(changes.routes, (*TOPIC, "step_start"), window)
        .join(topics, on=[*TOPIC, "step_start"], how="inner")
        .withColumn("source", _of_topic(ROUTE_SNAPSHOTS))
    )
    of_offsets = (
        changes.offset_topics.join(topics, on=list(GROUP_TOPIC), how="left_semi")
        .select(*GROUP_TOPIC, F.inline("gaps"))
        .withColumn("source", _of_topic(OFFSET_SNAPSHOTS))
    )
    columns = (*GROUP_STEP, "source", "start", "end")
    return of_members.select(*columns).union(of_routes.select(*columns)).union(of_offsets.select(*columns))


def together(silences: DataFrame) -> DataFrame:
    """One row per (group, step, maximal time without a moment at which all its sources spoke): `sources`."""
    return (
        with_island(silences, GROUP_STEP)
        .groupBy(*GROUP_STEP, "island")
        .agg(F.min("start").alias("start"), F.max("end").alias("end"), F.collect_set("source").alias("sources"))
        .withColumn("sources", F.sort_array("sources"))
    )


def _of_topic(table: Table) -> Column:
    return F.concat(F.lit(f"{table.name}: "), F.col("topic"))


def _party(source: Column) -> Column:
    return F.struct(source.alias("name"), F.lit(None).cast("array<string>").alias("client_ids"))


RULE = Rule(
    name=NAME,
    meaning="Nothing was recorded of the group's members, or of the routes or offsets of its topics (retry topics "
    "aside), for longer than a snapshot holds. What happened in that time is not known: the other rules are silent "
    "about it. One finding per group and time; `parties` are the sources that were silent, with their topic.",
    decided_by="no snapshot for `max_gap` (three times the cadence by default): the last one is that much older than "
    "`start`. Only sources that spoke before; of the members, only if no broker answered. WARN where the source "
    "spoke again; INFO to the end of a step: the recording, the group or the topic may have ended.",
    causes={
        NO_SNAPSHOTS: Cause(
            "a source that had snapshots has none",
            "Look at the recorder at that time: was it down, or could it not reach the brokers? What is lost stays "
            "unknown; record every cadence.",
        ),
    },
    example="every group, from 02:26:56 on: the recording ends with the snapshots of 02:26:26.",
    touches=unobserved,
)
