"""Progress of one queue in one interval by its offset samples: messages that came in and went out, and the rest."""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby, pairwise, takewhile
from typing import NamedTuple

from spark_jobs.domain.model.statuses import Status
from tests.support.oracle.snapshots import OffsetSnapshot, StepWindow
from tests.support.oracle.timeline import RebalanceInterval
from tests.support.oracle.verdicts import Limits, Sample, moved_at, spans


class QueueSample(NamedTuple):
    """One look at a queue: microseconds, next offset to write, to consume, store time (ms) of the last consumed one;
    `moved`: messages that came and were consumed since the snapshot before.
    """

    at: int
    end_offset: int | None
    consumer_offset: int | None
    last_timestamp: int | None
    moved: int = 0

    @property
    def consumed_to(self) -> int | None:
        """Next offset to consume; None where the group never committed, though there is something. An offset without
        an end was committed.
        """
        if self.consumer_offset == 0 and not self.end_offset:
            return 0
        return self.consumer_offset if self.consumer_offset or self.last_timestamp else None

    @property
    def lag(self) -> int | None:
        """Messages; the two offsets are read one after the other, so a small negative difference is none."""
        if self.end_offset is None or self.consumed_to is None or self.is_beyond_end:
            return None
        return max(self.end_offset - self.consumed_to, 0)

    @property
    def is_beyond_end(self) -> bool:
        """Return whether the next offset to consume is more than 64 messages above the next one to write, and than
        both moved since the snapshot before.
        """
        known = self.end_offset is not None and self.consumed_to is not None
        return known and (self.consumed_to or 0) - (self.end_offset or 0) > max(64, self.moved)


class Log:
    """A queue's samples in a step, when its end offset fell although its messages are the same ones, and which of its
    samples are `beyond` the end of other messages, or show the offset of one that is (`former`).
    """

    def __init__(self, samples: Sequence[QueueSample]) -> None:
        self.same_after_fall: set[int] = set()
        self._away: list[tuple[int, int, int]] = []
        for number, (before, after) in enumerate(pairwise(samples), 1):
            if before.end_offset is None or after.end_offset is None or after.end_offset >= before.end_offset:
                continue
            back_at = _jumped_back(samples[number - 1 :], before.end_offset, before.end_offset - after.end_offset)
            is_old = _shows_old_message(samples[number:], before)
            if is_old or (is_old is None and back_at is not None):
                self.same_after_fall.add(after.at)
                if back_at is not None:
                    self._away.append((after.at, back_at, before.end_offset))
        self.beyond = {
            sample.at
            for sample in samples
            if sample.is_beyond_end and not any(at <= sample.at for at in self.same_after_fall)
        }
        self.former = {
            sample.at
            for number, sample in enumerate(samples)
            for other in takewhile(_is_at(sample), reversed(samples[: number + 1]))
            if other.at in self.beyond
        }

    def produced(self, before: QueueSample, after: QueueSample) -> int | None:
        """The messages that came; of the way back up only what is above the highest end offset before."""
        away = [(until, high) for since, until, high in self._away if since <= after.at <= until]
        if not away:
            return _produced(before, after)
        if after.end_offset is None or any(after.at < until for until, _ in away):
            return None
        return after.end_offset - max(high for _, high in away)


def _is_at(sample: QueueSample) -> Callable[[QueueSample], bool]:
    return lambda other: other.consumed_to == sample.consumed_to


def _jumped_back(samples: Sequence[QueueSample], high: int, fall: int) -> int | None:
    """When the end offset is again where it was at the first sample, if it came there by a jump."""
    for before, after in pairwise(samples):
        if after.end_offset is not None and after.end_offset >= high:
            is_jump = before.end_offset is not None and 2 * (after.end_offset - before.end_offset) >= fall
            return after.at if is_jump else None
    return None


def _shows_old_message(samples: Sequence[QueueSample], before: QueueSample) -> bool | None:
    """Return whether the first offset behind the one before the fall is of a message a minute older; None: no such
    offset.
    """
    for sample in samples:
        known = sample.consumed_to and (sample.last_timestamp or 0) > 0 and before.consumed_to is not None
        if known and (sample.consumed_to or 0) < (before.consumed_to or 0) and (sample.consumed_to or 0) > 0:
            return (sample.last_timestamp or 0) * 1000 < before.at - 60_000_000
    return None


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
    samples: Sequence[QueueSample],
    before: QueueSample | None,
    whole: Sequence[QueueSample],
    every: Sequence[QueueSample],
    start: int,
    limits: Limits,
    log: Log,
) -> Progress:
    """The progress by the samples of one interval, in the order of time, from `start` on; `every` one of the step.

    `before`: the queue's last sample before them. What came in and went out between two samples belongs to the later
    one; what moved is told from the interval's own samples, verdicts from those of the `whole` interval, before the
    step, too.
    """
    first, last = (samples[0], samples[-1]) if samples else (None, None)
    own = [Sample(sample.at, sample.consumed_to, sample.lag) for sample in samples]
    pairs = list(pairwise([*([before] if before else []), *samples]))
    forward = [messages for pair in pairs if (messages := _forward(*pair, log)) is not None]
    back = [(messages, pair[1].at) for pair in pairs if (messages := _back(*pair, log)) is not None]
    greatest = max(back, default=(None, None))
    windows = spans([Sample(sample.at, sample.consumed_to, sample.lag) for sample in whole], start, limits)
    lags = [(sample.at, sample.lag) for sample in samples if sample.lag is not None]
    return Progress(
        readings=len(samples),
        last_reading_at=last.at if last and last.consumed_to is not None else None,
        consumer_offset=last.consumed_to if last else None,
        produced=known_sum(log.produced(*pair) for pair in pairs),
        consumed=known_sum(forward),
        rewinds=len(back) if forward or back else None,
        rewound=known_sum(messages for messages, _ in back),
        rewound_max=greatest[0],
        rewound_at=greatest[1],
        moved_at=max(moved_at(own), default=None),
        lag_first=first.lag if first else None,
        lag_last=last.lag if last else None,
        lag_max=max((lag for _, lag in lags), default=None),
        age_ms=_age(last, every) if last else None,
        stuck_growth=sum(after - before for (_, before), (at, after) in pairwise(lags) if windows.cover(at)),
        stuck_produced=sum(log.produced(*pair) or 0 for pair in pairs if windows.cover(pair[1].at)),
        stuck_time=windows.time(start),
        verdict=windows.worst if last and last.lag is not None else None,
    )


def known_sum(messages: Iterable[int | None]) -> int | None:
    """Of those that are known; None: none is."""
    found = [number for number in messages if number is not None]
    return sum(found) if found else None


def _produced(before: QueueSample, after: QueueSample) -> int | None:
    """What came in; None where the broker's offset shrank: the topic was made anew, and no offset can be compared."""
    if before.end_offset is None or after.end_offset is None or after.end_offset < before.end_offset:
        return None
    return after.end_offset - before.end_offset


def _growth(before: QueueSample, after: QueueSample, log: Log) -> int | None:
    """Of the consumer offset; behind a known one, 0 without a timestamp is the beginning."""
    if before.consumed_to is None or after.consumer_offset is None:
        return None
    have_no_end = before.end_offset is None and after.end_offset is None
    if _produced(before, after) is None and not have_no_end and after.at not in log.same_after_fall:
        return None
    return after.consumer_offset - before.consumed_to


def _forward(before: QueueSample, after: QueueSample, log: Log) -> int | None:
    """By how much the consumer offset went forward, up to the end, or stood; None: back, or unknown."""
    growth = _growth(before, after, log)
    is_known = growth is not None and after.consumed_to is not None and before.at not in log.beyond
    if not is_known or growth is None or growth < 0:
        return None
    rest = max((after.end_offset or 0) - (before.consumed_to or 0), 0)
    return min(growth, rest) if after.at in log.beyond else growth


def _back(before: QueueSample, after: QueueSample, log: Log) -> int | None:
    """By how much the consumer offset went back."""
    growth = _growth(before, after, log)
    return -growth if growth is not None and growth < 0 and before.at not in log.former else None


def _age(last: QueueSample, samples: Sequence[QueueSample]) -> int | None:
    """How long the oldest message that is left may have waited: since the one before it was stored, and, of more than
    ten seconds, since the last sample of the step until which the queue had ended before it.
    """
    age, consumed_to = last.at // 1000 - (last.last_timestamp or 0), last.consumed_to or 0
    if not last.lag or not last.last_timestamp or age < 0:
        return None
    known = (sample for sample in samples if sample.end_offset is not None)
    ended_before = [*takewhile(lambda sample: (sample.end_offset or 0) <= consumed_to, known)]
    return min(age, (last.at - ended_before[-1].at) // 1000) if ended_before and age > 10_000 else age


def one_at_a_time(clipped: Sequence[RebalanceInterval]) -> list[tuple[RebalanceInterval, int]]:
    """The intervals of a topic without overlaps, each with its end: every moment belongs to the interval that began
    last, of those to a replayed one, of those to the first view; to none, where that one is over.
    """
    in_order = sorted(clipped, key=lambda interval: (interval.start, interval.status != Status.REPLAYED, interval.view))
    firsts = [next(together) for _, together in groupby(in_order, key=lambda interval: interval.start)]
    ends = [interval.start for interval in firsts[1:]]
    last = [interval.end for interval in firsts[-1:]]
    return [(interval, min(interval.end, until)) for interval, until in zip(firsts, [*ends, *last], strict=True)]


def queue_samples(snapshots: Iterable[OffsetSnapshot], window: StepWindow, place: tuple[str, int]) -> list[QueueSample]:
    """In the order of time: those of the step, and of the replayed time before."""
    found: list[QueueSample] = []
    before: QueueSample | None = None
    for snapshot in sorted(snapshots):
        entries = (entry for entry in snapshot.offsets if entry[:2] == place)
        sample = next((QueueSample(snapshot.captured_at, *entry[2:]) for entry in entries), None)
        if sample and before:
            sample = sample._replace(moved=_moved(before, sample))
        if sample and window.replayed_from <= snapshot.captured_at < window.end:
            found.append(sample)
        before = sample
    return found


def _moved(before: QueueSample, after: QueueSample) -> int:
    offsets = (before.end_offset, after.end_offset, before.consumed_to, after.consumed_to)
    if None in offsets:
        return 0
    end_before, end, consumed_before, consumed = (offset or 0 for offset in offsets)
    return max(min(end - end_before, consumed - consumed_before), 0)


def of_interval(
    samples: Sequence[QueueSample], window: StepWindow, began: int, start: int, end: int, allowed_lag: int
) -> Progress:
    """The progress by a queue's samples in the interval `[began, end)`, from `start` on.

    Of what came before the step, one gap counts for what went in and out.
    """
    inside = [sample for sample in samples if start <= sample.at < end]
    before = [sample for sample in samples if window.start - window.max_gap <= sample.at < start]
    whole = [sample for sample in samples if began <= sample.at < end]
    limits = Limits(allowed_lag, window.verdict_window, window.verdict_samples, window.max_gap)
    seen = [sample for sample in samples if window.start - window.max_gap <= sample.at < window.end]
    return progress(inside, before[-1] if before else None, whole, seen, start, limits, Log(seen))
