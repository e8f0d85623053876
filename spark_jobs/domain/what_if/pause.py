"""How long a queue that changed hands stood still in the recording."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from spark_jobs.domain.audited_step import AuditedStep, RebalanceInterval
from spark_jobs.domain.history import UNKNOWN, OffsetReadings


def hand_over_pause(steps: Sequence[AuditedStep]) -> int | None:
    """Microseconds: the median; None: no hand-over was recorded.

    From the rebalance to the last reading that does not show the queue moved, of queues that moved before the next.
    """
    stood = [
        one
        for step in steps
        for rebalance in step.rebalances
        if (readings := step.history.offsets.get(rebalance.interval.topic))
        for one in _stood(readings, rebalance.interval)
    ]
    return int(np.median(stood)) if stood else None


def _stood(readings: OffsetReadings, interval: RebalanceInterval) -> Iterator[int]:
    """Of each queue that the interval's beginning handed over."""
    rows = readings.inside(interval.start, interval.end)
    times = readings.times[rows]
    for queue in interval.moves.handed_over if interval.moves else ():
        place = readings.columns.get(queue)
        if place is None or rows.start == 0 or rows.start == rows.stop:
            continue
        offsets = readings.consumed_to[rows.start - 1 : rows.stop, place]
        moved = np.flatnonzero((offsets[1:] != offsets[0]) & (offsets[1:] != UNKNOWN))
        if offsets[0] != UNKNOWN and len(moved):
            yield int(times[moved[0] - 1] - interval.start) if moved[0] else 0
