"""Every audit step sees exactly the snapshots of its own window, so that no cut of a run changes a result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.domain.intervals import Interval

Transformation = Callable[[DataFrame], DataFrame]


@dataclass(frozen=True)
class StepWindow:
    """The time an audit step looks at.

    A step publishes `[step_start, step_end)`. It measures how long a condition has stood from `warm_up` before, and
    needs snapshots from `look_back` = warm_up + max_gap before, to know the state at that time.
    """

    run: Interval
    step: timedelta
    warm_up: timedelta
    look_back: timedelta

    @property
    def read(self) -> Interval:
        """The snapshots that a run reads: its steps and the first step's look-back."""
        return Interval(self.run.start - self.look_back, self.run.end)

    @property
    def step_end(self) -> Column:
        """End of the step of a row."""
        return F.col("step_start") + duration(self.step)

    @property
    def observed_from(self) -> Column:
        """Where the intervals of a row's step begin: its start less the warm-up."""
        return F.col("step_start") - duration(self.warm_up)


def duration(length: timedelta) -> Column:
    """A day-time interval literal."""
    return F.lit(length)


def seconds_between(start: Column | str, end: Column | str) -> Column:
    """Seconds from one timestamp to another, with their fraction."""
    return (F.unix_micros(end) - F.unix_micros(start)) / 1_000_000


def step_of(moment: Column | str, step: timedelta) -> Column:
    """Start of the audit step that holds a moment (`domain.intervals.StepGrid.floor`)."""
    seconds = int(step.total_seconds())
    return F.timestamp_seconds(F.floor(F.unix_seconds(moment) / seconds) * seconds)


def with_step(window: StepWindow) -> Transformation:
    """One row per (snapshot, step whose window holds it): a snapshot shortly before a step is in its look-back too."""

    def transform(snapshots: DataFrame) -> DataFrame:
        captured_at = F.col("captured_at")
        first, last = (step_of(at, window.step) for at in (captured_at, captured_at + duration(window.look_back)))
        steps = F.sequence(first, last, duration(window.step))
        return snapshots.withColumn("step_start", F.explode(steps)).where(
            (F.col("step_start") >= F.lit(window.run.start)) & (F.col("step_start") < F.lit(window.run.end))
        )

    return transform
