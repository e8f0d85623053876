"""CLIENT_HUNG: a member that owns queues and does nothing with them."""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from schemas import CLIENT_SNAPSHOTS
from spark_jobs.domain.clients import HungCause
from spark_jobs.findings.rule import Audited, Cause, Rule
from spark_jobs.findings.touches import nothing, queue, touches
from spark_jobs.replay.clients import CLIENT
from spark_jobs.replay.steps import duration

NAME = "CLIENT_HUNG"
HUNG = "HUNG"
_KEY = (*CLIENT, "step_start")


def hung_clients(audited: Audited) -> DataFrame:
    """One touch per (client that hangs, interval, queue that it owns by replay); one condition per client and cause.

    Few clients hang, and a silence lasts as long as its patience: their spans are joined to what they own.
    """
    rows = _silent(audited).unionByName(_not_pulling(audited), allowMissingColumns=True)
    hung = rows.withColumnsRenamed({"start": "hung_from", "end": "hung_until", "seen_at": "hung_seen_at"})
    place = F.struct("topic", "broker_name", "queue_id")
    concerned = F.col("stale").isNull() | F.array_contains("stale", place)
    return touches(
        audited.owned.withColumn("client_id", F.explode(F.array_distinct("owners.client_id")))
        .join(F.broadcast(hung), on=list(_KEY), how="inner")
        .where((F.col("start") < F.col("hung_until")) & (F.col("hung_from") < F.col("end")) & concerned),
        NAME,
        queue=queue(HUNG),
        topic=nothing(),
        start=F.greatest("start", "hung_from"),
        end=F.least("end", "hung_until"),
        seen_at=F.least("seen_at", "hung_seen_at"),
        blamed=F.col("client_id"),
    )


def _silent(audited: Audited) -> DataFrame:
    """One row per (client, span in which two looks or more got no answer): `stale` is null, all its queues count."""
    seconds = audited.configuration.thresholds.silent_after_seconds
    lasts = F.col("end") >= F.col("start") + duration(timedelta(seconds=seconds))
    return (
        audited.looks.where(~F.col("state.answered") & (F.col("seen_at") > F.col("start")) & lasts)
        .select(*_KEY, "start", "end", "seen_at")
        .withColumn("cause", F.lit(HungCause.NO_ANSWER.value))
        .withColumn("patience", F.lit(float(seconds)))
    )


def _not_pulling(audited: Audited) -> DataFrame:
    """One row per (client, span in which it had not pulled `stale` queues for too long): the age says it at once."""
    return (
        audited.looks.where(F.size("state.stale") > 0)
        .select(*_KEY, "start", "end", "seen_at", "state.stale")
        .withColumn("cause", F.lit(HungCause.NO_PULL.value))
        .withColumn("patience", F.lit(0.0))
    )


RULE = Rule(
    name=NAME,
    meaning="A member of the group that owns queues does not answer, or has stopped pulling: nobody consumes these "
    "queues until the broker drops the client's connection (about 120 s after its last heartbeat). One finding per "
    "client and cause, over all the group's topics; the evidence names the queues.",
    decided_by="the client is listed and owns the queues by replay. `NO_ANSWER`: no look got an answer for "
    "`silent_after_seconds` (60 s, less than a broker takes to drop the connection), two looks at least. `NO_PULL`: a "
    "look shows a queue whose last pull is more than `pull_idle_seconds` (120 s) ago; even an idle queue is asked for "
    "every 15 s. The clocks of client and recorder are taken to agree. INFO if nothing was produced to the queues and "
    "no backlog is known.",
    causes={
        HungCause.NO_ANSWER: Cause(
            "it is connected, and does not answer a request for its running info",
            "The process hangs or its network is cut: take a thread dump, look for long garbage collections, and "
            "restart it. Its queues go to the others as soon as its connection is closed.",
        ),
        HungCause.NO_PULL: Cause(
            "it answers, and does not pull",
            "The client's pull thread is stuck: take a thread dump (PullMessageService) and restart it.",
        ),
    },
    example="`audit-service`: the process of `10.31.82.5@7179…`, frozen at 02:10:54, is silent from 02:10:59 until "
    "the broker drops it at 02:12:46; it owned two queues of `audit-log`.",
    touches=hung_clients,
    needs=(CLIENT_SNAPSHOTS,),
)
