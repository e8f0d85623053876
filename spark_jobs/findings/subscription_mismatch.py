"""SUBSCRIPTION_MISMATCH: members of one group subscribe different topics, or different messages of one topic."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.domain.subscriptions import MismatchCause
from spark_jobs.findings.rule import Audited, Cause, Rule
from spark_jobs.findings.touches import nothing, parties, touches
from spark_jobs.replay.history import BROKER
from spark_jobs.replay.views import ALL_HOSTS

NAME = "SUBSCRIPTION_MISMATCH"


def subscription_mismatches(audited: Audited) -> DataFrame:
    """One touch per span in which members said they subscribe differently, or a broker's subscriptions flapped; one
    condition per group and cause.
    """
    by_clients = audited.intervals.where(F.size("mismatches") > 0).select(
        "step_start", "cluster", "consumer_group", "membership_view", F.inline("mismatches")
    )
    sets = F.col("told.subscriptions")
    group_wide = {"topic": nothing(), "client_id": nothing(), "severity": F.lit("ERROR")}
    said = parties(F.col("told"), lambda one: one["subscriptions"], _text)
    known = touches(by_clients, NAME, cause=mismatch(sets), parties=said, weight=F.lit(1), **group_wide)
    flapping = flaps(audited.changes.memberships)
    either = F.array("subscriptions", "before")
    return known.union(touches(flapping, NAME, cause=mismatch(either), parties=_unknown_parties(either), **group_wide))


def mismatch(sets: Column) -> Column:
    """Why subscriptions (array of `normal_subscriptions`) do not fit together; null: they do.

    Its plain twin is `domain.subscriptions.mismatch`.
    """
    topics = F.transform(sets, lambda one: one["topic"])
    return F.when(F.size(F.array_distinct(topics)) > 1, MismatchCause.DIFFERENT_TOPICS.value).when(
        F.size(F.array_distinct(sets)) > 1, MismatchCause.DIFFERENT_EXPRESSIONS.value
    )


def flaps(memberships: DataFrame) -> DataFrame:
    """One row per span of a broker's subscriptions between two spans of one other text, the clients being the same.

    A broker keeps what the last heartbeat said, so the subscriptions of unequal members take turns (RocketMQ:
    `ConsumerGroupInfo.updateSubscription`). `memberships`: spans with `state`.
    """
    in_order = Window.partitionBy(*BROKER, "step_start").orderBy("start")
    now = F.col("now")
    before, after = F.lag("now").over(in_order), F.lead("now").over(in_order)
    same_clients = (before["ids"] == now["ids"]) & (after["ids"] == now["ids"]) & (F.size(now["ids"]) > 0)
    no_gap = (F.lag("end").over(in_order) == F.col("start")) & (F.lead("start").over(in_order) == F.col("end"))
    back = (before["subscriptions"] == after["subscriptions"]) & (before["subscriptions"] != now["subscriptions"])
    return (
        memberships.withColumn(
            "now", F.struct("state.subscriptions", F.col("state.connections.client_id").alias("ids"))
        )
        .withColumns({"is_flap": same_clients & no_gap & back, "before": before["subscriptions"]})
        .where("is_flap")
        .withColumn("subscriptions", now["subscriptions"])
        .withColumn("membership_view", F.lit(ALL_HOSTS))
    )


def _text(subscriptions: Column) -> Column:
    each = F.transform(subscriptions, lambda one: F.concat(one["topic"], F.lit(": "), one["expression"]))
    return F.when(F.size(subscriptions) == 0, "nothing").otherwise(F.array_join(each, ", "))


def _unknown_parties(sets: Column) -> Column:
    """Each text that a broker gave; whose it is, it does not say."""
    nobody = F.lit(None).cast("array<string>")
    return F.transform(F.sort_array(sets), lambda one: F.struct(_text(one).alias("name"), nobody.alias("client_ids")))


RULE = Rule(
    name=NAME,
    meaning="Members of one group subscribe different topics, or different messages of one topic. RocketMQ demands "
    "equal subscriptions and does not check them: brokers keep what the last heartbeat said, so messages are filtered "
    "by the wrong expression and lost, or queues lie in the share of a member that does not read them. One finding "
    "per group and cause; `parties` are the different subscriptions with the clients that have them.",
    decided_by="the subscriptions that the clients themselves hold, where running info was recorded; else a broker "
    "whose subscriptions of the group change and change back while its clients stay the same (whose they are is "
    "unknown then). Retry topics aside; tags in another order are the same. ERROR.",
    causes={
        MismatchCause.DIFFERENT_TOPICS: Cause(
            "a member subscribes a topic that another one does not",
            "All members of a group must subscribe the same topics: give the consumers of each topic a group of "
            "their own.",
        ),
        MismatchCause.DIFFERENT_EXPRESSIONS: Cause(
            "the topics are the same, tags or SQL differ",
            "All members of a group must use the same expression: messages that only the other one matches are "
            "skipped and lost. Use one expression, or one group per expression.",
        ),
    },
    example="`notify-service`: one member subscribes `retail`, the other `wholesale`. `tag-service`: one subscribes "
    "`TagA` of `retail`, the other `TagB`. Both for the whole recording.",
    touches=subscription_mismatches,
)
