"""Shared by the rules about consumers that make no progress: hits of owned queues that have one verdict."""

from __future__ import annotations

from collections.abc import Iterator

from spark_jobs.domain.kernel.audited_step import AuditedStep, IntervalProgress
from spark_jobs.domain.kernel.verdicts import VerdictSpan
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.history import UNKNOWN
from spark_jobs.domain.model.severities import INFO
from spark_jobs.domain.model.statuses import Verdict
from spark_jobs.domain.rules import (
    broker_not_readable,
    client_hung,
    consume_failing,
    duplicate_client_id,
    ghost_member,
    group_offline,
    near_capacity,
    orderly_lock_missing,
    priority,
    producer_skew,
    slow_listener,
)
from spark_jobs.domain.rules.queue_owners import queue_at
from spark_jobs.domain.rules.roots import Follows, clients, everything, queues

BEHIND = "BEHIND"
EXAMPLE = "none: every queue without progress had no owner."
#: A queue stands still or falls behind because of its owner, or because of what its broker gets or cannot give.
FOLLOWS = (
    Follows(group_offline.NAME, everything),
    Follows(ghost_member.NAME, queues),
    Follows(client_hung.NAME, queues),
    Follows(broker_not_readable.NAME, queues),
    Follows(duplicate_client_id.NAME, clients),
    Follows(orderly_lock_missing.NAME, queues),
    Follows(consume_failing.NAME, clients),
    Follows(slow_listener.NAME, clients),
    Follows(producer_skew.NAME, queues),
    Follows(near_capacity.NAME, clients),
)
DECIDED_BY = (
    "verdict {} of a sliding window (Burrow's rules over the readings of `verdict_window_seconds`, and at least "
    "`verdict_window_readings` of them, with `allowed_lag`) at each reading, for `stalled_after_seconds`; for queues "
    "that have an owner, or whose owner is unknown (POP, behind a proxy, not replayable), in which case the finding "
    "names no owner. A window begins after the queue got its owner, possibly before the step, and spans no gap; an "
    "owner that came too lately for a window is judged by all its readings, at the interval's end. The finding begins "
    "with the last reading that showed otherwise before, and ends with the first one that does after. The measures are "
    "those of the queue with the greatest lag."
)


def hits_behind(
    step: AuditedStep, verdict: Verdict, severity: str, cause: str, least_growth: int | None = None
) -> Iterator[RuleHit]:
    """One hit per (interval, span with this verdict of a queue with an owner, client that owns it); one condition per
    topic and cause. Queues without an owner stand still too: that is UNASSIGNED_QUEUE. Where owners are not known,
    nobody is named. `least_growth`: messages by which the lag must have grown in the span.
    """
    for progress in step.progress:
        for span in progress.spans:
            has_grown = least_growth is None or span.lag_last - span.lag_first >= least_growth
            if span.verdict == verdict and has_grown:
                starved = verdict != Verdict.WARN and priority.is_starved(step, progress, span)
                severity_and_cause = (INFO, priority.STARVATION) if starved else (severity, cause)
                yield from _span_hits(step, progress, span, *severity_and_cause)


def _span_hits(
    step: AuditedStep, progress: IntervalProgress, span: VerdictSpan, severity: str, cause: str
) -> Iterator[RuleHit]:
    measures = {
        "age_ms": None if span.age_ms == UNKNOWN else span.age_ms,
        "lag_first": span.lag_first,
        "lag_last": span.lag_last,
    }
    for client_id in progress.owner_ids(span.place):
        yield RuleHit(
            span.start,
            span.end,
            cause=cause,
            topic=progress.interval.topic,
            queue=queue_at(progress, span.place, BEHIND),
            implicated=client_id,
            minimum_seconds=step.settings.thresholds.stalled_after_seconds,
            severity=severity,
            weight=span.lag_last,
            measures=measures,
        )
