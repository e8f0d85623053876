"""What the offset readings of one queue in one interval say: how much came in and went out, and what is left."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from tests.oracle.snapshots import OffsetSnapshot, StepWindow
from tests.oracle.timeline import RebalanceInterval, Status
from tests.oracle.verdicts import Limits, Reading, moved_at, spans


class QueueReading(NamedTuple):
    """One look at a queue: microseconds, next offset to write, to consume, store time (ms) of the last consumed one."""

    at: int
    end_offset: int | None
    consumer_offset: int | None
    last_timestamp: int | None

    @property
    def consumed_to(self) -> int | None:
        """Next offset to consume; None where the group never committed, though there is something."""
        if self.consumer_offset == 0 and self.end_offset == 0:
            return 0
        return self.consumer_offset if self.consumer_offset or self.last_timestamp else None

    @property
    def lag(self) -> int | None:
        """Messages; the two offsets are read one after the other, so a negative difference is none."""
        if self.end_offset is None or self.consumed_to is None:
            return None
        return max(self.end_offset - self.consumed_to, 0)


class Progress(NamedTuple):
    """The measures of `queue_progress`, in messages and microseconds."""

    readings: int
    last_reading_at: int | None
    consumer_offset: int | None
    produced: int | None
    consumed: int | None
    rewinds: int | None
    rewound: int | None
    rewound_max: int | None
    rewound_at: int | None
    moved_at: int | None
    lag_first: int | None
    lag_last: int | None
    lag_max: int | None
    age_ms: int | None
    stuck_growth: int
    stuck_produced: int
    stuck_time: int
    verdict: str | None


def progress(
    readings: Sequence[QueueReading],
    before: QueueReading | None,
    whole: Sequence[QueueReading],
    start: int,
    limits: Limits,
) -> Progress:
    """What the readings of one interval say, in the order of time, from `start` on.

    `before`: the queue's last reading before them. What came in and went out between two readings belongs to the later
    one; what moved is told from the interval's own readings, verdicts from those of the `whole` interval, before the
    step, too.
    """
    first, last = (readings[0], readings[-1]) if readings else (None, None)
    own = [Reading(reading.at, reading.consumed_to, reading.lag) for reading in readings]
    pairs = list(pairwise([*([before] if before else []), *readings]))
    forward = [messages for pair in pairs if (messages := _forward(*pair)) is not None]
    back = [(messages, pair[1].at) for pair in pairs if (messages := _back(*pair)) is not None]
    greatest = max(back, default=(None, None))
    windows = spans([Reading(reading.at, reading.consumed_to, reading.lag) for reading in whole], start, limits)
    lags = [(reading.at, reading.lag) for reading in readings if reading.lag is not None]
    return Progress(
        readings=len(readings),
        last_reading_at=last.at if last and last.consumed_to is not None else None,
        consumer_offset=last.consumed_to if last else None,
        produced=_sum(_produced(*pair) for pair in pairs),
        consumed=_sum(forward),
        rewinds=len(back) if forward or back else None,
        rewound=_sum(messages for messages, _ in back),
        rewound_max=greatest[0],
        rewound_at=greatest[1],
        moved_at=max(moved_at(own), default=None),
        lag_first=first.lag if first else None,
        lag_last=last.lag if last else None,
        lag_max=max((lag for _, lag in lags), default=None),
        age_ms=_age(last) if last else None,
        stuck_growth=sum(after - before for (_, before), (at, after) in pairwise(lags) if windows.cover(at)),
        stuck_produced=sum(_produced(*pair) or 0 for pair in pairs if windows.cover(pair[1].at)),
        stuck_time=windows.time(start),
        verdict=windows.worst if last and last.lag is not None else None,
    )


def _sum(messages: Iterable[int | None]) -> int | None:
    found = [number for number in messages if number is not None]
    return sum(found) if found else None


def _produced(before: QueueReading, after: QueueReading) -> int | None:
    """What came in; None where the broker's offset shrank: the topic was made anew, and no offset can be compared."""
    if before.end_offset is None or after.end_offset is None or after.end_offset < before.end_offset:
        return None
    return after.end_offset - before.end_offset


def _growth(before: QueueReading, after: QueueReading) -> int | None:
    """Of the consumer offset; behind a known one, 0 without a timestamp is the beginning."""
    if before.consumed_to is None or after.consumer_offset is None or _produced(before, after) is None:
        return None
    return after.consumer_offset - before.consumed_to


def _forward(before: QueueReading, after: QueueReading) -> int | None:
    """By how much the consumer offset went forward, or stood; None: back, or unknown."""
    growth = _growth(before, after)
    return growth if growth is not None and growth >= 0 and after.consumed_to is not None else None


def _back(before: QueueReading, after: QueueReading) -> int | None:
    """By how much the consumer offset went back."""
    growth = _growth(before, after)
    return -growth if growth is not None and growth < 0 else None


def _age(last: QueueReading) -> int | None:
    """From the storing of the last consumed message to the reading, where a lag is left."""
    age = last.at // 1000 - (last.last_timestamp or 0)
    return age if last.lag and last.last_timestamp and age >= 0 else None


def one_at_a_time(clipped: Sequence[RebalanceInterval]) -> list[tuple[RebalanceInterval, int]]:
    """The intervals of a topic without overlaps, each with its end: every moment belongs to the interval that began
    last, of those to a replayed one, of those to the first view; to none, where that one is over.
    """
    in_order = sorted(clipped, key=lambda interval: (interval.start, interval.status != Status.REPLAYED, interval.view))
    firsts = [next(together) for _, together in groupby(in_order, key=lambda interval: interval.start)]
    ends = [interval.start for interval in firsts[1:]]
    return (
        [(interval, min(interval.end, start)) for interval, start in zip(firsts, [*ends, firsts[-1].end], strict=True)]
        if firsts
        else []
    )


def queue_readings(
    snapshots: Iterable[OffsetSnapshot], window: StepWindow, place: tuple[str, int]
) -> list[QueueReading]:
    """In the order of time: those of the step, and of the replayed time before."""
    return [
        QueueReading(snapshot.captured_at, *entry[2:])
        for snapshot in sorted(snapshots)
        if window.replayed_from <= snapshot.captured_at < window.end
        for entry in snapshot.offsets
        if entry[:2] == place
    ]


def of_interval(
    readings: Sequence[QueueReading], window: StepWindow, began: int, start: int, end: int, allowed_lag: int
) -> Progress:
    """What a queue's readings say of the interval `[began, end)`, from `start` on.

    Of what came before the step, one gap counts for what went in and out.
    """
    inside = [reading for reading in readings if start <= reading.at < end]
    before = [reading for reading in readings if window.start - window.max_gap <= reading.at < start]
    whole = [reading for reading in readings if began <= reading.at < end]
    limits = Limits(allowed_lag, window.verdict_window, window.verdict_readings, window.max_gap)
    return progress(inside, before[-1] if before else None, whole, start, limits)
