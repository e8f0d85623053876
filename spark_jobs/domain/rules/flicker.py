"""Findings of a client that flicker: between two of them, none of its queues makes progress."""

from __future__ import annotations

from collections.abc import Sequence

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.window import SECOND


def stood(step: AuditedStep, hits: Sequence[RuleHit], start: int, end: int) -> bool:
    """Return whether the hits are about one client, and no queue of theirs was consumed from `start` to `end`
    (microseconds, `verdict_window_seconds` at most) while messages waited in one.
    """
    if hits[0].client_id is None or end - start > step.settings.thresholds.verdict_window_seconds * SECOND:
        return False
    waits = False
    queues = {hit.queue[:3] for hit in hits if hit.queue is not None}
    for topic, places in by_key(queues, lambda queue: queue[0]).items():
        readings = step.history.offsets.get(topic)
        columns = [readings.columns[queue[1:]] for queue in places if queue[1:] in readings.columns] if readings else []
        if readings is None or not columns:
            continue
        between = readings.inside(start - step.settings.cadence, end + 1)
        consumed_to, lag = readings.consumed_to[between][:, columns], readings.lag[between][:, columns]
        if (consumed_to != consumed_to[:1]).any():
            return False
        waits |= bool((lag[-1:] > 0).any())
    return waits
