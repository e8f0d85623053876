"""What the brokers that host a topic said of the group's members, merged into views of one time line.

A client asks a random broker *of the topic's route* for the members, so only those brokers count (RocketMQ:
`MQClientInstance.findConsumerIdList`).
"""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.replay.steps import duration

GROUP_TOPIC = ("cluster", "consumer_group", "topic", "step_start")
GROUP_STEP = ("cluster", "consumer_group", "step_start")
ALL_HOSTS = "*"


def as_of(events: DataFrame, points: DataFrame, key: tuple[str, ...], fact: str) -> DataFrame:
    """One row per (key, point): the value of `fact` that the last event at or before the point's `at` set.

    A merge in one sorted partition, linear in events and points. An event whose value is null inside the struct
    `fact` ends the one before; no event before a point gives null.
    """
    so_far = Window.partitionBy(*key).orderBy("at").rangeBetween(Window.unboundedPreceding, Window.currentRow)
    return (
        events.select(*key, "at", fact)
        .withColumn("is_point", F.lit(False))
        .unionByName(points.withColumn("is_point", F.lit(True)), allowMissingColumns=True)
        .withColumn(fact, F.last(fact, ignorenulls=True).over(so_far))
        .where("is_point")
        .drop("is_point")
    )


def membership_views(points: DataFrame, memberships: DataFrame) -> DataFrame:
    """One row per (group, topic, step, `at`): `views`, what each host with a known membership lists.

    `points` carries `route` (struct with `hosts`) and what else the caller wants to keep. `memberships` are the
    tilings of all brokers, with the struct `seen`: broker_name; members, the fingerprint of all they depend on, and
    ids, that of the client ids alone; seen_at; is_empty. Nobody observed: it is null inside. Hosts that list nobody
    are left out where another host lists members: a broker that just came back says "not online", and clients that
    ask it keep what they had.
    """
    hosts = points.select(*GROUP_TOPIC, "at", F.explode_outer("route.hosts").alias("broker_name"))
    seen = as_of(memberships, hosts, (*GROUP_TOPIC, "broker_name"), "seen")
    listing = F.filter("known", lambda view: ~view["is_empty"])
    return (
        seen.groupBy(*GROUP_TOPIC, "at")
        .agg(F.sort_array(F.collect_list(F.when(F.col("seen.ids").isNotNull(), F.col("seen")))).alias("known"))
        .withColumn("views", F.when(F.size(listing) > 0, listing).otherwise(F.slice("known", 1, 1)))
        .drop("known")
        .join(points, on=[*GROUP_TOPIC, "at"], how="inner")
    )


def is_split() -> Column:
    """Whether the hosts disagree about the members."""
    return F.size(F.array_distinct(F.transform("views", lambda view: view["ids"]))) > 1


def with_sweeps_settled(views: DataFrame, cadence: timedelta) -> DataFrame:
    """A disagreement shorter than half a cadence that ends in agreement is the recorder asking one broker after
    another: the members agreed at its end hold from its start.

    Adds nothing but replaces `views` in such rows; grain as before.
    """
    per_topic = Window.partitionBy(*GROUP_TOPIC).orderBy("at")
    before = per_topic.rowsBetween(Window.unboundedPreceding, -1)
    after = per_topic.rowsBetween(1, Window.unboundedFollowing)
    settled = F.when(~F.col("split"), F.struct("at", "views"))
    began = F.coalesce(F.last("settled_until", ignorenulls=True).over(before), F.min("at").over(before), F.col("at"))
    following = F.first(settled, ignorenulls=True).over(after)
    passes = (
        F.col("split")
        & (F.size("next_settled.views") > 0)
        & (F.col("next_settled.at") < F.col("began") + duration(cadence / 2))
    )
    return (
        views.withColumn("split", is_split())
        .withColumn("settled_until", F.when(~F.col("split"), F.col("end")))
        .withColumn("began", began)
        .withColumn("next_settled", following)
        .withColumn("views", F.when(passes, F.col("next_settled.views")).otherwise(F.col("views")))
        .drop("split", "settled_until", "began", "next_settled")
    )


def one_row_per_view(views: DataFrame) -> DataFrame:
    """One row per (group, topic, step, `at`, membership view): `members` (fingerprint) and `seen_at`.

    Where the hosts agree there is one view, `*`, with the first host's connections; where nobody was observed its
    `members` are null.
    """
    agreed = F.array(
        F.struct(F.lit(ALL_HOSTS).alias("membership_view"), F.try_element_at("views", F.lit(1)).alias("seen"))
    )
    each = F.transform("views", lambda view: F.struct(view["broker_name"].alias("membership_view"), view.alias("seen")))
    latest = F.array_max(F.transform("views", lambda view: view["seen_at"]))
    kept = [name for name in views.columns if name != "views"]
    return (
        views.withColumn("latest", latest)
        # An empty array of views has no first element: `try_element_at` gives the null that means "unobserved".
        .select(*kept, "latest", F.inline(F.when(is_split(), each).otherwise(agreed)))
        .withColumn("members", F.col("seen.members"))
        .withColumn(
            "seen_at",
            F.when(F.col("membership_view") == ALL_HOSTS, F.col("latest")).otherwise(F.col("seen.seen_at")),
        )
        .select(*kept, "membership_view", "members", "seen_at")
    )
