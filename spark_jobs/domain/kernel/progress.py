"""What the offset readings say of every queue, interval by interval: how much came in and went out, and what is left.

Readings are matrices of snapshots × queues. What lies between two readings is computed once for a step, and then summed
for each interval; what came in and went out between two readings belongs to the later one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.kernel.audited_step import IntervalProgress, RebalanceInterval
from spark_jobs.domain.kernel.reading_windows import ReadingPairs, ReadingWindows, age_ms, reading_pairs
from spark_jobs.domain.kernel.verdicts import VerdictWindows
from spark_jobs.domain.model.history import UNKNOWN, Matrix, OffsetReadings, Place
from spark_jobs.domain.model.statuses import LagQuality
from spark_jobs.domain.model.window import AuditSettings, StepWindow

#: Of queues: since when they have had their owners, microseconds.
_Since = dict[Place, int]


def lag_qualities(progress: IntervalProgress) -> NDArray[np.str_]:
    """One per queue, by its last reading."""
    unknown = np.where(progress.readings > 0, LagQuality.NEVER_COMMITTED.value, LagQuality.NO_READING.value)
    known = LagQuality.UNFILTERED if progress.is_filtered else LagQuality.MEASURED
    return np.where(progress.lag_last != UNKNOWN, known.value, unknown)


def one_at_a_time(of_topic: Sequence[RebalanceInterval], since: int) -> Iterator[tuple[RebalanceInterval, int, int]]:
    """The intervals of one topic since then, without overlaps, each with its start and end.

    Where views differ, a moment belongs to the interval that began last, of those that began together to a replayed
    one, of those to the first view, and to none once that one is over.
    """
    inside = [(max(interval.start, since), interval) for interval in of_topic if interval.end > since]
    inside.sort(key=lambda each: (each[0], each[1].allocation is None, each[1].view))
    first = [each for place, each in enumerate(inside) if place == 0 or inside[place - 1][0] < each[0]]
    for place, (start, interval) in enumerate(first):
        following = first[place + 1][0] if place + 1 < len(first) else interval.end
        yield interval, start, min(following, interval.end)


def topic_progress(
    of_topic: Sequence[RebalanceInterval],
    readings: OffsetReadings | None,
    window: StepWindow,
    settings: AuditSettings,
    *,
    is_filtered: bool = False,
) -> list[IntervalProgress]:
    """One per interval of a topic inside the step whose queues are measured (`RebalanceInterval.measured`);
    `is_filtered`: the group subscribes only some of its messages.

    The last reading before the step is looked at too, if it is no older than a state holds without another: what came
    in between belongs to the step. Windows of verdicts reach back further, to where the queue got its owners.
    """
    asked = [each for each in one_at_a_time(of_topic, window.start) if each[0].measured]
    if not asked:
        return []
    pairs = reading_pairs(readings, readings.inside(window.start - settings.max_gap, window.end)) if readings else None
    owned_since = _owned_since(one_at_a_time(of_topic, window.observed_from))
    return [
        _of_interval(
            interval,
            start,
            end,
            pairs,
            owned_since.get((interval.start, interval.view), {}),
            settings,
            is_filtered=is_filtered,
        )
        for interval, start, end in asked
    ]


def _owned_since(of_topic: Iterable[tuple[RebalanceInterval, int, int]]) -> Mapping[tuple[int, str], _Since]:
    """By start and view of an interval: which of its queues had the same owners in the interval right before it, and
    since when, in microseconds.
    """
    found: dict[tuple[int, str], _Since] = {}
    before: RebalanceInterval | None = None
    before_end, since = 0, _Since()
    for interval, start, end in of_topic:
        if interval.allocation and before and before.allocation and before_end == start:
            owners = dict(zip(before.allocation.queues, before.allocation.owner_ids, strict=True))
            since = {
                queue: since.get(queue, before.start)
                for queue, ids in zip(interval.allocation.queues, interval.allocation.owner_ids, strict=True)
                if owners.get(queue) == ids
            }
        else:
            since = {}
        found[interval.start, interval.view] = since
        before, before_end = interval, end
    return found


def _of_interval(
    interval: RebalanceInterval,
    start: int,
    end: int,
    pairs: ReadingPairs | None,
    owned_since: _Since,
    settings: AuditSettings,
    *,
    is_filtered: bool,
) -> IntervalProgress:
    queues = interval.measured
    measured: dict[str, Any] = dict(zip(_MEASURES, np.full((len(_MEASURES), len(queues)), UNKNOWN), strict=True))
    measured |= zip(_COUNTS, np.zeros((len(_COUNTS), len(queues)), np.int64), strict=True)
    measured |= {"verdicts": [None] * len(queues), "spans": []}
    if pairs is not None:
        _measure(measured, interval, pairs, start, end, owned_since, settings)
    return IntervalProgress(interval=interval, start=start, end=end, is_filtered=is_filtered, **measured)


_MEASURES = (
    *("last_reading_at", "consumer_offset", "produced", "consumed", "rewinds", "rewound", "rewound_max", "rewound_at"),
    *("moved_at", "lag_first", "lag_last", "lag_max", "age_ms"),
)
_COUNTS = ("readings", "stuck_growth", "stuck_produced", "stuck_time")


def _measure(
    measured: dict[str, Any],
    interval: RebalanceInterval,
    pairs: ReadingPairs,
    start: int,
    end: int,
    owned_since: _Since,
    settings: AuditSettings,
) -> None:
    """Fills in what the readings of `[start, end)` say of the interval's queues."""
    first, behind = pairs.times.searchsorted((start, end)).tolist()
    columns = pairs.readings.columns
    read = [(place, columns[queue]) for place, queue in enumerate(interval.measured) if queue in columns]
    if first == behind or not read:
        return
    places, taken = (np.array(part, dtype=np.int64) for part in zip(*read, strict=True))
    of_interval = _Interval(pairs, first, behind, taken)
    since = np.array([owned_since.get(interval.measured[place], interval.start) for place in places], dtype=np.int64)
    windows = VerdictWindows(
        ReadingWindows(pairs.readings, taken, since=since, start=start, end=end, settings=settings)
    )
    measured["spans"] = windows.spans(places.tolist())
    found = of_interval.measures()
    for place, verdict, is_known in zip(places, windows.worst(), found["lag_last"] != UNKNOWN, strict=True):
        measured["verdicts"][place] = verdict if is_known else None
    if measured["spans"]:
        found["stuck_growth"] = windows.stuck_growth()
        found["stuck_produced"] = of_interval.produced_where(windows.stuck)
        found["stuck_time"] = windows.stuck_time()
    for name, values in found.items():
        measured[name][places] = values


class _Interval:
    """The readings of one interval, of the columns asked for."""

    def __init__(self, pairs: ReadingPairs, first: int, behind: int, columns: NDArray[np.int64]) -> None:
        def of(matrix: NDArray[Any]) -> NDArray[Any]:
            rows = matrix[first:behind]
            return rows if in_order else rows[:, columns]

        in_order = np.array_equal(columns, np.arange(pairs.present.shape[1]))

        self._times = pairs.times[first:behind]
        self._present, self._consumed_to, self._lag = of(pairs.present), of(pairs.consumed_to), of(pairs.lag)
        self._last_timestamp = of(pairs.last_timestamp)
        self._produced, self._forward, self._back = of(pairs.produced), of(pairs.forward), of(pairs.back)
        same_interval = of(pairs.previous) >= first
        self._moved = of(pairs.moved) & same_interval

    def produced_where(self, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Messages, per column, that came in between these readings and the ones before them, as far as is known."""
        return np.asarray(np.where(chosen & (self._produced != UNKNOWN), self._produced, 0).sum(axis=0))

    def measures(self) -> dict[str, Any]:
        """The fields of `IntervalProgress` that are no verdicts, per column: first and last are readings, known or
        not, so that a lag once known does not stand for a time in which nobody knows it.
        """
        was_read = np.asarray(self._present.any(axis=0))
        first, last = _first_true(self._present), _last_true(self._present)
        consumer_offset = _pick(self._consumed_to, last, was_read)
        last_at = np.where(consumer_offset != UNKNOWN, self._times[last], UNKNOWN)
        moved_at = np.where(self._moved.any(axis=0), self._times[_last_true(self._moved)], UNKNOWN)
        lag_last = _pick(self._lag, last, was_read)
        return {
            "readings": self._present.sum(axis=0),
            "last_reading_at": last_at,
            "consumer_offset": consumer_offset,
            "produced": _sum(self._produced),
            "consumed": _sum(self._forward),
            "moved_at": moved_at,
            "lag_first": _pick(self._lag, first, was_read),
            "lag_last": lag_last,
            "lag_max": _max(self._lag),
            "age_ms": age_ms(last_at, _pick(self._last_timestamp, last, was_read), lag_last),
        } | self._rewinds()

    def _rewinds(self) -> dict[str, NDArray[np.int64]]:
        """How often and how far the offset went back; of equal rewinds the last one's time."""
        went_back = self._back != UNKNOWN
        rewinds, compared = went_back.sum(axis=0), (went_back | (self._forward != UNKNOWN)).any(axis=0)
        found = {"rewinds": np.where(compared, rewinds, UNKNOWN)}
        if went_back.any():  # else all that follows is unknown
            greatest = len(self._back) - 1 - np.argmax(self._back[::-1], axis=0)
            found |= {
                "rewound": _sum(self._back),
                "rewound_max": _max(self._back),
                "rewound_at": np.where(rewinds > 0, self._times[greatest], UNKNOWN),
            }
        return found


def _first_true(mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    return np.asarray(np.argmax(mask, axis=0), dtype=np.int64)


def _last_true(mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    return len(mask) - 1 - _first_true(mask[::-1])


def _pick(matrix: Matrix, rows: NDArray[np.int64], where: NDArray[np.bool_]) -> NDArray[np.int64]:
    return np.where(where, matrix[rows, np.arange(len(rows))], UNKNOWN)


def _sum(matrix: Matrix) -> NDArray[np.int64]:
    """Sum of what is known; unknown where nothing is."""
    is_known = matrix != UNKNOWN
    if is_known.all():  # as mostly
        return np.asarray(matrix.sum(axis=0))
    return np.where(is_known.any(axis=0), np.where(is_known, matrix, 0).sum(axis=0), UNKNOWN)


def _max(matrix: Matrix) -> NDArray[np.int64]:
    """The greatest known one; `UNKNOWN` is less than any."""
    return np.asarray(matrix.max(axis=0))
