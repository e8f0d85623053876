"""The time that one audit step looks at, in microseconds since 1970 (UTC), as the kernel counts all time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from spark_jobs.domain.intervals import EPOCH
from spark_jobs.domain.mutes import Mute
from spark_jobs.domain.thresholds import Thresholds

SECOND = 1_000_000
MILLISECOND = 1_000
HOUR = 3600 * SECOND


def to_micros(moment: datetime) -> int:
    """A UTC time as microseconds since 1970."""
    return (moment - EPOCH) // timedelta(microseconds=1)


def from_micros(micros: int) -> datetime:
    """Microseconds since 1970 as a UTC time."""
    return EPOCH + timedelta(microseconds=micros)


@dataclass(frozen=True)
class AuditSettings:
    """What a configuration says to the kernel; lengths in microseconds.

    `step`: length of an audit step; `cadence`: time between two snapshots of the same thing; `max_gap`: how long a
    state holds without another snapshot; `thresholds` and `mutes`: those of one group; `sightings`: for how long before
    a step it counts that a thing was seen.
    """

    step: int
    cadence: int
    max_gap: int
    thresholds: Thresholds
    mutes: tuple[Mute, ...] = ()
    sightings: int = 0

    @property
    def warm_up(self) -> int:
        """How far before a step its states are replayed, so that what lasts is told from what is new: a persistent
        duplicate, and a verdict at the step's first reading, whose whole window lies before it.
        """
        readings = (self.thresholds.verdict_window_readings - 1) * self.cadence
        seconds = max(self.thresholds.persistent_after_seconds, self.thresholds.verdict_window_seconds)
        return max(seconds * SECOND, readings) + self.max_gap

    @property
    def look_back(self) -> int:
        """How far before a step snapshots are read: the warm-up, and the state that held when it began."""
        return self.warm_up + self.max_gap

    def window(self, step_start: int) -> StepWindow:
        """The window of the step that begins then."""
        return StepWindow(step_start - self.look_back, step_start - self.warm_up, step_start, step_start + self.step)


@dataclass(frozen=True)
class StepWindow:
    """A step publishes `[start, end)`. Its states are replayed from `observed_from` on, and it reads the snapshots of
    `[read_from, end)`; of those before it knows sightings only (`sightings.Sightings`).
    """

    read_from: int
    observed_from: int
    start: int
    end: int
