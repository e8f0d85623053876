"""CLOCK_DIFFERS and LONG_PULL_INTERVAL: clients whose last pulls look old, although they do not hang."""

from collections.abc import Iterator

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.client_spans import client_spans, spans_showing
from spark_jobs.domain.kernel.process_queues import clock_behind_ms
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.severities import INFO
from spark_jobs.domain.rules.rule import CLIENT_SNAPSHOTS, Cause, Rule

CLOCK_BEHIND, ABOVE_IDLE_LIMIT = "CLOCK_BEHIND", "ABOVE_IDLE_LIMIT"


def _clock_hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One hit per client whose clock is behind by more than `pull_idle_seconds`, for the time of its snapshots."""
    idle_ms = step.settings.thresholds.pull_idle_seconds * 1000
    for client_id, client in step.history.clients.items():
        late_ms = clock_behind_ms(client, step.window, idle_ms)
        spans = client_spans(step)[client_id] if late_ms > idle_ms else ()
        if spans:
            time = spans[0].start, spans[-1].end
            yield _hit(*time, CLOCK_BEHIND, client_id, {"clock_behind_seconds": late_ms / 1000})


def _interval_hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One hit per (client, span in which it reports such an interval)."""
    idle_ms = step.settings.thresholds.pull_idle_seconds * 1000
    showing = spans_showing(step, lambda report: (report.pull_interval_ms or 0) > idle_ms)
    for client_id, spans in showing.items():
        for span in spans:
            interval_ms = span.state.pull_interval_ms
            if interval_ms is not None and interval_ms > idle_ms:
                yield _hit(span.start, span.end, ABOVE_IDLE_LIMIT, client_id, {"pull_interval_ms": interval_ms})


def _hit(start: int, end: int, cause: str, client_id: str, measures: dict[str, float]) -> RuleHit:
    return RuleHit(start, end, cause, client_id=client_id, implicated=client_id, measures=measures)


CLOCK_DIFFERS = Rule(
    name="CLOCK_DIFFERS",
    headline="{subjects:The clock of|The clocks of} {subjects} in {groups} {subjects:is|are} behind",
    meaning="The client's clock is behind the recorder's by at least `clock_behind_seconds`. Only times in the "
    "client's log differ: RocketMQ does not need equal clocks.",
    decided_by="A queue's last pull advances between two snapshots, but is older than the time between them by more "
    "than `pull_idle_seconds`.",
    causes={
        CLOCK_BEHIND: Cause(
            "always",
            "Set the clock of the client's host (NTP). Until then subtract the difference when you compare its log.",
        )
    },
    evaluate=_clock_hits,
    hit_severity=INFO,
    lasts=0,
    needs=(CLIENT_SNAPSHOTS,),
)
LONG_PULL_INTERVAL = Rule(
    name="LONG_PULL_INTERVAL",
    headline="{subjects} in {groups} {subjects:pulls|pull} seldom, as {subjects:its|their} pullInterval says",
    meaning="The client's pull interval is longer than a queue may be idle. So its rebalance drops the queue and "
    "takes it again, and it pulls one batch about every `pull_idle_seconds`.",
    decided_by="Its `pullInterval` is above `pull_idle_seconds` (120). Source: ProcessQueue.isPullExpired.",
    causes={
        ABOVE_IDLE_LIMIT: Cause(
            "always",
            "Set pullInterval to less than two minutes. To consume slowly, limit the rate in the listener, or lower "
            "consumeThreadMin and pullBatchSize.",
        )
    },
    evaluate=_interval_hits,
    hit_severity=INFO,
    lasts=0,
    needs=(CLIENT_SNAPSHOTS,),
)
