"""Progress of every queue in every interval, by its offset samples: messages produced and consumed, and the lag left.

Messages between two samples belong to the later one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, zip_longest
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.kernel.audited_step import IntervalProgress, RebalanceInterval
from spark_jobs.domain.kernel.matrices import (
    Columns,
    Number,
    age_ms,
    cut,
    first_true,
    known_totals,
    last_true,
    no_older,
)
from spark_jobs.domain.kernel.offset_facts import lost_offsets
from spark_jobs.domain.kernel.queue_measures import QueueMeasures
from spark_jobs.domain.kernel.sample_pairs import SamplePairs, sample_pairs
from spark_jobs.domain.kernel.verdicts import VerdictSpan, VerdictWindows
from spark_jobs.domain.model.history import UNKNOWN, Matrix, Numbers, OffsetSamples, Place, TopicSamples
from spark_jobs.domain.model.statuses import LagQuality, Verdict
from spark_jobs.domain.model.window import AuditSettings, StepWindow

#: By queue, since when it has had its owners, in microseconds.
_Since = dict[Place, int]


def lag_qualities(progress: Sequence[IntervalProgress]) -> NDArray[np.str_]:
    """Per queue of all intervals, whether the lag at its last sample is measured or unknown (`LagQuality`)."""

    def column(name: str) -> Numbers:
        return np.concatenate([np.empty(0, np.int64), *(getattr(each, name) for each in progress)])

    committed = np.where(column("end_offset") == UNKNOWN, LagQuality.END_UNKNOWN.value, LagQuality.BEYOND_END.value)
    read = np.where(column("consumer_offset") == UNKNOWN, LagQuality.NEVER_COMMITTED.value, committed)
    unknown = np.where(column("readings") > 0, read, LagQuality.NO_READING.value)
    filtered = np.repeat([each.is_filtered for each in progress], [len(each.readings) for each in progress])
    known = np.where(filtered.astype(bool), LagQuality.UNFILTERED.value, LagQuality.MEASURED.value)
    return np.where(column("lag_last") != UNKNOWN, known, unknown)


class OwnTime(NamedTuple):
    """An interval, and the time `[start, end)` that belongs to it alone, in microseconds."""

    interval: RebalanceInterval
    start: int
    end: int


def without_overlaps(topic_intervals: Sequence[RebalanceInterval], since: int) -> Iterator[OwnTime]:
    """The intervals of one topic from `since` on, without overlaps: a moment belongs to the one that began last.

    Of intervals that began together, a replayed one comes first, then the first view; the others have no time.
    """

    def start_of(interval: RebalanceInterval) -> int:
        return max(interval.start, since)

    in_order = sorted(
        (interval for interval in topic_intervals if interval.end > since),
        key=lambda interval: (start_of(interval), interval.allocation is None, interval.view),
    )
    chosen = [next(began_together) for _, began_together in groupby(in_order, key=start_of)]
    for interval, following in zip_longest(chosen, chosen[1:]):
        end = min(start_of(following), interval.end) if following else interval.end
        yield OwnTime(interval, start_of(interval), end)


def topic_progress(
    topic_intervals: Sequence[RebalanceInterval],
    samples: OffsetSamples | None,
    window: StepWindow,
    settings: AuditSettings,
    *,
    is_filtered: bool = False,
    unread: OffsetSamples | None = None,
    topic: TopicSamples | None = None,
) -> list[IntervalProgress]:
    """One per interval of a topic in the step with `measured` queues; `unread`: of a topic without offsets; `topic`:
    its own offsets.

    The last sample before the step counts, if it is no older than `max_gap`: later messages belong to the step.
    """
    measured = [own for own in without_overlaps(topic_intervals, window.start) if own.interval.measured]
    if not measured:
        return []
    chosen = unread or samples
    pairs = None
    if chosen:
        seen = chosen.of_step(window, settings.max_gap)
        pairs = sample_pairs(chosen, seen, lost_offsets(chosen, topic, seen))
    owned_since = _owned_since(without_overlaps(topic_intervals, window.observed_from))
    rows = [_interval_progress(own, pairs, owned_since, settings, is_filtered=is_filtered) for own in measured]
    return rows if unread is None else [replace(row, readings=np.zeros_like(row.readings)) for row in rows]


def _owned_since(intervals: Iterable[OwnTime]) -> Mapping[tuple[int, str], _Since]:
    """By start and view: since when (microseconds) queues of the interval have had the owners of the one before."""
    since_of_interval: dict[tuple[int, str], _Since] = {}
    before: RebalanceInterval | None = None
    before_end, since = 0, _Since()
    for interval, start, end in intervals:
        if before and before_end == start:
            owners = _owners(before)
            since = {
                queue: since.get(queue, before.start)
                for queue, ids in _owners(interval).items()
                if owners.get(queue) == ids
            }
        else:
            since = {}
        since_of_interval[interval.start, interval.view] = since
        before, before_end = interval, end
    return since_of_interval


def _owners(interval: RebalanceInterval) -> Mapping[Place, Sequence[str]]:
    """By queue the client ids that own it, if known, or the reason why the broker hands it out."""
    if interval.allocation is not None:
        return dict(zip(interval.allocation.queues, interval.allocation.owner_ids, strict=True))
    return dict.fromkeys(interval.measured, (str(interval.reason),)) if interval.is_shared_out else {}


def _interval_progress(
    own: OwnTime,
    pairs: SamplePairs | None,
    owned_since: Mapping[tuple[int, str], _Since],
    settings: AuditSettings,
    *,
    is_filtered: bool,
) -> IntervalProgress:
    """The measures and verdicts of the interval's queues by the samples of its own time."""
    interval, start, end = own
    queues, spans = interval.measured, list[VerdictSpan]()
    verdicts: list[Verdict | None] = [None] * len(queues)
    measures: QueueMeasures | None = None
    columns = pairs.samples.columns if pairs else {}
    places = [place for place, queue in enumerate(queues) if queue in columns]
    if pairs and places and pairs.samples.any_inside(start, end):
        own_columns = [columns[queues[place]] for place in places]
        # A slice copies nothing: all in their order, as mostly.
        chosen = slice(None) if own_columns == list(range(len(columns))) else np.array(own_columns, np.int64)
        began = owned_since.get((interval.start, interval.view), {})
        since = np.array([began.get(queues[place], interval.start) for place in places], dtype=np.int64)
        windows = VerdictWindows(
            pairs.samples, chosen, since=since, start=start, end=end, settings=settings, is_filtered=is_filtered
        )
        spans = windows.spans(places)
        own_pairs = pairs.part(pairs.samples.inside(start, end), chosen)
        read = _measures(own_pairs, pairs.rows, chosen, windows if spans else None)
        for place, verdict, lag in zip(places, windows.worst(), read.lag_last.tolist(), strict=True):
            verdicts[place] = verdict if lag != UNKNOWN else None
        measures = read.among(places, len(queues))
    measures = measures or QueueMeasures.unread(len(queues))
    return IntervalProgress(**vars(measures), **own._asdict(), verdicts=verdicts, spans=spans, is_filtered=is_filtered)


def _measures(pairs: SamplePairs, seen: slice, columns: Columns, stuck: VerdictWindows | None) -> QueueMeasures:
    """Per column; its first and last samples count, known or not. `seen`: the samples of the step; `stuck`: windows
    that show a queue to be stuck.
    """
    samples, none = pairs.samples, np.zeros(pairs.produced.shape[1], np.int64)
    matrices = (samples.present, samples.lag, samples.consumed_to, samples.end_offset, samples.last_timestamp)
    present, lag, consumed_to, end_offset, stored = cut(matrices, pairs.rows, columns)
    first, last = first_true(present), last_true(present)
    consumer_offset, lag_last = _pick(consumed_to, last), _pick(lag, last)
    last_at = np.where(consumer_offset != UNKNOWN, pairs.times[last], UNKNOWN)
    moved = pairs.moved & (pairs.previous >= pairs.rows.start)
    moved_at = last_true(moved)
    rewinds, rewound, rewound_max, rewound_at = _rewinds(pairs)
    ages = age_ms(last_at, _pick(stored, last), lag_last)
    return QueueMeasures(
        readings=present.sum(axis=0),
        last_reading_at=last_at,
        consumer_offset=consumer_offset,
        end_offset=_pick(end_offset, last),
        produced=known_totals(pairs.produced, axis=0),
        consumed=known_totals(pairs.forward, axis=0),
        rewinds=rewinds,
        rewound=rewound,
        rewound_max=rewound_max,
        rewound_at=rewound_at,
        moved_at=np.where(_pick(moved, moved_at), pairs.times[moved_at], UNKNOWN),
        lag_first=_pick(lag, first),
        lag_last=lag_last,
        lag_max=_max(lag),
        age_ms=no_older(ages, samples, seen, pairs.rows.start + last, np.arange(len(samples.queues))[columns]),
        stuck_growth=stuck.stuck_growth() if stuck else none,
        stuck_produced=np.where(stuck.stuck, np.maximum(pairs.produced, 0), 0).sum(axis=0) if stuck else none,
        stuck_time=stuck.stuck_time() if stuck else none,
    )


def _rewinds(pairs: SamplePairs) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """How often, how far in all and at most, and when the offset went back; of equal rewinds the last one's time."""
    went_back = pairs.back != UNKNOWN
    is_compared = (went_back | (pairs.forward != UNKNOWN)).any(axis=0)
    unknown = np.full(is_compared.shape, UNKNOWN)
    if not went_back.any():  # as mostly
        return np.where(is_compared, 0, UNKNOWN), unknown, unknown, unknown
    rewinds = np.where(is_compared, went_back.sum(axis=0), UNKNOWN)
    greatest = len(pairs.back) - 1 - np.argmax(pairs.back[::-1], axis=0)
    return (
        rewinds,
        known_totals(pairs.back, axis=0),
        _max(pairs.back),
        np.where(rewinds > 0, pairs.times[greatest], UNKNOWN),
    )


def _pick(matrix: NDArray[Number], rows: Numbers) -> NDArray[Number]:
    """The numbers at these rows of the columns; those of a column without any sample are unknown."""
    return matrix[rows, np.arange(len(rows))]


def _max(matrix: Matrix) -> Numbers:
    """The greatest known one; `UNKNOWN` is less than any."""
    return np.asarray(matrix.max(axis=0))
