"""The way from snapshots to rebalance intervals, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.replay.clients import GROUP, client_books, client_spans
from spark_jobs.replay.intervals import merged, with_members
from spark_jobs.replay.queues import with_queues
from spark_jobs.replay.sources import Sources
from spark_jobs.replay.spans import gaps_behind, spans, tiling
from spark_jobs.replay.status import with_status
from spark_jobs.replay.steps import StepWindow, Transformation, with_step
from spark_jobs.replay.subscriptions import normal_subscriptions
from spark_jobs.replay.views import (
    GROUP_TOPIC,
    as_of,
    membership_views,
    one_row_per_view,
    with_sweeps_settled,
)
from spark_jobs.side_by_side import side_by_side

BROKER = (*GROUP, "broker_name")
TOPIC = ("cluster", "topic")
BROADCASTING = "BROADCASTING"


@dataclass(frozen=True)
class Changes:
    """The sources compressed to their changes: one row per (key, step, span) each. They are small.

    `offset_topics`: one row per (group, topic, step) with a reading, and the `gaps` behind its readings,
    array<start, end>.
    """

    memberships: DataFrame
    routes: DataFrame
    clients: DataFrame
    offset_topics: DataFrame


def changes(sources: Sources, window: StepWindow, max_gap: timedelta, keep: Transformation) -> Changes:
    """The changes of every source inside the windows of the run's steps.

    `keep` computes a frame that is used more than once, and forgets how it was computed.
    """
    membership = F.struct(
        F.sort_array("connections").alias("connections"),
        F.sort_array(F.array_distinct("subscriptions.topic")).alias("topics"),
        normal_subscriptions(F.col("subscriptions")).alias("subscriptions"),
        "message_model",
    )
    route = F.struct(F.sort_array("queues").alias("queues"))
    offset_topics = sources.offsets.select(*GROUP, "topic", "captured_at").transform(with_step(window))
    memberships, routes, clients, of_offsets = side_by_side(
        lambda: keep(spans(sources.memberships, BROKER, membership, window, max_gap, keep)),
        lambda: keep(spans(sources.routes, TOPIC, route, window, max_gap, keep)),
        lambda: keep(client_spans(sources.clients, window, keep)),
        lambda: keep(
            offset_topics.groupBy(*GROUP_TOPIC).agg(gaps_behind(F.collect_set("captured_at"), window, max_gap))
        ),
    )
    return Changes(memberships, routes, clients, of_offsets)


def rebalance_intervals(
    changes: Changes, window: StepWindow, cadence: timedelta, settings: Column, keep: Transformation
) -> DataFrame:
    """One row per (group, topic, step, membership view, interval) over each step and its warm-up.

    `members`, `queues` and `settings` are the inputs of the allocation, `state_id` their fingerprint; `mismatches` as
    in `merged`, `keep` as in `changes`.
    """
    topics, books, members, routes = side_by_side(
        lambda: group_topics(changes).transform(keep),
        lambda: client_books(changes.clients, window).transform(keep),
        lambda: tiling(changes.memberships, BROKER, window).transform(keep),
        lambda: tiling(changes.routes, TOPIC, window).transform(keep),
    )
    points = _points(topics, members, routes, books, window)
    return (
        membership_views(points, _seen(members, topics))
        .transform(lambda views: with_sweeps_settled(views, cadence))
        .transform(one_row_per_view)
        .transform(lambda views: _with_facts(views, changes, topics, books))
        .transform(lambda views: with_members(views, settings))
        .transform(with_queues)
        .transform(with_status)
        .transform(merged)
    )


def _with_facts(views: DataFrame, changes: Changes, topics: DataFrame, books: DataFrame) -> DataFrame:
    """Adds what the views only refer to: `connections` and `book`; and the flags of the group and topic."""
    return (
        views.join(_connections(changes), on=[*GROUP, "members"], how="left")
        .drop("members")
        .join(books.withColumnRenamed("at", "book_at"), on=[*GROUP, "step_start", "book_at"], how="left")
        .join(topics, on=[*GROUP_TOPIC], how="inner")
        .join(_group_flags(changes), on=[*GROUP, "step_start"], how="left")
    )


def group_topics(changes: Changes) -> DataFrame:
    """One row per (group, topic, step): the topics that the group's subscriptions or offsets name.

    `is_subscribed` is false where only offsets do: the group consumed it once.
    """
    by_broker = changes.memberships.select(*GROUP, "step_start", F.explode("state.topics").alias("topic"))
    by_client = changes.clients.select(*GROUP, "step_start", F.explode("state.topics").alias("topic"))
    subscribed = by_broker.union(by_client).withColumn("is_subscribed", F.lit(True))
    by_offsets = changes.offset_topics.select(*GROUP_TOPIC).withColumn("is_subscribed", F.lit(False))
    return subscribed.unionByName(by_offsets).groupBy(*GROUP_TOPIC).agg(F.max("is_subscribed").alias("is_subscribed"))


def _group_flags(changes: Changes) -> DataFrame:
    """One row per (group, step): what makes ownership by replay not applicable, if anything in the window says so."""
    broadcasting = (F.col("state.message_model") == BROADCASTING).alias("is_broadcasting")
    broker_assigned = (~F.col("state.client_rebalance")).alias("is_broker_assigned")
    by_broker = changes.memberships.select(*GROUP, "step_start", broadcasting)
    by_client = changes.clients.select(*GROUP, "step_start", broker_assigned)
    said = by_broker.unionByName(by_client, allowMissingColumns=True).groupBy(*GROUP, "step_start")
    flags = ("is_broadcasting", "is_broker_assigned")
    return said.agg(*(F.coalesce(F.max(flag), F.lit(False)).alias(flag) for flag in flags))


def _points(
    topics: DataFrame, members: DataFrame, routes: DataFrame, books: DataFrame, window: StepWindow
) -> DataFrame:
    """One row per (group, topic, step, `at`): every moment at which an input may have changed, until `end`.

    With the `route` in force (null inside where unobserved) and `book_at`, the page of the book in force.
    """
    memberships = members.select(*GROUP, "step_start", "at")
    in_force = routes.select(
        *TOPIC,
        "step_start",
        "at",
        F.struct("state.queues", F.col("state.queues.broker_name").alias("hosts")).alias("route"),
    )
    pages = books.select(*GROUP, "step_start", "at")
    keys = topics.select(*GROUP_TOPIC)
    of_group = keys.join(memberships.union(pages).distinct(), on=[*GROUP, "step_start"], how="inner")
    of_topic = keys.join(in_force.select(*TOPIC, "step_start", "at"), on=[*TOPIC, "step_start"], how="inner")
    first = keys.withColumn("at", window.observed_from)
    moments = first.unionByName(of_group).unionByName(of_topic).distinct()
    per_topic = Window.partitionBy(*GROUP_TOPIC).orderBy("at")
    ended = moments.withColumn("end", F.coalesce(F.lead("at").over(per_topic), window.step_end))
    routed = as_of(in_force, ended, (*TOPIC, "step_start"), "route")
    page = pages.withColumn("page", F.struct(F.col("at").alias("book_at")))
    return as_of(page, routed, (*GROUP, "step_start"), "page").select("*", "page.book_at").drop("page")


def _seen(members: DataFrame, topics: DataFrame) -> DataFrame:
    """The membership tilings of all brokers, once per topic of the group, as `views.membership_views` wants them."""
    client_ids = F.col("state.connections.client_id")
    seen = F.struct(
        F.when(F.col("fingerprint").isNotNull(), F.col("broker_name")).alias("broker_name"),
        F.col("fingerprint").alias("members"),
        "seen_at",
        (F.size(client_ids) == 0).alias("is_empty"),
        F.when(F.col("fingerprint").isNotNull(), F.xxhash64(client_ids)).alias("ids"),
    )
    tiles = members.select(*BROKER, "step_start", "at", seen.alias("seen"))
    return tiles.join(topics.select(*GROUP_TOPIC), on=[*GROUP, "step_start"], how="inner")


def _connections(changes: Changes) -> DataFrame:
    """One row per (group, membership fingerprint): the connections behind it."""
    found = changes.memberships.groupBy(*GROUP, F.col("fingerprint").alias("members"))
    return found.agg(F.first("state.connections").alias("connections"))
