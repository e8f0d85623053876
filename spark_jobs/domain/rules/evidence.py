"""The evidence of a condition: backlog and traffic of its queues, by the samples of its own time."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.diagnosis.table import StandingCause
from spark_jobs.domain.kernel.backlog import highest
from spark_jobs.domain.kernel.matrices import known_totals
from spark_jobs.domain.kernel.sample_pairs import arrived
from spark_jobs.domain.model.causes import NEVER_COMMITTED, UnassignedCause
from spark_jobs.domain.model.clients import DriftCause
from spark_jobs.domain.model.finding import FindingQueue, Measured, QueueEvidence
from spark_jobs.domain.model.history import UNKNOWN, GroupHistory, Matrix, Numbers, OffsetSamples, TopicSamples
from spark_jobs.domain.model.window import StepWindow, Time
from spark_jobs.domain.phrases import known_sum, sum_before
from spark_jobs.domain.rules.broker_not_readable import NOT_READABLE
from spark_jobs.domain.rules.queue_owners import UNASSIGNED

#: Roles of queues that no member consumes: all that comes to one without an offset waits.
_UNCONSUMED = (UNASSIGNED, NOT_READABLE, DriftCause.HOLDS_LESS)
#: Causes of queues of which the owner gets nothing: all that comes to one without an offset waits, too.
_OWNER_HAS_NOTHING = (StandingCause.NOT_TAKEN, StandingCause.SUSPENDED, StandingCause.NOTHING_PULLED)


class QueueSpan(NamedTuple):
    """A time `[start, end)` (microseconds), inside the step, in which a rule hit a queue in one role."""

    queue: FindingQueue
    start: int
    end: int


class _Samples(NamedTuple):
    """Samples of queues: matrices of moments × spans. `inside`: the queue was read, in the time of its own span.
    `at_least`: the backlog, and where that is unknown, but nobody consumes the queue, what was produced.
    """

    inside: NDArray[np.bool_]
    end_offset: Matrix
    consumed_to: Matrix
    backlog: Matrix
    at_least: Matrix


class _QueuesBacklog(NamedTuple):
    """The backlog of a topic's queues at their first and last sample, and at each: times, and messages or `UNKNOWN`.
    `has_messages` False: they never had any.
    """

    start: int | None
    end: int | None
    series: tuple[Numbers, Numbers]
    has_messages: bool = True


_UNKNOWN_BACKLOG = _QueuesBacklog(None, None, (np.empty(0, np.int64), np.empty(0, np.int64)))


def queue_evidence(
    history: GroupHistory,
    cause: str | None,
    spans: Iterable[QueueSpan],
    unread: Mapping[str, OffsetSamples] = MappingProxyType({}),
    window: StepWindow | None = None,
) -> tuple[list[QueueEvidence], Measured]:
    """Return what the samples show of each queue of a finding, sorted by queue and role, and of all together.

    Unreadable queues have no consumer offsets: the topic's own snapshots show what the broker holds there, less what
    the group consumed before in the `window`. Of `unread` topics (`AuditedStep`), the backlog is at least what was
    produced. So is the highest one of a queue without an offset in the `window` that nobody consumes; its last one is
    unknown.
    Topics are read at different moments: the totals of each are added up, by its last sample, without topics that never
    had messages.
    """
    queues: list[QueueEvidence] = []
    backlogs: dict[str, _QueuesBacklog] = {}
    for topic, topic_spans in groupby(sorted(spans), key=lambda span: span.queue.topic):
        spans_of_topic = list(topic_spans)
        samples, is_unread = _samples_of(topic, history, cause, unread, window, spans_of_topic)
        measured, backlogs[topic] = [Measured()] * len(spans_of_topic), _UNKNOWN_BACKLOG
        if samples:
            is_produced = is_unread or cause == NEVER_COMMITTED
            unconsumed = [cause in _OWNER_HAS_NOTHING or span.queue.role in _UNCONSUMED for span in spans_of_topic]
            measured, backlogs[topic] = _measured(
                samples, spans_of_topic, window, np.array(unconsumed), is_produced=is_produced
            )
        pairs = zip(spans_of_topic, measured, strict=True)
        queues += [QueueEvidence(*span.queue, span.start, span.end, *numbers) for span, numbers in pairs]
    counted = {topic: total for topic, total in backlogs.items() if total.has_messages} or backlogs
    most = highest(total.series for total in counted.values())
    return queues, Measured(
        sum_before((total.start, total.end) for total in counted.values()),
        known_sum(total.end for total in counted.values()),
        most and most.messages,
        *(known_sum(getattr(each, name) for each in queues if each.topic in counted) for name in Measured._fields[3:]),
    )


def _samples_of(
    topic: str,
    history: GroupHistory,
    cause: str | None,
    unread: Mapping[str, OffsetSamples],
    window: StepWindow | None,
    spans: Sequence[QueueSpan],
) -> tuple[OffsetSamples | TopicSamples | None, bool]:
    """The samples that show the backlog of these queues of a topic, and whether they have no consumer offsets."""
    if cause != UnassignedCause.BEYOND_READ_QUEUES:
        return (unread[topic], True) if topic in unread else (history.offsets.get(topic), False)
    stored = history.topics.get(topic)
    if stored and window and topic in history.offsets:
        before = window.read_from, min(span.start for span in spans)
        stored = _without_consumed(stored, history.offsets[topic], before)
    return stored, False


def _measured(
    read: OffsetSamples | TopicSamples,
    spans: Sequence[QueueSpan],
    window: StepWindow | None,
    unconsumed: NDArray[np.bool_],
    *,
    is_produced: bool,
) -> tuple[list[Measured], _QueuesBacklog]:
    """Return what a topic's samples show per span, and the backlog of its queues together. `unconsumed`: per span,
    whether nobody consumes its queue. `is_produced`: the unknown backlog is at least what was produced since the first
    sample.
    """
    places = [(span.queue.broker_name, span.queue.queue_id) for span in spans]
    read_spans = [number for number, place in enumerate(places) if place in read.columns]
    time = read.inside(min(span.start for span in spans), max(span.end for span in spans))
    measured = [Measured()] * len(spans)
    if not read_spans or time.start == time.stop:
        return measured, _UNKNOWN_BACKLOG
    columns = np.array([read.columns[places[number]] for number in read_spans])
    samples = _samples(read, time, columns, [spans[number] for number in read_spans])
    if isinstance(read, OffsetSamples) and (is_produced or window):
        is_counted = np.full_like(samples.inside, is_produced)
        if window and not is_produced:
            seen = read.inside(window.start, window.end)
            has_offset = ((read.consumed_to[seen] != UNKNOWN) & (read.end_offset[seen] != 0)).any(axis=0)
            without_offset = unconsumed[read_spans] & ~has_offset[columns]
            is_counted = without_offset & (samples.backlog == UNKNOWN)
        if is_counted.any():
            since = _arrived_since_first(samples, arrived(read, time)[:, columns])
            at_least = np.where(is_counted & (is_produced | (since > 0)), since, samples.backlog)
            samples = samples._replace(backlog=at_least if is_produced else samples.backlog, at_least=at_least)
    for number, of_span in zip(read_spans, _per_queue(samples), strict=True):
        measured[number] = of_span
    return measured, _backlog_together(samples, columns, read.times[time], max(span.end for span in spans))


def _without_consumed(topics: TopicSamples, offsets: OffsetSamples, time: Time) -> TopicSamples:
    """The same; its queues begin at the group's last offset in the time, if that is above the oldest message."""
    seen = offsets.inside(*time)
    oldest = topics.min_offset.copy()
    for place, column in topics.columns.items():
        consumed = offsets.consumed_to[seen, offsets.columns[place]] if place in offsets.columns else oldest[:0, 0]
        known = consumed[consumed != UNKNOWN]
        if len(known):
            is_known = oldest[:, column] != UNKNOWN
            oldest[is_known, column] = np.maximum(oldest[is_known, column], known[-1])
    return replace(topics, min_offset=oldest)


def _samples(read: OffsetSamples | TopicSamples, time: slice, columns: Numbers, spans: Sequence[QueueSpan]) -> _Samples:
    times = read.times[time, np.newaxis]
    own_time = (times >= [span.start for span in spans]) & (times < [span.end for span in spans])
    inside = read.present[time, columns] & own_time
    if isinstance(read, OffsetSamples):
        matrices = (matrix[time, columns] for matrix in (read.end_offset, read.consumed_to, read.lag, read.lag))
        return _Samples(inside, *matrices)
    oldest, end_offset = read.min_offset[time, columns], read.max_offset[time, columns]
    is_known = (oldest != UNKNOWN) & (end_offset != UNKNOWN)
    stored = np.where(is_known, np.maximum(end_offset - oldest, 0), UNKNOWN)
    return _Samples(inside, end_offset, np.full_like(stored, UNKNOWN), stored, stored)


def _arrived_since_first(samples: _Samples, total: Matrix) -> Matrix:
    """Messages that came since the first sample of each span, at each of its samples; `total`: since any moment."""
    known = samples.inside & (samples.end_offset != UNKNOWN)
    base = total[known.argmax(axis=0), np.arange(known.shape[1])]
    return np.where(known, total - base, UNKNOWN)


def _per_queue(samples: _Samples) -> list[Measured]:
    """Return what the samples show for each span; queues are its columns."""
    was_read = samples.inside.any(axis=0)
    first = samples.inside.argmax(axis=0)
    last = len(samples.inside) - 1 - samples.inside[::-1].argmax(axis=0)
    columns = np.arange(len(first))

    def at(moments: Numbers, matrix: Matrix) -> Matrix:
        return np.where(was_read, matrix[moments, columns], UNKNOWN)

    def grown(matrix: Matrix) -> Matrix:
        before, after = at(first, matrix), at(last, matrix)
        known = (before != UNKNOWN) & (after != UNKNOWN) & (first < last)
        growth = np.where(known, after, 0) - np.where(known, before, 0)
        return np.where(known & (growth >= 0), growth, UNKNOWN)

    highest = np.where(samples.inside, samples.at_least, UNKNOWN).max(axis=0)
    backlogs = at(first, samples.backlog), at(last, samples.backlog), highest
    numbers = (*backlogs, grown(samples.end_offset), grown(samples.consumed_to))
    return [Measured(*map(_or_none, values)) for values in zip(*(numbers.tolist() for numbers in numbers), strict=True)]


def _backlog_together(samples: _Samples, columns: Numbers, times: Numbers, until: int) -> _QueuesBacklog:
    """The backlog of all queues of a topic, each number a sum over queues at one moment (`times`). A queue with
    an unknown backlog is left out; but if only its last sample shows it, the first sum is unknown. A queue in two roles
    is one queue.
    """
    places, row_of_span = np.unique(columns, return_inverse=True)
    inside = np.zeros((len(places), len(samples.inside)), dtype=bool)
    for row, of_span in zip(row_of_span.tolist(), samples.inside.T, strict=True):
        inside[row] |= of_span
    moments = np.flatnonzero(inside.any(axis=0))
    if not len(moments):
        return _UNKNOWN_BACKLOG
    inside = inside[:, moments]

    def of_places(matrix: Matrix) -> tuple[Matrix, Numbers]:
        """Of each queue, and the sums of what is known."""
        messages = np.empty(inside.shape, dtype=np.int64)
        messages[row_of_span] = matrix[moments].T
        return messages, known_totals(np.where(inside, messages, UNKNOWN), axis=0)

    (backlog, sums), (_, minimums) = of_places(samples.backlog), of_places(samples.at_least)
    last = inside.shape[1] - 1 - inside[:, ::-1].argmax(axis=1)
    ends = backlog[np.arange(len(places)), last][inside[:, 0]].tolist()
    first = zip(map(_or_none, backlog[inside[:, 0], 0].tolist()), map(_or_none, ends), strict=True)
    # From then on nothing is said of the topic.
    series = np.append(times[moments], until), np.append(minimums, UNKNOWN)
    has_messages = bool((samples.end_offset[samples.inside] != 0).any())
    return _QueuesBacklog(sum_before(first), _or_none(int(sums[-1])), series, has_messages)


def _or_none(number: int) -> int | None:
    return None if number == UNKNOWN else number
