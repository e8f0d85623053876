"""LONG_PULL_INTERVAL: a client waits longer between two pulls of a queue than a queue may be idle."""

from collections.abc import Iterator

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.client_spans import spans_showing
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.severities import INFO
from spark_jobs.domain.rules.rule import CLIENT_SNAPSHOTS, Cause, Rule

ABOVE_IDLE_LIMIT = "ABOVE_IDLE_LIMIT"


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One hit per (client, span in which it reports such an interval)."""
    limit = step.settings.thresholds.pull_idle_seconds * 1000
    for client_id, spans in spans_showing(step, lambda report: (report.reported.pull_interval_ms or 0) > limit).items():
        for span in spans:
            interval_ms = span.state.reported.pull_interval_ms
            if interval_ms is not None and interval_ms > limit:
                time, measures = (span.start, span.end), {"pull_interval_ms": interval_ms}
                yield RuleHit(*time, ABOVE_IDLE_LIMIT, client_id=client_id, implicated=client_id, measures=measures)


RULE = Rule(
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
    evaluate=hits,
    hit_severity=INFO,
    lasts=0,
    needs=(CLIENT_SNAPSHOTS,),
)
