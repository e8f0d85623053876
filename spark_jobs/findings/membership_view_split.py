"""MEMBERSHIP_VIEW_SPLIT: the brokers that host a topic list different members of a group."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.domain.subscriptions import RETRY
from spark_jobs.findings.rule import Audited, Cause, Rule
from spark_jobs.findings.touches import nothing, touches
from spark_jobs.replay.intervals import VIEW
from spark_jobs.replay.views import ALL_HOSTS, GROUP_TOPIC

NAME = "MEMBERSHIP_VIEW_SPLIT"
BROKERS_DISAGREE = "BROKERS_DISAGREE"


def membership_view_splits(audited: Audited) -> DataFrame:
    """One touch per (topic, moment at which views of single brokers begin); one condition per group and topic.

    All views of a split begin with it, so the moment with the most views tells who lists whom.
    """
    split = audited.intervals.where(
        (F.col("membership_view") != ALL_HOSTS) & (F.col("status") == "REPLAYED") & ~F.col("topic").startswith(RETRY)
    ).select(*VIEW, "start", "end", F.array_distinct("members.client_id").alias("client_ids"))
    party = F.struct(F.col("membership_view").alias("name"), "client_ids")
    together = split.groupBy(*GROUP_TOPIC, "start").agg(
        F.max("end").alias("end"),
        F.min("membership_view").alias("membership_view"),
        F.sort_array(F.collect_list(party)).alias("parties"),
        F.count("*").alias("weight"),
    )
    return touches(together, NAME, client_id=nothing(), cause=F.lit(BROKERS_DISAGREE), severity=F.lit("ERROR"))


RULE = Rule(
    name=NAME,
    meaning="The brokers that host a topic list different members of the group. Each client asks a random one, so "
    "clients disagree for as long as it lasts: queues are consumed twice and others by nobody. One finding per group "
    "and topic, retry topics aside; `parties` are the brokers with the client ids that each listed when it began.",
    decided_by="the lists of the topic's hosts, longer than a group takes to agree plus the next heartbeats (50 s). "
    "A broker that lists nobody does not count while another lists somebody. ERROR.",
    causes={
        BROKERS_DISAGREE: Cause(
            "two hosts list different client ids",
            "Look for clients that cannot reach one of the brokers, a broker that is overloaded, or half-open "
            "connections: every client must heartbeat to every broker that hosts the topic.",
        ),
    },
    example="none: after broker-b came back, it listed only some members for up to 20 s, until their heartbeats.",
    touches=membership_view_splits,
)
