"""Committed offsets that are beyond the end of their queue: they belong to a former life of the topic.

A broker keeps a group's offsets when a topic is deleted. A client that starts when the new end is above the old offset
skips all messages below (`PullMessageProcessor` corrects only offsets beyond the end).
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.kernel.audited_step import Switch
from spark_jobs.domain.kernel.sample_pairs import falls
from spark_jobs.domain.model.caching import cached_with_value
from spark_jobs.domain.model.history import RACE_MESSAGES, UNKNOWN, Mask, OffsetSamples, Place
from spark_jobs.domain.model.series import Timed
from spark_jobs.domain.model.window import AuditSettings, StepWindow


class FormerOffset(NamedTuple):
    """A committed offset that two samples at least showed beyond the end of its queue, by `beyond` messages at most,
    while `produced` messages came.

    `start`: the first sample that did; `end`: the first one that shows another offset (`to`), or until when the last
    one holds (`to` None); microseconds. `is_ahead`: it went there from within the queue, whose end did not fall.
    """

    queue: Place
    start: int
    end: int
    offset: int
    beyond: int
    produced: int
    to: int | None
    is_ahead: bool


def former_offsets(
    samples: OffsetSamples, switches: Sequence[Switch], window: StepWindow, settings: AuditSettings
) -> Iterator[FormerOffset]:
    """One per queue and offset that samples show beyond the end by more than `rewind_tolerance`.

    An end that is low because another process serves the broker, or that jumps back, is of the same messages.
    """
    far = max(settings.thresholds.rewind_tolerance, RACE_MESSAGES)
    if not _beyond_at(samples, far).any_inside(window.read_from, window.end):  # as mostly
        return
    seen = samples.inside(window.read_from, window.end)
    is_beyond = samples.beyond_end[seen] > far
    unchanged = [(row, column) for row, column, _ in falls(samples, seen)]
    for column in np.flatnonzero(is_beyond.sum(axis=0) >= 2).tolist():
        queue = samples.queues[column]
        for offset in _standing(samples, seen, column, is_beyond[:, column], (window.end, settings.max_gap)):
            until = samples.times[seen].searchsorted(offset.end)
            is_same_log = any(row < until and of_queue == column for row, of_queue in unchanged)
            if not is_same_log and not any(_explains(switch, queue, offset.start, settings) for switch in switches):
                yield offset


@cached_with_value
def _beyond_at(samples: OffsetSamples, messages: int) -> Timed:
    """The samples that show an offset by more messages beyond the end of its queue."""
    return samples.showing(samples.beyond_end > messages)


def _standing(
    samples: OffsetSamples, seen: slice, column: int, is_beyond: Mask, holds: tuple[int, int]
) -> Iterator[FormerOffset]:
    """A queue's offsets that two samples show beyond the end; the last holds until, and as long as, `holds`."""
    known = np.flatnonzero(samples.consumed_to[seen, column] != UNKNOWN)
    times, offsets, beyond = samples.times[seen][known], samples.consumed_to[seen, column][known], is_beyond[known]
    firsts = np.append(0, np.flatnonzero(np.diff(offsets)) + 1)
    for run in np.flatnonzero(np.add.reduceat(beyond, firsts, dtype=np.int64) >= 2).tolist():
        first = int(firsts[run])
        after = int(firsts[run + 1]) if run + 1 < len(firsts) else None
        shown = first + np.flatnonzero(beyond[first:after])
        ends = samples.end_offset[seen, column][known[shown]]
        yield FormerOffset(
            samples.queues[column],
            int(times[shown[0]]),
            min(int(times[-1]) + holds[1], holds[0]) if after is None else int(times[after]),
            int(offsets[first]),
            int(samples.beyond_end[seen, column][known[shown]].max()),
            int(ends[-1] - ends[0]),
            None if after is None else int(offsets[after]),
            bool(first and shown[0] == first and _is_ahead(samples, seen, column, known[first - 1], known[first])),
        )


def _is_ahead(samples: OffsetSamples, seen: slice, column: int, before: int, first: int) -> bool:
    """Return whether the offset was within the queue at the sample before, and the end has not fallen since."""
    end = samples.end_offset[seen, column]
    within = samples.consumed_to[seen, column][before] <= end[before] + RACE_MESSAGES
    return bool(within and UNKNOWN < end[before] <= end[first])


def _explains(switch: Switch, queue: Place, start: int, settings: AuditSettings) -> bool:
    """Return True if another process served the queue's broker from about the first sample on."""
    is_near = switch.before - settings.max_gap <= start <= switch.at + settings.max_gap
    return bool(switch.broker_name == queue[0] and switch.old and switch.new and is_near)
