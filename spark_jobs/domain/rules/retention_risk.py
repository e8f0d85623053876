"""RETENTION_RISK: the broker deletes, or soon will, what the group has not consumed."""

from collections.abc import Iterator, Mapping

from spark_jobs.domain.diagnosis.absences import is_unused
from spark_jobs.domain.kernel.audited_step import AuditedStep, IntervalProgress
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.severities import ERROR, WARN
from spark_jobs.domain.rules.queue_owners import queue_at
from spark_jobs.domain.rules.rule import Cause, Rule
from spark_jobs.domain.status.time_left import QueueOffsets, seconds_left_by_age, waiting_offsets

AT_RISK = "AT_RISK"
#: Outcome of messages that are not consumed yet.
LOST, EXPIRING, AGED = "LOST", "EXPIRING", "AGED"


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (interval, lagging queue whose messages are lost or expire): by oldest offsets, or else by age; none of a
    group that is not used.
    """
    if is_unused(step, step.window.end):
        return
    thresholds = step.settings.thresholds
    for progress in step.progress:
        lagging = (progress.lag_last > thresholds.allowed_lag).nonzero()[0].tolist()
        by_age = seconds_left_by_age(progress, thresholds) <= thresholds.retention_seconds if lagging else ()
        for place in lagging:
            offsets = waiting_offsets(step, progress, place)
            cause = retention_cause(offsets, thresholds.retention_seconds) if offsets else None
            if offsets and cause:
                names = ("consumed_per_second", "consumer_offset", "deleted_per_second", "min_offset")
                measures: dict[str, float | None] = {name: getattr(offsets, name) for name in names}
                yield _hit(progress, place, cause, offsets.min_offset - offsets.consumer_offset, measures)
            elif by_age[place]:
                # The oldest waiting message may be as old as the broker keeps messages, or soon will be.
                age_ms = float(progress.age_ms[place])
                measures = {"oldest_message_seconds": age_ms / 1000, "reserved_seconds": thresholds.reserved_seconds}
                yield _hit(progress, place, AGED, age_ms, measures)


def retention_cause(queue: QueueOffsets, within_seconds: float) -> str | None:
    """The cause if a queue with a backlog lost messages, or will in the time at these rates; None: no, or unknown."""
    if queue.messages_left < 0:
        return LOST
    seconds = queue.seconds_left
    return EXPIRING if seconds is not None and seconds <= within_seconds else None


def _hit(
    progress: IntervalProgress, place: int, cause: str, weight: float, measures: Mapping[str, float | None]
) -> RuleHit:
    queue, view = queue_at(progress, place, AT_RISK), progress.interval.view
    time = progress.start, progress.end
    return RuleHit(*time, cause, queue.topic, view=view, queue=queue, weight=weight, measures=measures)


RULE = Rule(
    name="RETENTION_RISK",
    headline="Messages are deleted before {groups} can consume them",
    meaning="The broker deleted messages that the group had not consumed, or will do so soon.",
    decided_by="The lag of a queue is above `allowed_lag`.",
    causes={
        LOST: Cause(
            "the consumer offset is below the broker's oldest",
            "Send the deleted messages again from their source, and keep messages longer (fileReservedTime) until "
            "the group has caught up.",
            severity=ERROR,
        ),
        EXPIRING: Cause(
            "at the current rates it will be within `retention_seconds`",
            "Keep messages longer (fileReservedTime, disk space), or make the group consume faster, before they are "
            "deleted.",
            lasts="stalled_after_seconds",
        ),
        AGED: Cause(
            "the oldest waiting message reaches the age of `reserved_seconds` (72 hours, the default of "
            "`fileReservedTime`) within `retention_seconds`",
            "The broker will delete these messages at its next cleanup (deleteWhen, by default at 04:00). Keep "
            "messages longer (fileReservedTime). If your brokers keep them longer than 72 hours, set "
            "reserved_seconds.",
            lasts=0,
        ),
    },
    evaluate=hits,
    hit_severity=WARN,
)
