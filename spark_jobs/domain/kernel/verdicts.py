"""The verdict of a queue: LinkedIn Burrow's rules over its samples in one window, first match wins.

A window ends at each sample with a known lag. It is the shortest run that spans `verdict_window_seconds` and has
`verdict_window_readings`, since the queue got its owners, without a gap. A queue without a whole window has one of all
samples up to its last, two at least.

A broker does not report when an offset was committed, so a commit is a sample that shows another offset. A consumer
that moved and then stopped committing is STOP, one that was never seen to move is STALL.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.kernel.matrices import Columns, age_ms, at_rows, greatest_since, latest_rows, previous_rows
from spark_jobs.domain.model.history import UNKNOWN, Mask, Matrix, Numbers, OffsetSamples
from spark_jobs.domain.model.statuses import Verdict
from spark_jobs.domain.model.window import SECOND, AuditSettings

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


class Extents(NamedTuple):
    """The extent of the window that ends at each sample, as rows (-1: none).

    `before`: the queue's known sample before each; `run`: where the samples without a gap begin that each belongs to;
    `counted`: how many known samples there are up to each; `in_order`: per column its known samples, in the order of
    time, before all others; `firsts`: the first sample of the window that ends at each.
    """

    before: Matrix
    run: Matrix
    counted: Matrix
    in_order: Matrix
    firsts: Matrix


class VerdictWindows:
    """The verdicts of one interval's queues. Matrices are the snapshots until `end` × the columns asked for, each with
    samples from its `since` on; windows end at samples from `start` on, which is the row `first_row`. `is_filtered`:
    the offsets move by what a broker scans at a time, so that a lag that grows falls now and then.
    """

    def __init__(
        self,
        samples: OffsetSamples,
        columns: Columns,
        *,
        since: Numbers,
        start: int,
        end: int,
        settings: AuditSettings,
        is_filtered: bool,
    ) -> None:
        self.is_filtered = is_filtered
        self._samples, self._rows, self._columns = samples, samples.inside(int(since.min()), end), columns
        self.since, self.start, self.end, self.settings = since, start, end, settings
        self.times = samples.times[self._rows]
        self.first_row = int(self.times.searchsorted(start))
        self.lag = self._chosen(samples.lag)
        self.known = (self.lag != UNKNOWN) & (self.times[:, None] >= since)
        self.row = np.arange(len(self.times))[:, None]

    def _chosen(self, matrix: Matrix) -> Matrix:
        return matrix[self._rows, self._columns]

    @cached_property
    def offset(self) -> Matrix:
        """The consumer offsets."""
        return self._chosen(self._samples.consumed_to)

    @cached_property
    def stored(self) -> Matrix:
        """The store times of the last consumed messages, milliseconds."""
        return self._chosen(self._samples.last_timestamp)

    @cached_property
    def extents(self) -> Extents:
        """The extents of all windows. Where no sample is missing, as mostly, one column stands for all."""
        extents = self._extents(self.known[:, :1] if self.known.all() else self.known)
        return Extents(*(np.broadcast_to(matrix, self.known.shape) for matrix in extents))

    @property
    def any_ends(self) -> Mask:
        """Per column, whether it has a window. Two samples are one, where none is missing and there is no gap."""
        if self.known.all() and (self.times[1:] - self.times[:-1] <= self.settings.max_gap).all():
            return np.full(len(self.since), len(self.times) > 1)
        return np.asarray((self.extents.firsts >= 0).any(axis=0))

    def _extents(self, known: Mask) -> Extents:
        latest, before = latest_rows(known), previous_rows(known)
        lasting = self.times[:, None] - self.times[np.maximum(before, 0)]
        # No window reaches beyond the first known sample, and those after a gap.
        run = latest_rows(known & ((before < 0) | (lasting > self.settings.max_gap)))
        counted: Matrix = np.cumsum(known, axis=0)
        in_order = np.argsort(~known, axis=0, kind="stable")
        firsts = self._with_short_ones(self._full_window_starts(known, latest, run, counted, in_order), latest, run)
        return Extents(before, run, counted, in_order, firsts)

    def _full_window_starts(
        self, known: Mask, latest: Matrix, run: Matrix, counted: Matrix, in_order: Matrix
    ) -> Matrix:
        """The first sample of the whole window that ends at each sample; -1: it has none."""
        thresholds = self.settings.thresholds
        reaches = self.times.searchsorted(self.times - thresholds.verdict_window_seconds * SECOND, "right") - 1
        by_time = np.where(reaches[:, None] >= 0, latest[np.maximum(reaches, 0)], -1)
        number = counted - thresholds.verdict_window_readings
        by_count = np.where(number >= 0, at_rows(in_order, number), -1)
        first = np.minimum(by_time, by_count)
        window_starts = np.where(known & (first >= run), first, -1)
        window_starts[: self.first_row] = -1
        return window_starts

    def _with_short_ones(self, window_starts: Matrix, latest: Matrix, run: Matrix) -> Matrix:
        """The first samples, where a column without a whole window gets one: all samples up to its last known one."""
        last, column = latest[-1], np.arange(window_starts.shape[1])
        begins = run[last, column]
        short = np.flatnonzero((window_starts < 0).all(axis=0) & (last >= self.first_row) & (begins < last))
        window_starts[last[short], short] = begins[short]
        return window_starts

    @cached_property
    def _exceeds(self) -> bool:
        """Return whether any lag is not allowed: if not, as mostly, all windows are OK."""
        return bool((self.lag[self.first_row :] > self.settings.thresholds.allowed_lag).any())

    def worst(self) -> list[Verdict | None]:
        """Per column the worst verdict of its windows; None: it has none."""
        if not self._exceeds:
            return [Verdict.OK if ends else None for ends in self.any_ends.tolist()]
        codes = self._codes.min(axis=0, initial=NO_VERDICT).tolist()
        return [None if worst == NO_VERDICT else VERDICTS[worst] for worst in codes]

    def spans(self, places: Sequence[int]) -> list[VerdictSpan]:
        """The spans of all columns, by column and time; `places`: of the columns' queues."""
        if not self._exceeds:
            return []
        return [
            VerdictSpan(
                places[column],
                VERDICTS[self._codes[first, column]],
                self._start_of(since, column),
                self._end_of(last, column),
                int(self.lag[since, column]),
                int(self.lag[last, column]),
                int(age_ms(self.times[last], self.stored[last, column], self.lag[last, column])),
            )
            for column, since, first, last in zip(*(part.tolist() for part in self._span_rows), strict=True)
        ]

    @cached_property
    def stuck(self) -> Mask:
        """From the first row on: whether what lies between a snapshot and the one before it is inside a span."""
        column, since, _, last = self._span_rows
        rows, columns = self.known.shape
        change = np.zeros((rows + 1, columns), dtype=np.int64)
        np.add.at(change, (since + 1, column), 1)
        np.add.at(change, (last + 1, column), -1)
        return np.asarray(np.cumsum(change, axis=0)[self.first_row : -1] > 0)

    def stuck_growth(self) -> Numbers:
        """Per column: messages by which the lag grew inside the spans, between samples from the first row on."""
        growth = self.lag - at_rows(self.lag, self.extents.before)
        is_counted = self.known & (self.extents.before >= self.first_row)
        rows = slice(self.first_row, None)
        return np.asarray(np.where(self.stuck & is_counted[rows], growth[rows], 0).sum(axis=0))

    def stuck_time(self) -> Numbers:
        """Per column: microseconds between samples inside the spans, from the windows' start on."""
        lasting = np.diff(self.times[self.first_row :], prepend=self.start)
        return np.asarray(np.where(self.stuck, lasting[:, None], 0).sum(axis=0))

    def _last_known(self, mask: Mask) -> Matrix:
        """The last sample with a known lag, up to each, at which this holds."""
        return latest_rows(self.known & mask)

    @cached_property
    def _last_moved(self) -> Matrix:
        """The last sample up to each that shows another offset than the one before."""
        offset = self.offset
        return self._last_known(offset != at_rows(offset, self.extents.before))

    @cached_property
    def _last_fell(self) -> Matrix:
        """The last sample up to each that shows a smaller lag than the one before."""
        lag = self.lag
        return self._last_known(lag < at_rows(lag, self.extents.before))

    @cached_property
    def _last_allowed(self) -> Matrix:
        return self._last_known(self.lag <= self.settings.thresholds.allowed_lag)

    @cached_property
    def _last_at_zero(self) -> Matrix:
        return self._last_known(self.lag == 0)

    @cached_property
    def _codes(self) -> Numbers:
        """The verdict of the window that ends at each sample, as its code: that of the first condition that holds."""
        first = self.extents.firsts
        moved_at = self.times[np.maximum(self._last_moved, 0)]
        # From the window's first sample to the last move, which may be before the window, and since then.
        moving, standing = moved_at - self.times[np.maximum(first, 0)], self.times[:, None] - moved_at
        has_stopped = (self._last_moved > self.extents.run) & (standing > moving)
        conditions = [
            (self._last_allowed == self.row, Verdict.OK),
            (has_stopped & (self._last_at_zero < first), Verdict.STOP),
            (self.offset < self._greatest_offset(), Verdict.REWIND),
            (self._last_allowed >= first, Verdict.OK),
            (self._last_moved <= first, Verdict.STALL),
            ((self._last_fell <= first) | (self.is_filtered and self._grows), Verdict.WARN),
            (np.True_, Verdict.OK),
        ]
        codes = np.select([holds for holds, _ in conditions], [np.int64(code(verdict)) for _, verdict in conditions])
        return np.where(first >= 0, codes, NO_VERDICT)

    @property
    def _grows(self) -> Mask:
        """A mask of windows in which the lag grew between most samples, and in all by more than it fell between."""
        before, first, counted = self.extents.before, self.extents.firsts, self.extents.counted
        change = np.where(self.known & (before >= 0), self.lag - at_rows(self.lag, before), 0)
        rises, fallen = np.cumsum(change > 0, axis=0), np.cumsum(np.maximum(-change, 0), axis=0)
        most = 2 * (rises - at_rows(rises, first)) > counted - at_rows(counted, first)
        grown = self.lag - at_rows(self.lag, first)
        return np.asarray(most & (grown > fallen - at_rows(fallen, first)))

    def _greatest_offset(self) -> Matrix:
        """The greatest consumer offset of each window; looked for in the columns where one went back only."""
        before, first = self.extents.before, self.extents.firsts
        offset = np.where(self.known, self.offset, UNKNOWN)
        went_back = (self.known & (before >= 0) & (offset < at_rows(offset, before))).any(axis=0)
        offset[:, went_back] = greatest_since(offset[:, went_back], np.maximum(first[:, went_back], 0))
        return offset

    @cached_property
    def _since(self) -> Matrix:
        """Per sample, the row where its verdict's condition begins: the last sample that showed otherwise."""
        is_stop, is_warn = (self._codes == code(verdict) for verdict in (Verdict.STOP, Verdict.WARN))
        otherwise = np.where(is_stop, np.maximum(self._last_at_zero, self._last_moved), self._last_allowed)
        fell = np.minimum(self._last_fell, self.extents.firsts)
        otherwise = np.where(is_warn, np.maximum(otherwise, fell), otherwise)
        return np.maximum(otherwise, self.extents.run)

    @cached_property
    def _span_rows(self) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        """Per span: column, row where it begins, and rows of the first and the last sample with its verdict."""
        codes = self._codes
        is_stuck = _IS_STUCK[codes]
        if not is_stuck.any():
            nothing = np.empty(0, dtype=np.int64)
            return nothing, nothing, nothing, nothing
        begins = is_stuck & (at_rows(codes, self.extents.before) != codes)  # the first after a gap has none
        column, row = np.nonzero(is_stuck.T)
        starts = np.flatnonzero(begins.T[column, row])
        lasts = np.append(starts[1:], len(row)) - 1
        first, column = row[starts], column[starts]
        return column, self._since[first, column], first, row[lasts]

    def _start_of(self, row: int, column: int) -> int:
        """The first sample stands for the beginning of the queue's ownership, unless that is a gap before."""
        at, since = int(self.times[row]), int(self.since[column])
        is_first = self.extents.before[row, column] < 0 and at - since <= self.settings.max_gap
        return since if is_first else at

    def _end_of(self, row: int, column: int) -> int:
        """A sample holds until the queue's next one, but no longer than a gap."""
        number, count = self.extents.counted[row, column], self.extents.counted[-1, column]
        until = int(self.times[self.extents.in_order[number, column]]) if number < count else self.end
        return min(until, int(self.times[row]) + self.settings.max_gap)
