"""FLOW_CONTROLLED: a client holds as much of a queue as it may, and stops pulling until it has consumed some."""

from __future__ import annotations

from collections.abc import Iterator

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.client_spans import client_spans, symptoms
from spark_jobs.domain.model.clients import ThrottleCause, Throttled
from spark_jobs.domain.model.finding import FindingQueue, RuleHit
from spark_jobs.domain.model.severities import WARN
from spark_jobs.domain.model.thresholds import Thresholds
from spark_jobs.domain.rules import client_hung, slow_listener
from spark_jobs.domain.rules.roots import Follows, clients
from spark_jobs.domain.rules.rule import CLIENT_SNAPSHOTS, Cause, Rule

NAME = "FLOW_CONTROLLED"
THROTTLED = "THROTTLED"


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (client, span, queue at a limit); one condition per client, topic and limit.

    The measures are those of the queue that is furthest beyond its limit.
    """
    for client_id, spans in client_spans(step).items():
        throttled_spans = symptoms(spans, lambda report: report.symptoms.throttled, lambda throttled: throttled.queue)
        for start, end, _, throttled in throttled_spans:
            yield RuleHit(
                start,
                end,
                cause=throttled.cause.value,
                topic=throttled.queue.topic,
                client_id=client_id,
                queue=FindingQueue(*throttled.queue, THROTTLED),
                implicated=client_id,
                severity=WARN,
                weight=_beyond(throttled, step.settings.thresholds),
                measures={name: getattr(throttled, name) for name in ("cached_count", "cached_mib", "cached_span")},
            )


def _beyond(throttled: Throttled, thresholds: Thresholds) -> float | None:
    """The cached amount as a multiple of its limit; None: the limit is 0."""
    value, limit = {
        ThrottleCause.CACHED_MESSAGES: (throttled.cached_count, thresholds.cached_messages),
        ThrottleCause.CACHED_SIZE: (throttled.cached_mib, thresholds.cached_mib),
        ThrottleCause.CACHED_SPAN: (throttled.cached_span, thresholds.cached_span),
    }[throttled.cause]
    return value / limit if value is not None and limit else None


_SLOWER = "The consumer is slow, not the broker: make the listener faster or give it more threads."

RULE = Rule(
    name=NAME,
    headline="{subjects} in {groups} {subjects:has|have} reached {subjects:its cache limit|their cache limits} and "
    "{subjects:stops|stop} pulling",
    meaning="A client has cached so many messages of a queue that it stops pulling (flow control): the consumer is "
    "slow, not the broker. One finding per client, topic and limit. Measures of the worst queue: "
    "`cached_count` (messages), `cached_mib` (MiB), `cached_span` (offsets from the oldest to the newest).",
    decided_by="two successive snapshots of the client show the queue above a limit: `cached_messages` (1000), "
    "`cached_mib` (100) or, for concurrent consumers, `cached_span` (2000). These are the client's "
    "defaults; configure them if your clients set `pullThresholdForQueue`, `pullThresholdSizeForQueue` or "
    "`consumeConcurrentlyMaxSpan`. WARN.",
    causes={
        ThrottleCause.CACHED_MESSAGES: Cause("the client has cached more messages than `cached_messages`", _SLOWER),
        ThrottleCause.CACHED_SIZE: Cause(
            "the client has cached more MiB than `cached_mib`",
            f"{_SLOWER} If single messages are large, raise pullThresholdSizeForQueue.",
        ),
        ThrottleCause.CACHED_SPAN: Cause(
            "the oldest cached message is more than `cached_span` behind the newest",
            "The listener has not finished one old message, while newer ones are done. Look for a listener call that "
            "hangs.",
        ),
    },
    example="`legacy-import`: the slow consumer `10.31.83.1@…` has cached more than 200 messages of each of its two "
    "queues from 02:06:16 on (the recorded clients set `pullThresholdForQueue` to 200, and so does "
    "`examples/demo.yaml`).",
    hits=hits,
    needs=(CLIENT_SNAPSHOTS,),
    follows=(
        Follows(client_hung.NAME, clients),
        Follows(slow_listener.NAME, clients),
    ),
)
