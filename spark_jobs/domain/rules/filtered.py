"""When a group with a filter has an offset that does not move, because no message of its own is there."""

from spark_jobs.domain.kernel.audited_step import AuditedStep, IntervalProgress
from spark_jobs.domain.kernel.client_spans import client_spans
from spark_jobs.domain.kernel.process_queues import process_queue
from spark_jobs.domain.kernel.verdicts import VerdictSpan
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.severities import INFO
from spark_jobs.domain.rules.rule import Cause

FILTERED = "FILTERED"
FILTERED_OUT = Cause(
    "the group filters, and its client snapshots show no sign that it hangs; or it has neither Java clients nor "
    "client snapshots (INFO)",
    "The waiting messages may all be ones that the group does not subscribe to. Clients such as rocketmq-client-go "
    "before its pull request 834 commit only when a message of theirs arrives: upgrade them. Record client snapshots "
    "to see whether the client pulls.",
    severity=INFO,
)
_JAVA = "JAVA"


def waits_for_others(step: AuditedStep, progress: IntervalProgress, span: VerdictSpan) -> bool:
    """Return whether the group may not subscribe to any message that waits: no owner of the queue seems to hang."""
    if not progress.is_filtered or progress.interval.allocation is None:
        return False
    queue = MessageQueue(progress.interval.topic, *progress.queues[span.place])
    languages = {member.client_id: member.language for member in progress.interval.members or ()}
    owners = progress.interval.allocation.owner_ids[span.place]
    return bool(owners) and all(_is_idle(step, owner, queue, span, languages.get(owner)) for owner in owners)


def _is_idle(step: AuditedStep, client_id: str, queue: MessageQueue, span: VerdictSpan, language: str | None) -> bool:
    """Return whether the client pulls the queue and has nothing of it. A Java client then commits what the broker
    skipped (`DefaultMQPushConsumerImpl.correctTagsOffset`): if its snapshots are unknown, its offset shows that it
    hangs.
    """
    client = step.history.clients.get(client_id)
    samples = process_queue(client, queue, span.start, span.end) if client else None
    if client is None or samples is None or not len(samples.times):
        return language is not None and language != _JAVA
    reports = [each.state for each in client_spans(step)[client_id] if each.start < span.end and span.start < each.end]
    pulls = all(report.reported.answered and queue not in report.symptoms.stale for report in reports)
    seen = client.series.inside(span.start, span.end)
    statuses = [
        status for each in client.samples.statuses[seen] for status in each or () if status.topic == queue.topic
    ]
    fails = any(status.consume_failed_tps for status in statuses)
    return pulls and not fails and bool((samples.cached_count == 0).mean() > 0.5)
