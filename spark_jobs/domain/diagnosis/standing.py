"""Queues whose offset stands while messages wait, each under one set of owners."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.kernel.audited_step import AuditedStep, RebalanceInterval
from spark_jobs.domain.kernel.offset_facts import Unconsumed, unconsumed
from spark_jobs.domain.kernel.progress import OwnTime, without_overlaps
from spark_jobs.domain.model.caching import cached_with_value
from spark_jobs.domain.model.history import UNKNOWN, OffsetSamples, Place
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.window import SECOND, common, islands

#: A queue stands if samples show it for so many seconds and collection intervals, whichever is longer.
_SECONDS, _SNAPSHOTS = 60, 3


class Standing(NamedTuple):
    """A time `[start, end)` (microseconds) in which a queue stands under the same `owners`; empty: they are not known.

    `seen_at`: the last sample that shows it. `interval`: the last of that time. `span`: all of the time in which the
    queue stands; `owned_seconds`: how much of it samples show while the queue has any owner. `has_moved`: the offset
    moved before, under these owners. `lag_first`, `lag_last`: messages that wait at its first and last sample;
    `stored`: store time of the last consumed message, milliseconds, or `UNKNOWN`.
    """

    queue: MessageQueue
    start: int
    seen_at: int
    end: int
    owners: tuple[str, ...]
    interval: RebalanceInterval
    span: Unconsumed
    owned_seconds: float
    has_moved: bool
    lag_first: int
    lag_last: int
    stored: int

    @property
    def seconds(self) -> float:
        """For how long samples show it."""
        return (self.seen_at - self.start) / SECOND


def standing_seconds(step: AuditedStep) -> int:
    """The seconds from which on a queue stands."""
    return max(_SECONDS, _SNAPSHOTS * step.settings.cadence // SECOND)


@cached_with_value
def standing_queues(step: AuditedStep) -> Sequence[Standing]:
    """The queues that stand in a step and its warm-up, by topic, queue and time."""
    return [each for topic in step.history.offsets for each in _of_topic(step, topic)]


def _of_topic(step: AuditedStep, topic: str) -> Iterator[Standing]:
    samples, window, seconds = step.history.offsets[topic], step.window, standing_seconds(step)
    spans = unconsumed(samples, (window.read_from, window.end), step.settings.max_gap, seconds)
    if spans:
        intervals = [interval for interval in step.intervals if interval.topic == topic]
        times = list(without_overlaps(intervals, window.observed_from))
        for span in spans:
            yield from _of_span(topic, samples, span, times, seconds)


def _of_span(
    topic: str, samples: OffsetSamples, span: Unconsumed, times: Sequence[OwnTime], seconds: int
) -> Iterator[Standing]:
    own = [time for time in times if _owners(time.interval, span.queue) is not None]
    for island in islands(own):
        owned = common((span.start, span.seen_at), (island[0].start, island[-1].end))
        if owned is None or owned[1] - owned[0] < seconds * SECOND:
            continue
        for owners, run in groupby(island, lambda time: _owners(time.interval, span.queue)):
            run_times = list(run)
            part = common((span.start, span.end), (run_times[0].start, run_times[-1].end))
            if part is None:
                continue
            seen_at = min(part[1], span.seen_at)
            interval = next(time.interval for time in reversed(run_times) if time.start < part[1])
            yield Standing(
                MessageQueue(topic, *span.queue),
                *(part[0], seen_at, part[1], () if interval.allocation is None else owners or (), interval, span),
                (owned[1] - owned[0]) / SECOND,
                _has_moved(samples, span, run_times[0].start),
                *_measures(samples, span.queue, part[0], seen_at),
            )


def _owners(interval: RebalanceInterval, queue: Place) -> tuple[str, ...] | None:
    """The owners of a queue or, where they are not known, the reason; None: it has none, or no known offset."""
    place = None if interval.unreadable else interval.places.get(queue)
    if place is None:
        return None
    if interval.allocation is None:
        return (str(interval.reason),)
    return interval.allocation.owner_ids[place] or None


def _has_moved(samples: OffsetSamples, span: Unconsumed, since: int) -> bool:
    before = samples.consumed_to[samples.inside(since, span.start + 1), samples.columns[span.queue]]
    known = before[before != UNKNOWN]
    return bool(len(known) and (known != known[0]).any())


def _measures(samples: OffsetSamples, queue: Place, start: int, seen_at: int) -> tuple[int, int, int]:
    """The lags at the first and the last sample, and the store time of the last consumed message."""
    seen, column = samples.inside(start, seen_at + 1), samples.columns[queue]
    lag, stored = samples.lag[seen, column], samples.last_timestamp[seen, column]
    known = np.flatnonzero(lag != UNKNOWN)
    if not len(known):
        return UNKNOWN, UNKNOWN, UNKNOWN
    return int(lag[known[0]]), int(lag[known[-1]]), int(stored[known[-1]])
