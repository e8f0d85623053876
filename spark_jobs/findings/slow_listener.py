"""SLOW_LISTENER: a client's messages need more threads than it has."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from schemas import CLIENT_SNAPSHOTS
from spark_jobs.findings.looks import BUSIEST, seen_twice
from spark_jobs.findings.rule import Audited, Cause, Rule
from spark_jobs.findings.touches import measures, nothing, touches
from spark_jobs.replay.clients import CLIENT

NAME = "SLOW_LISTENER"
ALL_THREADS_BUSY = "ALL_THREADS_BUSY"
_MEASURES = ("busy_threads", "consume_threads", *BUSIEST)


def slow_listeners(audited: Audited) -> DataFrame:
    """One touch per (client, span in which nearly all its threads were busy); one condition per client."""
    busy = audited.looks.where("state.busy IS NOT NULL").select(
        *CLIENT, "step_start", "start", "end", "seen_at", "state.busy.*"
    )
    return touches(
        seen_twice(busy),
        NAME,
        topic=nothing(),
        cause=F.lit(ALL_THREADS_BUSY),
        severity=F.lit("WARN"),
        patience=F.lit(float(audited.configuration.thresholds.busy_after_seconds)),
        weight=F.col("busy_threads") / F.col("consume_threads"),
        measures=measures(**{name: F.col(name) for name in _MEASURES}),
        blamed=F.col("client_id"),
    )


RULE = Rule(
    name=NAME,
    meaning="The listener (or what it calls) keeps all threads of a client busy, so the client cannot consume faster. "
    "One finding per client. Measures: `busy_threads` and `consume_threads`; `consume_rt_ms` and `pull_rt_ms` of the "
    "topic that takes the most of them.",
    decided_by="`busy_threads` is response time × rate, summed over the client's topics, which share the threads; the "
    "rate is messages consumed (well or not) per second or, if that is more, pulled per second; all as the client "
    "measured them over its last minute. WARN if they are at least `busy_percent` (90) of the client's threads for "
    "`busy_after_seconds` (120 s) and in two successive looks. A batch of messages counts as one "
    "(`consumeMessageBatchMaxSize` is 1 by default). A consumer that works off a backlog at full speed is meant too.",
    causes={
        ALL_THREADS_BUSY: Cause(
            "response time × rate needs as many threads as there are",
            "Make the listener faster, or give it more threads (consumeThreadMin, consumeThreadMax). More consumers "
            "help only while the topic has more queues than the group has members.",
        ),
    },
    example="`legacy-import`: `10.31.83.1@…` has one thread, takes 400 ms a message, and consumes 2.5 a second, for "
    "the whole recording; its peer takes 20 ms, and is not named.",
    touches=slow_listeners,
    needs=(CLIENT_SNAPSHOTS,),
)
