"""What was seen before a step's window, for days back: hour by hour, when a thing was seen first and last."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.window import HOUR, AuditSettings, StepWindow

Times = NDArray[np.int64]


@dataclass(frozen=True)
class Sightings:
    """The hours in which one thing was seen, in order; of each the first and last time, microseconds since 1970."""

    first: Times
    last: Times

    @classmethod
    def of(cls, times: Times) -> Sightings:
        """From times at which it was seen, in any order: of each hour at least the first and the last one."""
        times = np.sort(times)
        hours = times // HOUR
        is_first = np.diff(hours, prepend=hours[:1] - 1) > 0
        is_last = np.diff(hours, append=hours[-1:] + 1) > 0
        return cls(times[is_first], times[is_last])

    def last_hour(self, start: int, end: int) -> int | None:
        """Start of the last hour that has a sighting in `[start, end)`; None: no hour has.

        What came in the hour's rest plays no part, so a step is told the same whenever it is audited. It is exact for
        times that are an hour apart or more.
        """
        behind = int(np.searchsorted(self.first, end))
        if not behind:
            return None
        first, last = int(self.first[behind - 1]), int(self.last[behind - 1])
        return first - first % HOUR if first >= start or start <= last < end else None


#: Of what was never seen.
NEVER = Sightings(np.empty(0, np.int64), np.empty(0, np.int64))


def last_hour_before(seen: Sightings, window: StepWindow, settings: AuditSettings) -> int | None:
    """Start of the last hour in which it was seen before the step's window, but no longer ago than sightings count."""
    return seen.last_hour(window.start - settings.sightings, window.read_from)
