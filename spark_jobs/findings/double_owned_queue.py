"""DOUBLE_OWNED_QUEUE: several connections consume one queue, each message as often."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.domain.causes import DoubleOwnedCause
from spark_jobs.findings.rule import Audited, Cause, Rule
from spark_jobs.findings.touches import DOUBLE_OWNED, nothing, queue, touches

NAME = "DOUBLE_OWNED_QUEUE"


def double_owned_queues(audited: Audited) -> DataFrame:
    """One touch per (interval, queue, client id that owns it with others); one condition per group, topic, cause."""
    double = audited.owned.where("double_owned_cause IS NOT NULL")
    by_owner = double.withColumn("blamed", F.explode(F.array_distinct("owners.client_id")))
    return touches(by_owner, NAME, cause=F.col("double_owned_cause"), client_id=nothing(), queue=queue(DOUBLE_OWNED))


RULE = Rule(
    name=NAME,
    meaning="Several connections consume the queue, each message as often. One finding per group, topic and cause.",
    decided_by="the replayed allocation: more than one connection takes the queue. INFO if nothing was produced to it "
    "and no backlog is known.",
    causes={
        DoubleOwnedCause.DUPLICATE_CLIENT_ID: Cause(
            "all owners have one client id (twins)",
            "Twins consume every message of these queues once each: give every consumer its own client id.",
        ),
        DoubleOwnedCause.MIXED_STRATEGIES: Cause(
            "shares by different strategies overlap",
            "Members run different allocation strategies: roll out one to all of them.",
        ),
        DoubleOwnedCause.CONFIG_OVERLAP: Cause(
            "several clients' configured lists name the queue",
            "Several clients' configured lists name these queues: leave each in one list.",
        ),
    },
    example="`config-service`: queue 1 of `config-feed` is in the lists of both members, for the whole recording.",
    touches=double_owned_queues,
)
