"""How long a queue that changed hands stood still in the recording."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from spark_jobs.domain.audited_step import AuditedStep, RebalanceInterval
from spark_jobs.domain.history import OffsetReadings


def hand_over_pause(steps: Sequence[AuditedStep]) -> int | None:
    """Microseconds: the median; None: of no queue that was handed over it is known.

    From the rebalance to the last reading before the queue moved, if messages waited in it all that time; 0 where it
    moved between the first two readings.
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
        if place is not None:
            offsets, lag = readings.consumed_to[rows, place], readings.lag[rows, place]
            moved = np.flatnonzero(np.diff(offsets))
            if len(moved) and (lag[: moved[0] + 1] > 0).all():
                yield int(times[moved[0]] - interval.start) if moved[0] else 0
