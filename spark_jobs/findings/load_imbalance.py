"""LOAD_IMBALANCE: the queues of a group are shared unevenly, in one topic or over all of them."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.domain.balance import ImbalanceCause
from spark_jobs.domain.strategies import CONFIG, CONSISTENT_HASH
from spark_jobs.findings.loads import member_loads
from spark_jobs.findings.mixtures import mixed_strategies
from spark_jobs.findings.rule import Audited, Cause, Rule
from spark_jobs.findings.touches import measures, nothing, parties, touches
from spark_jobs.replay.subscriptions import RETRY
from spark_jobs.replay.views import ALL_HOSTS, GROUP_STEP

NAME = "LOAD_IMBALANCE"


def load_imbalances(audited: Audited) -> DataFrame:
    """One touch per interval with uneven shares of a topic (one condition per group, topic and cause), and per span
    with uneven shares over all topics (one condition per group).
    """
    return _touches(_per_topic(audited)).union(_touches(_across_topics(member_loads(audited))))


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
    "was greatest (`most_queues`, `fewest_queues`).",
    decided_by="the replayed allocation, while all hosts list the same members; members that do not subscribe a "
    "topic do not count for it. WARN where the busiest owns more than twice the queues of the least busy one and "
    "two more, else INFO; INFO for a hash ring.",
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
    },
    example="`near-service`: `b-1` has the queues of broker-b alone, `a-1` and `a-2` share those of broker-a.",
    touches=load_imbalances,
)
