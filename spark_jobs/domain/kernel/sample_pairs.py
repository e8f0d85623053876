"""The samples of a topic alongside those before them: messages produced and consumed in between.

End offsets that fall say whether a topic was created again, or its broker has another part of the same messages.
Committed offsets that are beyond the end since belong to the topic's former life.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.kernel.matrices import Columns, at_rows, cut, latest_rows, previous_rows
from spark_jobs.domain.model.caching import cached_with_value
from spark_jobs.domain.model.history import RACE_MESSAGES, UNKNOWN, Mask, Matrix, Numbers, OffsetSamples
from spark_jobs.domain.model.window import MILLISECOND, SECOND

#: By how much the clocks of brokers and recorder may differ.
CLOCK_TOLERANCE = 60 * SECOND


class SamplePairs(NamedTuple):
    """Samples at some `rows` of a topic's, alongside the sample before each of them: matrices of snapshots × queues.

    `previous`: the row of the queue's sample before. `produced`, `forward` and `back`: messages since then, `UNKNOWN`
    where they are not known or, for the consumer's two directions, where it went the other way.
    """

    samples: OffsetSamples
    rows: slice
    times: Numbers
    previous: Matrix
    produced: Matrix
    forward: Matrix
    back: Matrix
    moved: Mask

    def part(self, rows: slice, columns: Columns) -> SamplePairs:
        """The pairs of these rows and queues."""
        own = slice(rows.start - self.rows.start, rows.stop - self.rows.start)
        return SamplePairs(self.samples, rows, self.times[own], *cut(self[3:], own, columns))


class _Compared(NamedTuple):
    """All samples of a topic compared with the one before, whatever the window. `growth` of the consumer offset."""

    previous: Matrix
    comparable: Mask
    produced: Matrix
    growth: Matrix
    moved: Mask
    fell: Mask
    beyond: Mask


@cached_with_value
def _compared(samples: OffsetSamples) -> _Compared:
    """Messages produced and consumed since the sample before; without ends, the committed offsets are compared."""
    end, committed, known = samples.end_offset, samples.consumer_offset, samples.consumed_to
    previous = previous_rows(samples.present)
    has_previous = previous >= 0
    end_before, known_before = at_rows(end, previous), at_rows(known, previous)
    has_end, had_end = end != UNKNOWN, end_before != UNKNOWN
    both_ends, no_ends = has_previous & has_end & had_end, has_previous & ~(has_end | had_end)
    fell = both_ends & (end < end_before)
    is_known, was_known = known != UNKNOWN, has_previous & (known_before != UNKNOWN)
    growth = committed - known_before  # where one of them is unknown nobody looks at it
    is_growth = was_known & (committed != UNKNOWN) & (is_known | (growth < 0))
    return _Compared(
        previous,
        both_ends & ~fell | no_ends,
        np.where(both_ends & ~fell, end - end_before, UNKNOWN),
        np.where(is_growth, growth, UNKNOWN),
        was_known & is_known & (known != known_before),
        fell,
        samples.present & (samples.beyond_end > RACE_MESSAGES),
    )


def sample_pairs(samples: OffsetSamples, seen: slice, lost: Mask | None = None) -> SamplePairs:
    """The samples at these rows: not compared across a topic created again, nor after an offset beyond the end. Where
    the broker has no offset (`lost`, of these rows) nothing went back; the next one is compared with the last before.
    """
    previous, comparable, produced, growth, moved, fell, beyond = cut(_compared(samples), seen)
    has_previous = previous >= seen.start
    comparable, produced = comparable & has_previous, np.where(has_previous, produced, UNKNOWN)
    if lost is not None:
        growth = _over_lost(samples, seen, lost, growth)
    is_fall, is_beyond = (fell & has_previous).any(), beyond.any()
    if is_fall:
        end, same_log = samples.end_offset[seen], np.zeros_like(fell)
        for row, column, returned in falls(samples, seen):
            same_log[row, column] = True
            if returned is not None:
                high = end[previous[row, column] - seen.start, column]
                produced[row:returned, column] = UNKNOWN
                produced[returned, column] = end[returned, column] - high
        comparable, beyond = comparable | same_log, beyond & ~np.maximum.accumulate(same_log, axis=0)
    forward, back = comparable & (growth >= 0), comparable & (growth < 0) & (growth != UNKNOWN)
    if is_beyond:
        known, rows = samples.consumed_to[seen], np.maximum(previous - seen.start, -1)
        # The committed offset of the sample is one that a sample showed beyond the end.
        since, last_beyond = latest_rows(has_previous & (known != at_rows(known, rows))), latest_rows(beyond)
        is_former = (last_beyond >= since) & (last_beyond >= 0)
        forward, back = forward & ~at_rows(beyond, rows), back & ~at_rows(is_former, rows)
        # No more is consumed than up to the end.
        rest = np.maximum(samples.end_offset[seen] - at_rows(known, rows), 0)
        growth = np.where(forward & beyond, np.minimum(growth, rest), growth)
    counted = (produced, np.where(forward, growth, UNKNOWN), np.where(back, -growth, UNKNOWN))
    return SamplePairs(samples, seen, samples.times[seen], previous, *counted, moved & has_previous)


def _over_lost(samples: OffsetSamples, seen: slice, lost: Mask, growth: Matrix) -> Matrix:
    """The growths without those to a lost offset; instead, by how much the next one is below the last before it."""
    known = samples.consumed_to[seen]
    before = previous_rows(samples.present[seen] & (known != UNKNOWN))
    is_back = (before >= 0) & (growth == UNKNOWN) & (latest_rows(lost) > before) & (known < at_rows(known, before))
    return np.where(lost, UNKNOWN, np.where(is_back, known - at_rows(known, before), growth))


def arrived(samples: OffsetSamples, seen: slice) -> Matrix:
    """Messages that came to each queue since the first of these rows, as far as is known, at each of them. A sample
    without an end is as none.
    """
    has_end = samples.present & (samples.end_offset != UNKNOWN)
    if (has_end != samples.present).any():
        samples = replace(samples, present=has_end)
    produced = sample_pairs(samples, seen).produced
    return np.where(produced != UNKNOWN, produced, 0).cumsum(axis=0)


def falls(samples: OffsetSamples, seen: slice) -> Iterator[tuple[int, int, int | None]]:
    """The falls of the end offset in an unchanged log, the last first: row and column of the sample that shows it, and
    the row of the one that shows the end where it was before, by a jump; None: it grew, or none does.

    The group's offset went back to a message stored before the fall, or the end comes back by half of the fall.
    """
    compared = _compared(samples)
    previous, end = compared.previous[seen] - seen.start, samples.end_offset[seen]
    # The last first: of falls before the end offset is back, the first one fell from the highest.
    for row, column in reversed(np.argwhere(compared.fell[seen] & (previous >= 0)).tolist()):
        returned = _return(end[:, column], previous[:, column], row)
        is_old = _is_old(samples, seen.start + row, seen.stop, column)
        if is_old or (is_old is None and returned is not None):
            yield row, column, returned


def _return(end: Matrix, previous: Matrix, row: int) -> int | None:
    """The sample of a queue that shows its end where it was before the fall, by a jump; None: it grew, or none does."""
    high = end[previous[row]]
    later = np.flatnonzero(end[row:] >= high)
    if not len(later):
        return None
    returned = row + int(later[0])
    last = end[previous[returned]]
    return returned if last != UNKNOWN and 2 * (end[returned] - last) >= high - end[row] else None


def _is_old(samples: OffsetSamples, row: int, stop: int, column: int) -> bool | None:
    """True if the group went back to a message from before the fall; None: it did not, or that is unknown."""
    before = _compared(samples).previous[row, column]
    consumed, stored = samples.consumed_to[row:stop, column], samples.last_timestamp[row:stop, column]
    is_back = (consumed > 0) & (stored > 0) & (consumed < samples.consumed_to[before, column])
    if not is_back.any():
        return None
    fell_after = int(samples.times[before]) - CLOCK_TOLERANCE
    return bool(stored[int(is_back.argmax())] * MILLISECOND < fell_after)
