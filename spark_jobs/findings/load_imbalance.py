"""LOAD_IMBALANCE: the queues of a group, or the messages in them, are shared unevenly."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.domain.balance import ImbalanceCause
from spark_jobs.domain.strategies import CONFIG, CONSISTENT_HASH
from spark_jobs.domain.subscriptions import RETRY
from spark_jobs.findings.mixtures import mixed_strategies
from spark_jobs.findings.rule import Audited, Cause, Rule
from spark_jobs.findings.touches import measures, nothing, parties, touches
from spark_jobs.findings.traffic import member_traffic, unequal_traffic
from spark_jobs.replay.views import ALL_HOSTS, GROUP_STEP

NAME = "LOAD_IMBALANCE"


def load_imbalances(audited: Audited) -> DataFrame:
    """One touch per interval with uneven shares of a topic (one condition per group, topic and cause), and per span
    with uneven shares over all topics (one condition per group); and one per group whose members' queues got far
    from equal traffic, for all their time in the step.
    """
    by_queues = _touches(_per_topic(audited)).union(_touches(_across_topics(audited.loads)))
    return by_queues.union(_by_messages(audited))


def _per_topic(audited: Audited) -> DataFrame:
    """One row per uneven interval: `loads`, array<queues, client_id> of the connections that subscribe the topic."""
    mine = F.arrays_zip("members", "queues_per_member")
    loads = F.transform(
        F.filter(mine, lambda one: one["members"]["subscribes"]),
        lambda one: F.struct(one["queues_per_member"].alias("queues"), one["members"]["client_id"].alias("client_id")),
    )
    strategy = F.element_at("members", 1)["strategy"]
    return (
        audited.intervals.where((F.col("status") == "REPLAYED") & (F.col("membership_view") == ALL_HOSTS))
        .where(~F.col("topic").startswith(RETRY) & ~mixed_strategies(F.col("members")))
        .withColumn("loads", loads)
        .where(is_imbalanced(F.col("loads.queues")))
        .withColumn("cause", topic_cause(strategy))
    )


def _across_topics(loads: DataFrame) -> DataFrame:
    """One row per span in which members of the same number of topics, all shared by AVG or AVG_BY_CIRCLE, own
    unequal numbers of queues: `loads`.

    An interval begins and ends for all its members at once, so the spans of the members of a group do too.
    """
    return (
        loads.groupBy(*GROUP_STEP, "start")
        .agg(
            F.max("end").alias("end"),
            F.min("topics").alias("fewest"),
            F.max("topics").alias("most"),
            F.min(F.col("even_topics") == F.col("topics")).alias("are_even"),
            F.sort_array(F.collect_list(F.struct("queues", "client_id"))).alias("loads"),
        )
        .where("fewest = most AND fewest > 1 AND are_even")
        .where(is_imbalanced(F.col("loads.queues")))
        .withColumn("cause", F.lit(ImbalanceCause.REMAINDERS.value))
    )


def _touches(rows: DataFrame) -> DataFrame:
    queues = F.col("loads.queues")
    spread = F.array_max(queues) - F.array_min(queues)
    return touches(
        rows,
        NAME,
        client_id=nothing(),
        membership_view=F.lit(ALL_HOSTS),
        severity=severity(F.col("cause"), queues),
        weight=spread,
        measures=measures(most_queues=F.array_max(queues), fewest_queues=F.array_min(queues)),
        parties=parties(
            F.col("loads"),
            lambda one: one["queues"],
            lambda count: F.concat(count, F.lit(" queues")),
            ascending=False,
        ),
    )


def _by_messages(audited: Audited) -> DataFrame:
    """INFO: the messages are consumed. Where a member does not keep up, another rule says so."""
    thresholds, max_gap = audited.configuration.thresholds, audited.configuration.max_gap
    return touches(
        unequal_traffic(member_traffic(audited.progress), thresholds, max_gap),
        NAME,
        topic=nothing(),
        client_id=nothing(),
        cause=F.lit(ImbalanceCause.UNEQUAL_TRAFFIC.value),
        membership_view=F.lit(ALL_HOSTS),
        severity=F.lit("INFO"),
        measures=measures(most_consumed=F.col("most.consumed"), least_consumed=F.col("least.consumed")),
        parties=parties(
            F.array("most", "least"),
            lambda one: one["consumed"],
            lambda count: F.concat(count, F.lit(" messages")),
            ascending=False,
        ),
    )


def is_imbalanced(queues: Column) -> Column:
    """Whether one member owns at least two queues more than another (`domain.balance.is_imbalanced`)."""
    return (F.size(queues) > 0) & (F.array_max(queues) - F.array_min(queues) > 1)


def severity(cause: Column, queues: Column) -> Column:
    """WARN or INFO, as `domain.balance.severity` says."""
    uneven = F.array_max(queues) > 2 * F.array_min(queues) + 2
    return F.when(uneven & (cause != ImbalanceCause.HASH_RING.value), "WARN").otherwise("INFO")


def topic_cause(strategy: Column) -> Column:
    """Why the shares of one topic differ, as `domain.balance.topic_cause` says."""
    return (
        F.when(strategy == CONSISTENT_HASH, ImbalanceCause.HASH_RING.value)
        .when(strategy == CONFIG, ImbalanceCause.CONFIGURED.value)
        .otherwise(ImbalanceCause.ROOMS.value)
    )


RULE = Rule(
    name=NAME,
    meaning="One member owns at least two queues more than another: in one topic, or over all topics of the group, "
    "retry topics aside. `parties` are the numbers of queues with the clients that own so many, when the difference "
    "was greatest (`most_queues`, `fewest_queues`). Or it consumes far more messages, though not for its number of "
    "queues: `parties` are then these two members, and the measures, in messages of the step, `most_consumed` and "
    "`least_consumed`.",
    decided_by="the replayed allocation, while all hosts list the same members; members that do not subscribe a "
    "topic do not count for it. WARN where the busiest owns more than twice the queues of the least busy one and "
    "two more, else INFO; INFO for a hash ring. `UNEQUAL_TRAFFIC` compares the members that consumed most and "
    "least over all topics, of those that owned queues for all the group's time in the step (± `max_gap`): "
    "`skew_ratio` (2.0) times as many consumed, and as many times as many produced to each of its queues, at least "
    "`skew_messages_per_queue` (100). So no member counts for being slow, for catching up, or for a queue more. "
    "Members with a queue whose consumption is unknown (never committed, not read, or with several owners) are left "
    "out, and so is what came while hosts disagreed. INFO: the messages are consumed.",
    causes={
        ImbalanceCause.HASH_RING: Cause(
            "CONSISTENT_HASH",
            "A hash ring shares unevenly by nature: raise virtualNodeCnt for more even shares, or use AVG.",
        ),
        ImbalanceCause.ROOMS: Cause(
            "MACHINE_ROOM_NEARBY: rooms have other numbers of queues per client",
            "Rooms have unequal numbers of queues per client: start consumers where the queues are, or spread the "
            "queues as the consumers.",
        ),
        ImbalanceCause.CONFIGURED: Cause(
            "CONFIG: the lists have unequal lengths",
            "The configured lists are of unequal lengths: even them out if that is not meant.",
        ),
        ImbalanceCause.REMAINDERS: Cause(
            "over all topics: AVG and AVG_BY_CIRCLE give the remainder of every topic to the first client ids",
            "Every topic gives its remainder to the same members: choose numbers of queues that the number of "
            "members divides, or use a group per topic.",
        ),
        ImbalanceCause.UNEQUAL_TRAFFIC: Cause(
            "over all topics: the queues of one member get far more messages than those of another",
            "If the group has a PRODUCER_SKEW finding, this is its consequence: spread the keys over more queues. Else "
            "busy topics have fewer queues than the group has members, and the first client ids get them all: give "
            "those topics more queues, or a group of their own. More consumers do not help.",
        ),
    },
    example="`near-service`: `b-1` has the queues of broker-b alone, `a-1` and `a-2` share those of broker-a.",
    touches=load_imbalances,
)
