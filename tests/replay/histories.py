"""The histories of random fleets, step by step: what plain Python and Spark are both asked about."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

from spark_jobs.domain.intervals import Interval
from spark_jobs.domain.snapshots import GroupHistory, StepWindow
from spark_jobs.domain.timeline import RebalanceInterval, clip, rebalance_intervals
from tests.replay.configured import CADENCE, MAX_GAP, PERSISTENT_AFTER, STEP
from tests.replay.random_fleets import RUN, Fleet
from tests.replay.random_offsets import OffsetSnapshot


class Key(NamedTuple):
    """One history in one step; of a whole group, the topic is empty."""

    cluster: str
    group: str
    topic: str
    step: datetime


class Case:
    """One history in one step."""

    def __init__(self, key: Key, history: GroupHistory, offsets: tuple[OffsetSnapshot, ...]) -> None:
        self.key, self.history, self.offsets = key, history, offsets
        self.window = StepWindow(Interval(key.step, key.step + STEP), CADENCE, MAX_GAP, PERSISTENT_AFTER)

    @cached_property
    def intervals(self) -> list[RebalanceInterval]:
        """With the warm-up, by brute force."""
        return rebalance_intervals(self.history, self.window)

    @cached_property
    def clipped(self) -> list[RebalanceInterval]:
        """Inside the step."""
        return clip(self.intervals, self.window.step)


def cases(fleets: Iterable[Fleet]) -> list[Case]:
    """Every (group, topic, step) of the fleets."""
    steps = [RUN.start + number * STEP for number in range((RUN.end - RUN.start) // STEP)]
    return [
        Case(Key(fleet.cluster, group, topic, step), history, fleet.offsets[group, topic])
        for fleet in fleets
        for (group, topic), history in fleet.histories().items()
        for step in steps
    ]
