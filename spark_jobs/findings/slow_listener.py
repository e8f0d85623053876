"""SLOW_LISTENER: a client's messages need more threads than it has, or longer than before."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemas import CLIENT_SNAPSHOTS
from spark_jobs.findings.looks import RESPONSE_TIMES, seen_twice
from spark_jobs.findings.response_times import slowed_listeners
from spark_jobs.findings.rule import Audited, Cause, Rule
from spark_jobs.findings.touches import measures, nothing, touches
from spark_jobs.replay.clients import CLIENT

NAME = "SLOW_LISTENER"
ALL_THREADS_BUSY = "ALL_THREADS_BUSY"
RESPONSE_TIME_ROSE = "RESPONSE_TIME_ROSE"


def slow_listeners(audited: Audited) -> DataFrame:
    """One touch per (client, span in which nearly all its threads were busy), one condition per client; and one per
    (client, topic, look at which its listener was slower than usual), one condition per client and topic.
    """
    return _all_busy(audited).union(_slowed(audited))


def _all_busy(audited: Audited) -> DataFrame:
    busy = audited.looks.where("state.busy IS NOT NULL").select(
        *CLIENT, "step_start", "start", "end", "seen_at", "state.busy.*"
    )
    weight = F.col("busy_threads") / F.col("consume_threads")
    names = ("busy_threads", "consume_threads", *RESPONSE_TIMES)
    return _touches(audited, seen_twice(busy), ALL_THREADS_BUSY, weight, names, topic=nothing())


def _slowed(audited: Audited) -> DataFrame:
    configuration = audited.configuration
    clients, window = audited.sources.clients, audited.window
    slowed = slowed_listeners(clients, window, configuration.max_gap, configuration.thresholds)
    names = (*RESPONSE_TIMES, *(f"usual_{name}" for name in RESPONSE_TIMES))
    return _touches(audited, slowed, RESPONSE_TIME_ROSE, F.col("consume_rt_ms"), names)


def _touches(
    audited: Audited, rows: DataFrame, cause: str, weight: Column, names: tuple[str, ...], **columns: Column
) -> DataFrame:
    return touches(
        rows,
        NAME,
        cause=F.lit(cause),
        severity=F.lit("WARN"),
        patience=F.lit(float(audited.configuration.thresholds.busy_after_seconds)),
        weight=weight,
        measures=measures(**{name: F.col(name) for name in names}),
        blamed=F.col("client_id"),
        **columns,
    )


RULE = Rule(
    name=NAME,
    meaning="The listener (or what it calls) keeps all threads of a client busy, so the client cannot consume faster; "
    "or it became slower than it was before. `ALL_THREADS_BUSY`: one finding per client; measures: `busy_threads` and "
    "`consume_threads`; `consume_rt_ms` and `pull_rt_ms` of the topic that takes the most of them. "
    "`RESPONSE_TIME_ROSE`: one per client and topic; measures: both at their worst, and `usual_…`, both before.",
    decided_by="What clients measured over their last minute, in two successive looks and for `busy_after_seconds` "
    "(120 s); WARN. `ALL_THREADS_BUSY`: `busy_threads` is response time × rate, summed over the client's topics, which "
    "share the threads; the rate is messages consumed (well or not) per second or, if that is more, pulled per second; "
    "they are at least `busy_percent` (90) of the client's threads. A batch of messages counts as one "
    "(`consumeMessageBatchMaxSize` is 1 by default). A consumer that works off a backlog at full speed is meant too. "
    "`RESPONSE_TIME_ROSE`: consume RT of at least `slow_rt_ms` (100) and `rt_rise_ratio` (3.0) times the usual one, "
    "while pull RT did not rise so. Usual is the median of the looks in the step's look-back (270 s at default) in "
    "which the client consumed messages of the topic; without one, nothing is said. It is said once: to the step "
    "after, the higher value is the usual one.",
    causes={
        ALL_THREADS_BUSY: Cause(
            "response time × rate needs as many threads as there are",
            "Make the listener faster, or give it more threads (consumeThreadMin, consumeThreadMax). More consumers "
            "help only while the topic has more queues than the group has members.",
        ),
        RESPONSE_TIME_ROSE: Cause(
            "consume RT rose against the time before the step, pull RT did not",
            "Look at what the listener calls (database, other services) and at what was deployed: the brokers answer "
            "as fast as before. More threads only help while what it calls bears more calls at once.",
        ),
    },
    example="`legacy-import`: `10.31.83.1@…` has one thread, takes 400 ms a message, and consumes 2.5 a second, for "
    "the whole recording; its peer takes 20 ms, and is not named. No client's "
    "response time rises.",
    touches=slow_listeners,
    needs=(CLIENT_SNAPSHOTS,),
)
