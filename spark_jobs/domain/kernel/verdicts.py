"""The verdict of a queue: LinkedIn Burrow's rules over its samples in one window, first match wins.

A broker does not report when an offset was committed, so a commit is a sample that shows another offset. A consumer
that moved and then stopped committing is STOP, one that was never seen to move is STALL.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.kernel.sample_windows import SampleWindows, age_ms, at_rows, greatest_since, latest_rows
from spark_jobs.domain.model.history import UNKNOWN, Mask, Matrix, Numbers
from spark_jobs.domain.model.statuses import Verdict

VERDICTS = tuple(Verdict)
#: The code of a sample at which nothing can be said; greater than that of any verdict.
NO_VERDICT = len(VERDICTS)
#: Verdicts that say an owner does not do its work.
STUCK = (Verdict.STOP, Verdict.STALL, Verdict.WARN)


def code(verdict: Verdict) -> int:
    """Its place in `VERDICTS`: the least code is the worst verdict."""
    return VERDICTS.index(verdict)


#: By code.
_IS_STUCK = np.array([*(verdict in STUCK for verdict in VERDICTS), False])


class VerdictSpan(NamedTuple):
    """A maximal span `[start, end)` in which a queue is stuck and every window has this verdict; microseconds.

    `place`: of the queue in its interval's list. It begins where the verdict's condition does, possibly before the
    step, and ends with the first sample that shows otherwise, the interval, or a gap. `lag_first`, `lag_last`:
    messages at its first and last sample; `age_ms`: of the last consumed message, or `UNKNOWN`.
    """

    place: int
    verdict: Verdict
    start: int
    end: int
    lag_first: int
    lag_last: int
    age_ms: int


class VerdictWindows:
    """The verdicts of one interval's queues by its sample windows; matrices and columns are those of the windows."""

    def __init__(self, windows: SampleWindows) -> None:
        self._windows = windows

    @cached_property
    def _exceeds(self) -> bool:
        """Return whether any lag is not allowed: if not, as mostly, all windows are OK."""
        windows = self._windows
        return bool((windows.lag[windows.first_row :] > windows.settings.thresholds.allowed_lag).any())

    def worst(self) -> list[Verdict | None]:
        """Per column the worst verdict of its windows; None: it has none."""
        if not self._exceeds:
            return [Verdict.OK if ends else None for ends in self._windows.any_ends.tolist()]
        codes = self._codes.min(axis=0, initial=NO_VERDICT).tolist()
        return [None if worst == NO_VERDICT else VERDICTS[worst] for worst in codes]

    def spans(self, places: Sequence[int]) -> list[VerdictSpan]:
        """The spans of all columns, by column and time; `places`: of the columns' queues."""
        windows = self._windows
        if not self._exceeds:
            return []
        return [
            VerdictSpan(
                places[column],
                VERDICTS[self._codes[first, column]],
                self._start_of(since, column),
                self._end_of(last, column),
                int(windows.lag[since, column]),
                int(windows.lag[last, column]),
                int(age_ms(windows.times[last], windows.stored[last, column], windows.lag[last, column])),
            )
            for column, since, first, last in zip(*(part.tolist() for part in self._span_rows), strict=True)
        ]

    @cached_property
    def stuck(self) -> Mask:
        """From the first row on: whether what lies between a snapshot and the one before it is inside a span."""
        column, since, _, last = self._span_rows
        rows, columns = self._windows.known.shape
        change = np.zeros((rows + 1, columns), dtype=np.int64)
        np.add.at(change, (since + 1, column), 1)
        np.add.at(change, (last + 1, column), -1)
        return np.asarray(np.cumsum(change, axis=0)[self._windows.first_row : -1] > 0)

    def stuck_growth(self) -> Numbers:
        """Per column: messages by which the lag grew inside the spans, between samples from the first row on."""
        windows = self._windows
        growth = windows.lag - at_rows(windows.lag, windows.extents.before)
        is_counted = windows.known & (windows.extents.before >= windows.first_row)
        rows = slice(windows.first_row, None)
        return np.asarray(np.where(self.stuck & is_counted[rows], growth[rows], 0).sum(axis=0))

    def stuck_time(self) -> Numbers:
        """Per column: microseconds between samples inside the spans, from the windows' start on."""
        lasting = np.diff(self._windows.times[self._windows.first_row :], prepend=self._windows.start)
        return np.asarray(np.where(self.stuck, lasting[:, None], 0).sum(axis=0))

    def _last_known(self, mask: Mask) -> Matrix:
        """The last sample with a known lag, up to each, at which this holds."""
        return latest_rows(self._windows.known & mask)

    @cached_property
    def _last_moved(self) -> Matrix:
        """The last sample up to each that shows another offset than the one before."""
        offset = self._windows.offset
        return self._last_known(offset != at_rows(offset, self._windows.extents.before))

    @cached_property
    def _last_fell(self) -> Matrix:
        """The last sample up to each that shows a smaller lag than the one before."""
        lag = self._windows.lag
        return self._last_known(lag < at_rows(lag, self._windows.extents.before))

    @cached_property
    def _last_allowed(self) -> Matrix:
        return self._last_known(self._windows.lag <= self._windows.settings.thresholds.allowed_lag)

    @cached_property
    def _last_at_zero(self) -> Matrix:
        return self._last_known(self._windows.lag == 0)

    @cached_property
    def _codes(self) -> Numbers:
        """The verdict of the window that ends at each sample, as its code: that of the first condition that holds."""
        windows, first = self._windows, self._windows.extents.firsts
        moved_at = windows.times[np.maximum(self._last_moved, 0)]
        # From the window's first sample to the last move, which may be before the window, and since then.
        moving, standing = moved_at - windows.times[np.maximum(first, 0)], windows.times[:, None] - moved_at
        has_stopped = (self._last_moved > windows.extents.run) & (standing > moving)
        conditions = [
            (self._last_allowed == windows.row, Verdict.OK),
            (has_stopped & (self._last_at_zero < first), Verdict.STOP),
            (windows.offset < self._greatest_offset(), Verdict.REWIND),
            (self._last_allowed >= first, Verdict.OK),
            (self._last_moved <= first, Verdict.STALL),
            (self._last_fell <= first, Verdict.WARN),
            (np.True_, Verdict.OK),
        ]
        codes = np.select([holds for holds, _ in conditions], [np.int64(code(verdict)) for _, verdict in conditions])
        return np.where(first >= 0, codes, NO_VERDICT)

    def _greatest_offset(self) -> Matrix:
        """The greatest consumer offset of each window; looked for in the columns where one went back only."""
        windows, before, first = self._windows, self._windows.extents.before, self._windows.extents.firsts
        offset = np.where(windows.known, windows.offset, UNKNOWN)
        went_back = (windows.known & (before >= 0) & (offset < at_rows(offset, before))).any(axis=0)
        offset[:, went_back] = greatest_since(offset[:, went_back], np.maximum(first[:, went_back], 0))
        return offset

    @cached_property
    def _since(self) -> Matrix:
        """Per sample, the row where its verdict's condition begins: the last sample that showed otherwise."""
        is_stop, is_warn = (self._codes == code(verdict) for verdict in (Verdict.STOP, Verdict.WARN))
        otherwise = np.where(is_stop, np.maximum(self._last_at_zero, self._last_moved), self._last_allowed)
        otherwise = np.where(is_warn, np.maximum(otherwise, self._last_fell), otherwise)
        return np.maximum(otherwise, self._windows.extents.run)

    @cached_property
    def _span_rows(self) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        """Per span: column, row where it begins, and rows of the first and the last sample with its verdict."""
        codes = self._codes
        is_stuck = _IS_STUCK[codes]
        if not is_stuck.any():
            nothing = np.empty(0, dtype=np.int64)
            return nothing, nothing, nothing, nothing
        begins = is_stuck & (at_rows(codes, self._windows.extents.before) != codes)  # the first after a gap has none
        column, row = np.nonzero(is_stuck.T)
        starts = np.flatnonzero(begins.T[column, row])
        lasts = np.append(starts[1:], len(row)) - 1
        first, column = row[starts], column[starts]
        return column, self._since[first, column], first, row[lasts]

    def _start_of(self, row: int, column: int) -> int:
        """The first sample stands for the beginning of the queue's ownership, unless that is a gap before."""
        windows = self._windows
        at, since = int(windows.times[row]), int(windows.since[column])
        is_first = windows.extents.before[row, column] < 0 and at - since <= windows.settings.max_gap
        return since if is_first else at

    def _end_of(self, row: int, column: int) -> int:
        """A sample holds until the queue's next one, but no longer than a gap."""
        windows = self._windows
        number, count = windows.extents.counted[row, column], windows.extents.counted[-1, column]
        until = int(windows.times[windows.extents.in_order[number, column]]) if number < count else windows.end
        return min(until, int(windows.times[row]) + windows.settings.max_gap)
