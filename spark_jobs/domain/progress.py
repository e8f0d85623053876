"""What the offset readings of one queue in one interval say: how much came in and went out, and what is left."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from spark_jobs.domain.intervals import EPOCH
from spark_jobs.domain.verdicts import Reading, Verdict, verdict


class LagQuality(StrEnum):
    """Whether the lag of a queue is known."""

    MEASURED = "MEASURED"
    NEVER_COMMITTED = "NEVER_COMMITTED"
    NO_READING = "NO_READING"


class QueueReading(NamedTuple):
    """One look at a queue: next offset to write, next to consume, store time (ms) of the last consumed message."""

    at: datetime
    end_offset: int
    consumer_offset: int
    last_timestamp: int | None

    @property
    def consumed_to(self) -> int | None:
        """Next offset to consume; None where the group never committed."""
        return self.consumer_offset if self.consumer_offset or self.last_timestamp else None

    @property
    def lag(self) -> int | None:
        """Messages; the two offsets are read one after the other, so a negative difference is none."""
        return None if self.consumed_to is None else max(self.end_offset - self.consumed_to, 0)


class Progress(NamedTuple):
    """The measures of `queue_progress`, in messages; None is unknown."""

    readings: int
    lag_quality: LagQuality
    last_reading_at: datetime | None
    consumer_offset: int | None
    produced: int | None
    consumed: int | None
    rewinds: int | None
    rewound: int | None
    rewound_max: int | None
    rewound_at: datetime | None
    moved_at: datetime | None
    lag_first: int | None
    lag_last: int | None
    lag_max: int | None
    age_ms: int | None
    verdict: Verdict | None


def progress(readings: Sequence[QueueReading], before: QueueReading | None, allowed_lag: int) -> Progress:
    """What the readings of one interval say, in the order of time.

    `before`: the queue's last reading before the interval. What came in and went out between two readings belongs to
    the later one; what moved and the verdict are told from the interval's own readings.
    """
    known = [one for one in readings if one.consumed_to is not None]
    lags = [one.lag for one in known if one.lag is not None]
    pairs = list(pairwise([*([before] if before else []), *readings]))
    forward = [messages for pair in pairs if (messages := _forward(*pair)) is not None]
    back = [(messages, pair[1].at) for pair in pairs if (messages := _back(*pair)) is not None]
    greatest = max(back, default=(None, None))
    quality = LagQuality.NEVER_COMMITTED if readings else LagQuality.NO_READING
    return Progress(
        readings=len(readings),
        lag_quality=LagQuality.MEASURED if known else quality,
        last_reading_at=known[-1].at if known else None,
        consumer_offset=known[-1].consumed_to if known else None,
        produced=_sum(messages for pair in pairs if (messages := _produced(*pair)) is not None),
        consumed=_sum(forward),
        rewinds=len(back) if forward or back else None,
        rewound=_sum(messages for messages, _ in back),
        rewound_max=greatest[0],
        rewound_at=greatest[1],
        moved_at=max((after.at for one, after in pairwise(readings) if _moved(one, after)), default=None),
        lag_first=lags[0] if lags else None,
        lag_last=lags[-1] if lags else None,
        lag_max=max(lags, default=None),
        age_ms=_age(known[-1]) if known else None,
        verdict=verdict([_since(readings[0].at, one) for one in readings], allowed_lag),
    )


def _sum(messages: Iterable[int]) -> int | None:
    found = list(messages)
    return sum(found) if found else None


def _produced(before: QueueReading, after: QueueReading) -> int | None:
    """What came in; None where the broker's offset shrank: the topic was made anew, and no offset can be compared."""
    return after.end_offset - before.end_offset if after.end_offset >= before.end_offset else None


def _forward(before: QueueReading, after: QueueReading) -> int | None:
    """By how much the consumer offset went forward, or stood; None: back, or unknown."""
    if None in (before.consumed_to, after.consumed_to, _produced(before, after)):
        return None
    growth = after.consumer_offset - before.consumer_offset
    return growth if growth >= 0 else None


def _back(before: QueueReading, after: QueueReading) -> int | None:
    """By how much the consumer offset went back; behind a known one, 0 without a timestamp is the beginning."""
    if before.consumed_to is None or _produced(before, after) is None:
        return None
    return before.consumer_offset - after.consumer_offset if after.consumer_offset < before.consumer_offset else None


def _moved(before: QueueReading, after: QueueReading) -> bool:
    return None not in (before.consumed_to, after.consumed_to) and before.consumed_to != after.consumed_to


def _age(last: QueueReading) -> int | None:
    """From the storing of the last consumed message to the reading, where a lag is left."""
    age = (last.at - EPOCH) // timedelta(milliseconds=1) - (last.last_timestamp or 0)
    return age if last.lag and last.last_timestamp and age >= 0 else None


def _since(start: datetime, one: QueueReading) -> Reading:
    return Reading((one.at - start).total_seconds(), one.end_offset, one.consumed_to)
