"""What the clients of a group said of themselves, as one book per group that holds from one change to the next."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.replay.spans import spans
from spark_jobs.replay.steps import StepWindow, Transformation
from spark_jobs.replay.subscriptions import normal_subscriptions

GROUP = ("cluster", "consumer_group")
CLIENT = (*GROUP, "client_id")


def client_state() -> Column:
    """What an allocation depends on and only the client itself can tell, and what it subscribes.

    `knows_topics`: fingerprints do not tell an unknown list of topics (null) from an empty one.
    """
    return F.struct(
        "strategy_class",
        F.coalesce("client_rebalance", F.lit(True)).alias("client_rebalance"),
        F.col("subscriptions").isNotNull().alias("knows_topics"),
        F.sort_array(F.array_distinct("subscriptions.topic")).alias("topics"),
        normal_subscriptions(F.col("subscriptions")).alias("subscriptions"),
    )


def client_spans(client_snapshots: DataFrame, window: StepWindow, keep: Transformation) -> DataFrame:
    """One row per (client, step, span of one state); the first reaches back to the start of the window.

    A client that does not answer has not changed: a state holds until the client says something else. And one that
    was first heard of after it joined has been so since it joined.
    """
    answered = client_snapshots.where("answered")
    heard = spans(answered, CLIENT, client_state(), window, max_gap=None, keep=keep)
    per_client = Window.partitionBy(*CLIENT, "step_start").orderBy("start")
    is_first = F.lag("start").over(per_client).isNull()
    return heard.withColumn("is_first", is_first).withColumn(
        "start", F.when(F.col("is_first"), window.observed_from).otherwise(F.col("start"))
    )


def client_books(client_spans: DataFrame, window: StepWindow) -> DataFrame:
    """One row per (group, step, `at`): `book` maps every client id heard of to its state, until the next `at`.

    A group whose clients never change their state, which is nearly every one, has one book per step.
    """
    groups = client_spans.select(*GROUP, "step_start").distinct()
    changes = client_spans.where(~F.col("is_first")).select(*GROUP, "step_start", F.col("start").alias("at"))
    starts = groups.withColumn("at", window.observed_from).union(changes).distinct()
    pages = client_spans.select(*CLIENT, "step_start").distinct().join(starts, on=[*GROUP, "step_start"], how="inner")
    facts = client_spans.select(*CLIENT, "step_start", F.col("start").alias("at"), "state")
    so_far = (
        Window.partitionBy(*CLIENT, "step_start")
        .orderBy("at")
        .rangeBetween(Window.unboundedPreceding, Window.currentRow)
    )
    return (
        facts.withColumn("is_page", F.lit(False))
        .unionByName(pages.withColumn("is_page", F.lit(True)), allowMissingColumns=True)
        .withColumn("state", F.last("state", ignorenulls=True).over(so_far))
        .where("is_page")
        .groupBy(*GROUP, "step_start", "at")
        .agg(F.map_from_entries(F.collect_list(F.struct("client_id", "state"))).alias("book"))
    )
