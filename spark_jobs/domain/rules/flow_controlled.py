"""FLOW_CONTROLLED: a client holds as much of a queue as it may, and stops pulling until it has consumed some."""

from collections.abc import Iterator

import numpy as np

from spark_jobs.domain.diagnosis.diagnoses import times_of
from spark_jobs.domain.diagnosis.standing import standing_seconds
from spark_jobs.domain.diagnosis.table import StandingCause
from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.client_spans import symptoms, unwell_spans
from spark_jobs.domain.kernel.process_queues import process_queue
from spark_jobs.domain.model.clients import ThrottleCause
from spark_jobs.domain.model.finding import FindingQueue, RuleHit
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.severities import ERROR, WARN
from spark_jobs.domain.model.window import SECOND, common
from spark_jobs.domain.rules.commands import THREAD_DUMP
from spark_jobs.domain.rules.rule import CLIENT_SNAPSHOTS, Cause, Rule

THROTTLED = "THROTTLED"


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (client, time, queue at a limit), with the measures of the worst queue; one condition per client, topic
    and limit. One message makes the span too long: the hit begins when it became the oldest. Not of a client that only
    miscounts.
    """
    miscounted, at_span_limit = (
        times_of(step, cause) for cause in (StandingCause.MISCOUNTED, StandingCause.SPAN_LIMIT)
    )
    # A shorter burst, or the rest of a pause, is what the cache is for.
    minimum = max(step.settings.thresholds.stalled_after_seconds, standing_seconds(step))
    for client_id, spans in unwell_spans(step).items():
        throttled_spans = symptoms(spans, lambda report: report.throttled, lambda throttled: throttled.queue)
        for start, end, _, throttled in throttled_spans:
            if any(common((start, end), time) for time in miscounted.get(throttled.queue, ())):
                continue  # it holds no message: nothing is slow
            by_span = throttled.cause is ThrottleCause.CACHED_SPAN
            # The queue stands by this limit for long.
            stood = sum(until - since for since, until in at_span_limit.get(throttled.queue, ()))
            is_stopped = stood >= step.settings.thresholds.stalled_after_seconds * SECOND
            yield RuleHit(
                _oldest_since(step, client_id, throttled.queue, start) if by_span else start,
                *(end, throttled.cause, throttled.queue.topic, client_id),
                queue=FindingQueue(*throttled.queue, THROTTLED),
                implicated=client_id,
                minimum_seconds=None if by_span else minimum,
                severity=ERROR if by_span and is_stopped else WARN,
                # The cached amount as a multiple of its limit.
                weight=throttled.reached / throttled.limit if throttled.reached and throttled.limit else None,
                measures={
                    name: getattr(throttled, name) for name in ("cached_count", "cached_mib", "cached_span", "limit")
                },
            )


def _oldest_since(step: AuditedStep, client_id: str, queue: MessageQueue, at: int) -> int:
    """The first snapshot up to `at` since which the client's oldest message of the queue is the same; microseconds."""
    samples = process_queue(step.history.clients[client_id], queue, step.window.observed_from, at + 1)
    if not len(samples.times):
        return at
    differs = np.flatnonzero(samples.cached_min_offset != samples.cached_min_offset[-1])
    return int(samples.times[differs[-1] + 1 if len(differs) else 0])


_SLOWER = "The consumer is slow, not the broker: make the listener faster or give it more threads."

RULE = Rule(
    name="FLOW_CONTROLLED",
    ended="the client was below its limit again",
    headline="{subjects} in {groups} {subjects:has|have} reached {subjects:its cache limit|their cache limits} and "
    "{subjects:stops|stop} pulling {queues}",
    meaning="A client has cached so many messages of a queue that it stops pulling. This flow control means that the "
    "consumer is slow, not the broker.",
    decided_by="Two successive client snapshots show the queue above the client's `pullThresholdForQueue`, "
    "`pullThresholdSizeForQueue` or `consumeConcurrentlyMaxSpan` (unknown: `cached_messages`, `cached_mib`, "
    "`cached_span`). Limits per topic are divided among the client's queues. Messages and MiB for "
    "`stalled_after_seconds` (120, and three collection intervals). WARN.",
    causes={
        ThrottleCause.CACHED_MESSAGES: Cause("too many messages of the queue", _SLOWER),
        ThrottleCause.CACHED_SIZE: Cause(
            "too many MiB of the queue",
            f"{_SLOWER} If single messages are large, raise pullThresholdSizeForQueue.",
        ),
        ThrottleCause.CACHED_SPAN: Cause(
            "the oldest cached message is too far behind the newest",
            "One old message is not finished, newer ones are: the listener as a whole is not slow. Take a thread "
            "dump to see whether a listener call hangs: if so, restart the client, which consumes the messages "
            "behind the old one again.",
            commands=(THREAD_DUMP,),
        ),
    },
    evaluate=hits,
    needs=(CLIENT_SNAPSHOTS,),
)
