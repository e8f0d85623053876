"""Facts of a queue's consumer offset: when it stood, or was not committed, while messages waited, however few; samples
at which it went further than ever before; first commits at or beyond the end of that time; and where it is lost.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.kernel.matrices import at_rows, latest_rows, previous_rows
from spark_jobs.domain.model.caching import cached_with_value
from spark_jobs.domain.model.history import UNKNOWN, Mask, Matrix, Numbers, OffsetSamples, Place, TopicSamples
from spark_jobs.domain.model.series import Timed
from spark_jobs.domain.model.window import SECOND, AuditSettings, Time


class Unconsumed(NamedTuple):
    """A maximal span `[start, end)` in which the consumer offset of a queue stands and messages wait; microseconds.

    `start`: the last sample that shows otherwise; `seen_at`: the last one that shows it; `end`: the next one.
    `waiting`: messages at `seen_at`, without a commit those `produced` since `start`. `others_commit`: other queues of
    the topic have a committed offset.
    """

    queue: Place
    start: int
    seen_at: int
    end: int
    offset: int
    waiting: int
    produced: int
    is_committed: bool
    others_commit: bool


@cached_with_value
def unconsumed(samples: OffsetSamples, time: Time, max_gap: int, seconds: int) -> Sequence[Unconsumed]:
    """The spans of all queues of a topic that samples of a time show for so many seconds, by queue and time."""
    may_stand, may_stand_at = _may_stand(samples, seconds)
    if not may_stand_at.any_inside(*time):  # as mostly
        return []
    seen = samples.inside(*time)
    columns = np.flatnonzero(may_stand[seen].any(axis=0))
    times, commits = samples.times[seen], np.asarray((samples.consumed_to[seen] > 0).any(axis=0))
    matrices = (samples.consumed_to, samples.end_offset, samples.lag)
    is_read, (consumed, end, lag) = _is_read(samples)[seen][:, columns], (it[seen][:, columns] for it in matrices)
    begins, waiting = _begins(times, is_read, consumed, end, lag, max_gap)
    rows = np.arange(len(times))[:, None]
    following = _following(is_read)
    lasting = times[:, None] - times[begins]
    is_last = (following == rows) | (at_rows(begins, following) != begins)
    is_long = lasting >= seconds * SECOND
    lasts: Mask = np.asarray(is_read & (begins < rows) & is_last & is_long)
    spans = []
    for column, row in np.argwhere(np.transpose(lasts)).tolist():
        seen_at, after = int(times[row]), int(following[row, column])
        until = int(times[after]) if after > row else time[1]
        spans.append(
            Unconsumed(
                queue=samples.queues[columns[column]],
                start=int(times[begins[row, column]]),
                seen_at=seen_at,
                end=min(until, seen_at + max_gap),
                offset=int(consumed[row, column]),
                waiting=int(waiting[row, column]),
                produced=int(end[row, column] - end[begins[row, column], column]),
                is_committed=bool(consumed[row, column] != UNKNOWN),
                others_commit=bool(commits.sum() > commits[columns[column]]),
            )
        )
    return spans


@cached_with_value
def _is_read(samples: OffsetSamples) -> Mask:
    """Per sample and queue, True if both offsets are known."""
    is_known = (samples.end_offset != UNKNOWN) & (samples.consumer_offset != UNKNOWN)
    return np.asarray(samples.present & is_known)


@cached_with_value
def _may_stand(samples: OffsetSamples, seconds: int) -> tuple[Mask, Timed]:
    """Per sample and queue, False if nothing waits there, or the offset was another one so many seconds before; and
    the samples of which a queue may stand.
    """
    before = samples.times.searchsorted(samples.times - seconds * SECOND, side="right") - 1
    is_read, consumed = _is_read(samples), samples.consumed_to
    is_same = (consumed == consumed[before]) | ~is_read[before]
    may_stand = np.asarray(is_read & (samples.lag != 0) & is_same & (before >= 0)[:, None])
    return may_stand, samples.showing(may_stand)


def _begins(
    times: Numbers, is_read: Mask, consumed: Matrix, end: Matrix, lag: Matrix, max_gap: int
) -> tuple[Matrix, Matrix]:
    """Per sample the row of the last one at which the queue does not stand, and the messages that wait at it."""
    rows = np.arange(len(times))[:, None]
    before = previous_rows(is_read)
    is_gap = (before < 0) | (times[:, None] - times[np.maximum(before, 0)] > max_gap)
    never = consumed == UNKNOWN
    moved = is_gap | (consumed != at_rows(consumed, before)) | (end < at_rows(end, before)) | (~never & (lag == 0))
    since = latest_rows(is_read & moved)
    is_empty = never & (end == at_rows(end, since))
    otherwise = latest_rows(is_read & (moved | is_empty))
    return np.where(is_read, otherwise, rows), np.where(never, end - at_rows(end, otherwise), lag)


def _following(is_read: Mask) -> Matrix:
    """Per sample the row of the queue's next one; the row itself where there is none."""
    rows = np.arange(len(is_read))[:, None]
    later = np.where(is_read, rows, len(is_read))[::-1]
    after = np.full(is_read.shape, len(is_read), dtype=np.int64)
    after[:-1] = np.minimum.accumulate(later, axis=0)[::-1][1:]
    return np.where(after < len(is_read), after, rows)


#: A jump is far if it is so many times the mean of the queue's other samples.
FAR = 10


class Jump(NamedTuple):
    """Between the samples at `before` and `at` (microseconds) the offset went from `since` to `to`: `messages` above
    any offset before. `stood_since`: the first sample that shows the offset `since`. `usual`: by how many messages the
    queue's offset advances in as much time between its other samples. `waiting`: queues of the topic with a backlog at
    `before`.
    """

    queue: Place
    before: int
    at: int
    since: int
    to: int
    messages: int
    stood_since: int
    usual: float
    waiting: int

    @property
    def start(self) -> int:
        """It happens between two samples."""
        return self.before

    @property
    def end(self) -> int:
        """The second of these."""
        return self.at

    @property
    def is_far(self) -> bool:
        """Return whether it is far above the queue's pace."""
        return self.messages >= FAR * self.usual


def offset_jumps(samples: OffsetSamples, start: int, end: int, settings: AuditSettings) -> Iterator[Jump]:
    """The jumps by more than `rewind_tolerance` between neighbors in `[start, end)`, of queues that jump seldom."""
    seen, thresholds = samples.inside(start, end), settings.thresholds
    if seen.stop - seen.start < 2:
        return
    times, offsets, lag = samples.times[seen], samples.consumed_to[seen], samples.lag[seen]
    distances = samples.distances[seen.start : seen.stop - 1][:, None]
    near = distances <= settings.max_gap
    moved = samples.forward[seen][1:]
    if not near.all():
        moved = np.where(near, moved, 0)
    total, most = moved.sum(axis=0), moved.max(axis=0)
    least = (total - most) * (distances.min() / distances.sum())
    if not (most > np.maximum(thresholds.rewind_tolerance, FAR / 2 * least)).any():  # as mostly
        return
    known = near & (offsets[1:] != UNKNOWN) & (offsets[:-1] != UNKNOWN)
    high = np.maximum.accumulate(offsets, axis=0)
    growth = np.where(known, offsets[1:] - np.where(known, high[:-1], 0), 0)
    waiting = (lag > thresholds.allowed_lag).sum(axis=1)
    other_time = np.where(known, distances, 0).sum(axis=0) - distances
    usual = (total - moved) / np.maximum(other_time, 1) * distances
    is_jump = (growth > thresholds.rewind_tolerance) & (growth >= FAR / 2 * usual)
    for row, column in np.argwhere(is_jump).tolist():
        since = int(offsets[row, column])
        differs = np.flatnonzero(offsets[: row + 1, column] != since)
        first = int(differs[-1]) + 1 if len(differs) else 0
        yield Jump(
            samples.queues[column],
            int(times[row]),
            int(times[row + 1]),
            since,
            int(offsets[row + 1, column]),
            int(growth[row, column]),
            int(times[first]),
            float(usual[row, column]),
            int(waiting[row]),
        )


#: The queue's first step is so many times the furthest one of the topic's other queues.
_FURTHER = 2


def first_commits_at_end(samples: OffsetSamples, time: Time, settings: AuditSettings) -> Iterator[Jump]:
    """The jumps over messages of queues without a commit for `stalled_after_seconds`, in a group with other commits.

    They are twice as far as any other queue moved: a new group may begin where it likes.
    """
    consumed = samples.consumed_to
    for span in unconsumed(samples, time, settings.max_gap, settings.thresholds.stalled_after_seconds):
        before, at = (int(np.searchsorted(samples.times, moment)) for moment in (span.seen_at, span.end))
        if span.is_committed or not span.others_commit or at >= len(samples.times) or samples.times[at] != span.end:
            continue
        column = samples.columns[span.queue]
        to, end = int(consumed[at, column]), int(samples.end_offset[before, column])
        known = (consumed[before] != UNKNOWN) & (consumed[at] != UNKNOWN)
        furthest = int((consumed[at] - consumed[before])[known].max(initial=0))
        if known.any() and to >= end and span.produced > max(settings.thresholds.rewind_tolerance, _FURTHER * furthest):
            since = end - span.produced
            waiting = int((samples.lag[before] > settings.thresholds.allowed_lag).sum())
            yield Jump(span.queue, span.seen_at, span.end, since, to, span.produced, span.start, 0.0, waiting)


def first_commits_apart(
    samples: OffsetSamples, topic: TopicSamples | None, time: Time, settings: AuditSettings
) -> Iterator[Jump]:
    """The jumps of queues whose first commit is at or beyond the end, over what came since the topic's first snapshot,
    if the group's first offsets, of all other queues, are those of a time before it was there, and above the oldest
    message. Members begin alike where they have no offset.
    """
    seen = samples.inside(*time)
    times, consumed, end = samples.times[seen], samples.consumed_to[seen], samples.end_offset[seen]
    known = consumed != UNKNOWN
    begun = known.any(axis=1)
    if topic is None or known.all() or not begun.any():  # as mostly
        return
    first, tolerance = int(begun.argmax()), settings.thresholds.rewind_tolerance
    absent = time[0], int(times[first]) - settings.max_gap
    ends = [topic.known_maximums(queue, *absent) for queue in samples.queues]
    oldest = [topic.known_minimums(queue, *absent) for queue in samples.queues]
    if not all(map(len, (*ends, *oldest))):
        return
    reset = np.flatnonzero(known[first]).tolist()
    if any(not oldest[each][-1] + tolerance < consumed[first, each] < ends[each][-1] for each in reset):
        return
    for column in np.flatnonzero(known.any(axis=0) & ~known[first]).tolist():
        at = int(known[:, column].argmax())
        since, to, before = int(ends[column][0]), int(consumed[at, column]), int(times[at - 1])
        messages = int(end[at - 1, column]) - since
        if to >= end[at - 1, column] and messages > tolerance:
            yield Jump(samples.queues[column], before, int(times[at]), since, to, messages, before, 0.0, len(reset))


def first_pulls_at_end(samples: OffsetSamples, time: Time, settings: AuditSettings) -> Iterator[Jump]:
    """The same of first pulls, as brokers since 5.1 report them, over about all that came: twice as far as any queue
    was pulled between two samples of the time. A group that is as fast may have consumed it.
    """
    pulled = samples.pulled
    furthest = int(pulled.forward[pulled.inside(*time)].max(initial=0))
    for jump in first_commits_at_end(pulled, time, settings):
        row, messages = int(samples.times.searchsorted(jump.at)), jump.to - jump.since
        pulls = samples.pull_offset[: row + 1, samples.columns[jump.queue]]
        if pulls[:-1].max() == 0 < pulls[-1] and messages > _FURTHER * furthest:
            yield jump._replace(messages=messages)


def lost_offsets(samples: OffsetSamples, topic: TopicSamples | None, seen: slice) -> Mask | None:
    """Per sample of these rows and queue, True where the broker has no offset of the group: it says 0, and the queue's
    oldest messages are above. None: it has one everywhere. Source: `AdminBrokerProcessor.getConsumeStats`.
    """
    says_none = _says_none(samples)[seen]
    if topic is None or not says_none.any():
        return None
    time = int(samples.times[seen][0]), int(samples.times[seen][-1]) + 1
    oldest = (topic.known_minimums(queue, *time) for queue in samples.queues)
    return np.asarray(says_none & np.array([len(offsets) > 0 and bool(offsets.min() > 0) for offsets in oldest]))


@cached_with_value
def _says_none(samples: OffsetSamples) -> Mask:
    """Per sample and queue, True if the committed offset is 0 and stands for none."""
    return np.asarray(samples.present & (samples.consumer_offset == 0) & (samples.consumed_to == UNKNOWN))


def begun_at_end_again(
    samples: OffsetSamples, topic: TopicSamples | None, time: Time, settings: AuditSettings
) -> Iterator[Jump]:
    """The jumps over a time without an offset to one at or beyond the end: over what had come by then, above the last
    offset before. Far ones only: a client that kept its offset in memory commits what it has consumed.
    """
    seen = samples.inside(*time)
    consumed, end, times = samples.consumed_to[seen], samples.end_offset[seen], samples.times[seen]
    lost = lost_offsets(samples, topic, seen)
    if lost is None:
        return
    for column in np.flatnonzero(lost.any(axis=0)).tolist():
        known = np.flatnonzero(consumed[:, column] != UNKNOWN).tolist()
        usual = float(samples.forward[seen][:, column].sum()) / max(len(known) - 2, 1)
        for before, after in pairwise(known):
            without = before + 1 + np.flatnonzero(lost[before + 1 : after, column])
            since, to = int(consumed[before, column]), int(consumed[after, column])
            ends = end[[before, *without], column]
            if not len(without) or to < ends[-1]:
                continue
            waiting = int((samples.lag[seen][before] > settings.thresholds.allowed_lag).sum())
            last_at, at, messages = int(times[before]), int(times[after]), int(ends[-1]) - since
            jump = Jump(samples.queues[column], last_at, at, since, to, messages, last_at, usual, waiting)
            if messages > settings.thresholds.rewind_tolerance and jump.is_far:
                yield jump
