"""When something rose: the time in a step that accounts for what is too much over all of it."""

from collections.abc import Iterable
from typing import Literal

import numpy as np

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.sample_pairs import sample_pairs
from spark_jobs.domain.model.history import UNKNOWN, Numbers
from spark_jobs.domain.model.window import Time
from spark_jobs.domain.status.lagging_queues import greatest_rise


def moments(step: AuditedStep, topics: Iterable[str]) -> Numbers:
    """The times of the topics' offset samples in the step and up to `max_gap` before, in microseconds, ascending."""
    offsets = (step.history.offsets[topic] for topic in topics if topic in step.history.offsets)
    times = (samples.times[samples.of_step(step.window, step.settings.max_gap)] for samples in offsets)
    return np.unique(np.concatenate([np.empty(0, np.int64), *times]))


def counted(step: AuditedStep, topics: Iterable[str], of: Literal["produced", "forward"], at: Numbers) -> Numbers:
    """Messages produced to (or consumed from: `forward`) all queues of the topics up to each moment `at`."""
    total = np.zeros(len(at))
    for samples in (step.history.offsets[topic] for topic in topics if topic in step.history.offsets):
        pairs = sample_pairs(samples, samples.of_step(step.window, step.settings.max_gap))
        messages = getattr(pairs, of)
        if len(pairs.times):
            total += np.interp(at, pairs.times, np.where(messages != UNKNOWN, messages, 0).sum(axis=1).cumsum())
    return np.asarray(np.rint(total), dtype=np.int64)


def rising_time(at: Numbers, amount: Numbers, excess: Numbers, least: int, chance: int) -> Time | None:
    """The time of the greatest rise of `excess`, by which an `amount` is above its limit; both are totals at `at`
    (microseconds). None: there are not two moments. Without a fall of `least` for `chance` microseconds before (or
    after) it, the time begins with the first growth of the amount (or ends with the last moment).
    """
    if len(at) < 2:
        return None
    bottom, top = greatest_rise(excess)
    if excess[: bottom + 1].max() - excess[bottom] < least and at[bottom] - at[0] < chance:
        grown = np.flatnonzero(np.diff(amount) > 0)
        bottom = int(grown[0]) if len(grown) else 0
    if excess[top] - excess[-1] < least and at[-1] - at[top] < chance:
        top = len(at) - 1
    return int(at[bottom]), int(at[top])
