"""What the rules about consumers that do not get on share: queues that have an owner, and one verdict."""

from __future__ import annotations

from collections.abc import Iterator

from spark_jobs.domain.audited_step import AuditedStep, IntervalProgress
from spark_jobs.domain.rules.progress_queues import allocation_of, number, queue_at
from spark_jobs.domain.rules.rule import RuleHit
from spark_jobs.domain.verdicts import Verdict

BEHIND = "BEHIND"
EXAMPLE = (
    "nothing: every queue that stood still had no owner, and the slow consumer of `legacy-import` catches up a little "
    "now and then."
)
DECIDED_BY = (
    "verdict {} of `queue_progress` (Burrow's rules over the readings of one interval, with `allowed_lag`), on queues "
    "that have an owner, for `stalled_after_seconds`. The measures are those of the queue with the greatest lag."
)


def hits_behind(
    step: AuditedStep, found: Verdict, severity: str, cause: str, *, since_moved: bool = False
) -> Iterator[RuleHit]:
    """One hit per (interval, queue with an owner and this verdict, client that owns it); one condition per topic.

    For the whole interval, or since the last reading that showed it moving. Queues without an owner stand still too:
    that is UNASSIGNED_QUEUE. The measures are the worst queue's.
    """
    for progress in step.progress:
        if found in progress.verdicts:
            for place in [place for place, verdict in enumerate(progress.verdicts) if verdict == found]:
                start = int(progress.moved_at[place]) if since_moved else progress.start
                yield from _of_queue(step, progress, place, start, severity, cause)


def _of_queue(
    step: AuditedStep, progress: IntervalProgress, place: int, start: int, severity: str, cause: str
) -> Iterator[RuleHit]:
    lag_last = number(progress.lag_last, place)
    measures = {
        "age_ms": number(progress.age_ms, place),
        "lag_first": number(progress.lag_first, place),
        "lag_last": lag_last,
    }
    for client_id in allocation_of(progress).owner_ids[place]:
        yield RuleHit(
            start,
            progress.end,
            cause=cause,
            topic=progress.interval.topic,
            view=progress.interval.view,
            queue=queue_at(progress, place, BEHIND),
            implicated=client_id,
            minimum_seconds=float(step.settings.thresholds.stalled_after_seconds),
            severity=severity,
            weight=lag_last,
            measures=measures,
        )
