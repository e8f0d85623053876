"""Samples of offsets by hand, and what an interval's progress is by them; times in seconds after 10:00."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.kernel.audited_step import IntervalProgress, RebalanceInterval
from spark_jobs.domain.kernel.queue_measures import COLUMNS
from spark_jobs.domain.kernel.verdicts import VerdictSpan
from spark_jobs.domain.model.history import UNKNOWN, OffsetSamples, Place, TopicSamples
from spark_jobs.domain.model.window import SECOND
from tests.support.times import START, micros

#: What one sample says of one queue, None: unknown; no tuple at all: the snapshot has not the queue.
QueueSample = tuple[int | None, ...]
#: By time, per queue. As text `next to write/next to consume`, or `oldest/next to write`; `?` unknown, `-` not in it.
Rows = Mapping[Any, Sequence[str] | Sequence[QueueSample | None]]


def offsets(queues: Sequence[Place], rows: Rows) -> OffsetSamples:
    """By time, per queue: end offset, consumer offset, pull offset, last timestamp; of text the last two are the
    consumer offset, and 1 where that is known.
    """
    times, present, numbers = _matrices(queues, rows, 4)
    end, consumer, pull, timestamp = numbers
    return OffsetSamples(times, queues, end, consumer, pull, timestamp, present)


def oldest(queues: Sequence[Place], rows: Rows) -> TopicSamples:
    """By time, per queue: oldest offset, next one to write."""
    times, present, numbers = _matrices(queues, rows, 2)
    least, following = numbers
    return TopicSamples(times, queues, least, following, present)


def _matrices(
    queues: Sequence[Place], rows: Rows, width: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_], list[NDArray[np.int64]]]:
    cells = [[_sample(cell, width) for cell in row] for row in rows.values()]
    shape = (len(cells), len(queues))
    numbers = [[_numbers([(cell or (None,) * width)[n] for cell in row]) for row in cells] for n in range(width)]
    times = np.array([micros(seconds) for seconds in rows], dtype=np.int64)
    present = np.array([[cell is not None for cell in row] for row in cells], dtype=np.bool_)
    return times, present.reshape(shape), [np.array(matrix, dtype=np.int64).reshape(shape) for matrix in numbers]


def _sample(cell: str | QueueSample | None, width: int) -> QueueSample | None:
    if not isinstance(cell, str):
        return cell
    if cell == "-":
        return None
    first, _, second = cell.partition("/")
    numbers = [None if text == "?" else int(text) for text in (first, second or first)]
    return (*numbers, numbers[1], None if numbers[1] is None else 1)[:width]


def progress(
    of: RebalanceInterval,
    start: float | None = None,
    end: float | None = None,
    spans: Sequence[VerdictSpan] = (),
    verdicts: Sequence[str | None] | None = None,
    **columns: Sequence[int | None],
) -> IntervalProgress:
    """Progress of each queue of the whole interval, if no time is given. None: unknown, as all that is not named;
    columns that end in `_at` are seconds.
    """
    count = len(of.measured)
    arrays: dict[str, Any] = {name: _numbers([None] * count) for name in COLUMNS}
    for name, values in columns.items():
        assert name in arrays, name
        is_time = name.endswith("_at")
        arrays[name] = _numbers([micros(value) if is_time and value is not None else value for value in values])
    begins, ends = (of.start if start is None else micros(start)), (of.end if end is None else micros(end))
    return IntervalProgress(
        interval=of, start=begins, end=ends, verdicts=verdicts or [None] * count, spans=spans, **arrays
    )


def measured(
    of: RebalanceInterval, verdicts: Sequence[str | None] | None = None, **columns: Sequence[int | None]
) -> IntervalProgress:
    """The interval's progress inside the step: healthy and moving, if nothing else is given; a queue without samples
    where none of its lags is known.
    """
    count = len(of.measured)
    lags = [columns.get(name, [None] * count) for name in ("lag_first", "lag_last", "lag_max")]
    samples = [int(any(lag is not None for lag in of_queue)) for of_queue in zip(*lags, strict=True)]
    stuck = {name: [0] * count for name in COLUMNS if name.startswith("stuck")}
    begins = (max(of.start, START) - START) / SECOND
    known: dict[str, Any] = {"readings": samples, **stuck, **columns}
    return progress(of, begins, verdicts=verdicts or ["OK"] * count, **known)


def _numbers(values: Sequence[int | None]) -> NDArray[np.int64]:
    return np.array([UNKNOWN if value is None else value for value in values], dtype=np.int64)
