"""FLAPPING_MEMBER: one member keeps coming and going, and its group rebalances every time."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.domain.rebalances import FlappingCause
from spark_jobs.findings.rule import Audited, Cause, Rule
from spark_jobs.findings.touches import measures, nothing, touches
from spark_jobs.replay.triggers import host
from spark_jobs.replay.views import ALL_HOSTS, GROUP_STEP

NAME = "FLAPPING_MEMBER"


def flapping_members(audited: Audited) -> DataFrame:
    """One touch per id or host that flaps, from when it first came or went to the last time."""
    found = flapping(passages(audited.rebalances), audited.configuration.thresholds.flapping_times)
    ids = F.struct(F.col("subject").alias("name"), F.array_sort("client_ids").alias("client_ids"))
    ratio = F.when(F.col("least_moves") > 0, F.col("queues_moved") / F.col("least_moves"))
    return touches(
        found,
        NAME,
        client_id=F.col("subject"),
        topic=nothing(),
        membership_view=F.lit(ALL_HOSTS),
        patience=F.lit(0.0),
        severity=F.lit("WARN"),
        parties=F.array(ids),
        measures=measures(
            comings=F.col("comings"),
            goings=F.col("goings"),
            queues_moved=F.col("queues_moved"),
            least_moves=F.col("least_moves"),
            moved_per_least_move=ratio,
        ),
    )


def passages(rebalances: DataFrame) -> DataFrame:
    """One row per (rebalance of a topic, client id that came or went): `came`, `at_once` and what was moved.

    `at_once`: members of its host after it.
    """

    def each(ids: Column, came: bool) -> Column:
        return F.transform(ids, lambda one: F.struct(one.alias("client_id"), F.lit(came).alias("came")))

    both = F.concat(each(F.col("joined"), True), each(F.col("left"), False))
    peers = F.transform("members.client_id", host)
    at_once = F.size(F.filter(peers, lambda peer: peer == host(F.col("client_id"))))
    moved = F.struct("topic", "start", "queues_moved", "least_moves")
    return rebalances.select(*GROUP_STEP, "moment", moved.alias("moved"), "members", F.inline(both)).withColumn(
        "at_once", at_once
    )


def flapping(passages: DataFrame, times: int) -> DataFrame:
    """One row per (group, step, cause, subject) that came and went `times` (`domain.rebalances.flapping`)."""
    by_id = F.struct(
        F.lit(FlappingCause.SAME_ID.value).alias("cause"),
        F.col("client_id").alias("subject"),
        F.col("moment").cast("string").alias("token"),
        F.lit(1).alias("at_once"),
    )
    by_host = F.struct(
        F.lit(FlappingCause.NEW_ID_EACH_TIME.value).alias("cause"),
        host(F.col("client_id")).alias("subject"),
        F.col("client_id").alias("token"),
        F.greatest("at_once", F.lit(1)).alias("at_once"),
    )
    comings, goings = (F.size(F.collect_set(F.when(F.col("came") == came, F.col("token")))) for came in (True, False))

    def total(name: str) -> Column:
        return F.aggregate("moves", F.lit(0), lambda so_far, one: so_far + one[name]).alias(name)

    return (
        passages.select(*GROUP_STEP, "moment", "moved", "client_id", "came", F.inline(F.array(by_id, by_host)))
        .where("subject IS NOT NULL")
        .groupBy(*GROUP_STEP, "cause", "subject")
        .agg(
            comings.alias("comings"),
            goings.alias("goings"),
            F.max("at_once").alias("at_once"),
            F.min("moment").alias("start"),
            F.max("moment").alias("end"),
            F.collect_set("client_id").alias("client_ids"),
            F.collect_set("moved").alias("moves"),
        )
        .where(F.least("comings", "goings") >= F.col("at_once") * times)
        .select("*", total("queues_moved"), total("least_moves"))
    )


RULE = Rule(
    name=NAME,
    meaning="One member keeps coming and going, and the group hands its queues over every time. `measures`: "
    "`comings`, `goings`, `queues_moved` in those rebalances over all topics, `least_moves` (the fewest that "
    "allocations with the same shares would have moved) and their ratio. `parties` lists the client ids.",
    decided_by="a client id that joined and left at least `flapping_times` (3) times in the step and its warm-up; or a "
    "host (the text before `@` in the id) from which so many new ids came and went, as a Java client ≥ 4.9 has a new "
    "one each time. With several members of one host at once it must be so many times each: restarting all in turn is "
    "a deploy.",
    causes={
        FlappingCause.SAME_ID: Cause(
            "the id stays the same",
            "The consumer loses its connection or restarts under a fixed instance name: look at its log, its network "
            "and its garbage collection pauses.",
        ),
        FlappingCause.NEW_ID_EACH_TIME: Cause(
            "every time with a new id: the process restarts",
            "The process is restarted again and again: look at its exit code, out-of-memory kills and liveness probes.",
        ),
    },
    example="`flapper`: `10.31.92.2` leaves and comes back every 25 s, six times from 02:12:19 to 02:16:56; its "
    "sibling takes all 16 queues and gives half of them back each time.",
    touches=flapping_members,
)
