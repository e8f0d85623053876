"""IDLE_CONSUMER: a member that owns no queue of any topic it subscribes, retry topics aside."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.findings.rule import Audited, Cause, Rule
from spark_jobs.findings.touches import nothing, touches
from spark_jobs.replay.views import ALL_HOSTS

NAME = "IDLE_CONSUMER"
MORE_MEMBERS_THAN_QUEUES = "MORE_MEMBERS_THAN_QUEUES"
LEFT_OUT_BY_STRATEGY = "LEFT_OUT_BY_STRATEGY"


def idle_consumers(audited: Audited) -> DataFrame:
    """One touch per (client id, span in which it was a member and owned nothing); one condition per client id."""
    more_members = F.col("member_count") > F.col("queue_count")
    return touches(
        audited.loads.where("queues = 0"),
        NAME,
        topic=nothing(),
        severity=F.lit("WARN"),
        membership_view=F.lit(ALL_HOSTS),
        cause=F.when(more_members, MORE_MEMBERS_THAN_QUEUES).otherwise(LEFT_OUT_BY_STRATEGY),
        blamed=F.col("client_id"),
    )


RULE = Rule(
    name=NAME,
    meaning="A member that owns no queue of any topic it subscribes, retry topics aside (they usually have one queue "
    "per broker).",
    decided_by="the replayed allocation, while all hosts list the same members. WARN: it is waste.",
    causes={
        MORE_MEMBERS_THAN_QUEUES: Cause(
            "the group has more connections than the topic has queues",
            "There are more members than queues, so more consumers cannot help: stop the surplus, or add queues.",
        ),
        LEFT_OUT_BY_STRATEGY: Cause(
            "there are queues enough, and the strategy gives this member none",
            "The strategy gives this member nothing: with CONSISTENT_HASH raise virtualNodeCnt, else check rooms and "
            "configured queue lists.",
        ),
    },
    example="`inventory-service`: three members on two queues, so the third is idle for the whole recording.",
    touches=idle_consumers,
)
