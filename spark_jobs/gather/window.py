"""The time of one run."""

from __future__ import annotations

from dataclasses import dataclass

from spark_jobs.domain.intervals import Interval


@dataclass(frozen=True)
class RunWindow:
    """The steps that a run publishes, and the snapshots that it reads: with the look-back of its first step."""

    run: Interval
    read: Interval
