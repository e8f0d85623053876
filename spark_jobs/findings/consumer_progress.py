"""CONSUMER_STOPPED, CONSUMER_STALLED, CONSUMER_LAGGING: queues that have an owner, and do not get on."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.domain.verdicts import Verdict
from spark_jobs.findings.rule import Audited, Cause, Rule
from spark_jobs.findings.touches import BEHIND, measures, nothing, queue, touches

STOPPED, STALLED, LAGGING = "CONSUMER_STOPPED", "CONSUMER_STALLED", "CONSUMER_LAGGING"


def _touches(audited: Audited, name: str, found: Verdict, severity: str, cause: str, since: Column) -> DataFrame:
    """One touch per (interval, queue with an owner and this verdict, client that owns it); one condition per group
    and topic. Queues without an owner stand still too: that is UNASSIGNED_QUEUE. The measures are the worst queue's.
    """
    return touches(
        audited.progress.where((F.col("verdict") == found.value) & (F.size("owners") > 0))
        .withColumn("blamed", F.explode(F.array_distinct("owners.client_id")))
        .withColumn("start", since),
        name,
        end=F.col("interval_end"),
        cause=F.lit(cause),
        client_id=nothing(),
        severity=F.lit(severity),
        patience=F.lit(audited.configuration.thresholds.stalled_after_seconds),
        queue=queue(BEHIND),
        weight=F.col("lag_last"),
        measures=measures(lag_first=F.col("lag_first"), lag_last=F.col("lag_last"), age_ms=F.col("age_ms")),
    )


def consumer_stopped(audited: Audited) -> DataFrame:
    """Since the last reading that showed it moving."""
    return _touches(audited, STOPPED, Verdict.STOP, "ERROR", "NO_COMMITS", F.col("moved_at"))


def consumer_stalled(audited: Audited) -> DataFrame:
    """For the whole interval."""
    return _touches(audited, STALLED, Verdict.STALL, "ERROR", "NO_PROGRESS", F.col("interval_start"))


def consumer_lagging(audited: Audited) -> DataFrame:
    """For the whole interval."""
    return _touches(audited, LAGGING, Verdict.WARN, "WARN", "FALLING_BEHIND", F.col("interval_start"))


_EXAMPLE = (
    "nothing: every queue that stood still had no owner, and the slow consumer of `legacy-import` catches up a little "
    "now and then."
)
_DECIDED = (
    "verdict {} of `queue_progress` (Burrow's rules over the readings of one interval, with `allowed_lag`), on queues "
    "that have an owner, for `stalled_after_seconds`. The measures are those of the queue with the greatest lag."
)

STOPPED_RULE = Rule(
    name=STOPPED,
    meaning="The consumer of the queue moved on, then committed no more, for longer than it had been seen to move, "
    "while messages wait. One finding per group and topic; the evidence names its queues with their backlog.",
    decided_by=_DECIDED.format("STOP"),
    causes={
        "NO_COMMITS": Cause(
            "the consumer offset moved earlier in the interval, and does no longer",
            "Look at the owner of the queue: a thread dump shows whether its listener hangs. Restart it if it does "
            "not come back.",
        )
    },
    example=_EXAMPLE,
    touches=consumer_stopped,
)
STALLED_RULE = Rule(
    name=STALLED,
    meaning="The queue has an owner and a backlog, and its consumer offset did not move once in the whole interval. "
    "One finding per group and topic; the evidence names its queues with their backlog.",
    decided_by=_DECIDED.format("STALL"),
    causes={
        "NO_PROGRESS": Cause(
            "the consumer offset is the same in all readings, and the lag always above the allowed one",
            "Look at the owner of the queue: one message that is never acknowledged holds the offset (a listener that "
            "hangs, or an orderly one that suspends for ever).",
        )
    },
    example=_EXAMPLE,
    touches=consumer_stalled,
)
LAGGING_RULE = Rule(
    name=LAGGING,
    meaning="The consumer gets on, but its lag never became less in the whole interval: it is slower than the "
    "producers. One finding per group and topic; the evidence names its queues with their backlog.",
    decided_by=_DECIDED.format("WARN"),
    causes={
        "FALLING_BEHIND": Cause(
            "the lag is above the allowed one in all readings, and in none below the one before",
            "Make the listener faster, give it more threads, or add consumers while there are more queues than "
            "members.",
        )
    },
    example=_EXAMPLE,
    touches=consumer_lagging,
)
