"""First commits of queues that a group did not consume before, at or beyond the end that they had then."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from spark_jobs.domain.kernel.offset_jumps import Jump
from spark_jobs.domain.kernel.unconsumed import unconsumed
from spark_jobs.domain.model.history import UNKNOWN, OffsetReadings
from spark_jobs.domain.model.window import AuditSettings, Time

#: The queue's first step is so many times the furthest one of the topic's other queues.
_FURTHER = 2


def first_commits_at_end(readings: OffsetReadings, time: Time, settings: AuditSettings) -> Iterator[Jump]:
    """The jumps over what came into queues without a commit for `stalled_after_seconds`, by more than
    `rewind_tolerance` messages and twice as far as any other queue of the topic moved meanwhile. The group had
    committed offsets of other queues before: a new group may begin where it likes.
    """
    consumed = readings.consumed_to
    for span in unconsumed(readings, time, settings, settings.thresholds.stalled_after_seconds):
        before, at = (int(np.searchsorted(readings.times, moment)) for moment in (span.seen_at, span.end))
        if span.is_committed or not span.others_commit or at >= len(readings.times) or readings.times[at] != span.end:
            continue
        column = readings.columns[span.queue]
        to, end = int(consumed[at, column]), int(readings.end_offset[before, column])
        known = (consumed[before] != UNKNOWN) & (consumed[at] != UNKNOWN)
        furthest = int((consumed[at] - consumed[before])[known].max(initial=0))
        if known.any() and to >= end and span.produced > max(settings.thresholds.rewind_tolerance, _FURTHER * furthest):
            since = end - span.produced
            waiting = int((readings.lag[before] > settings.thresholds.allowed_lag).sum())
            yield Jump(span.queue, span.seen_at, span.end, since, to, span.produced, span.start, 0.0, waiting)
