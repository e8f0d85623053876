"""The queues in which messages piled up in a step: how many messages, for how long, and in which intervals.
And when something rose: the time in a step that accounts for what is too much over all of it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.kernel.audited_step import AuditedStep, IntervalProgress
from spark_jobs.domain.kernel.backlog import Unconsumed, arrived_since, highest
from spark_jobs.domain.kernel.matrices import runs_of_true
from spark_jobs.domain.kernel.sample_pairs import arrived, sample_pairs
from spark_jobs.domain.model.history import UNKNOWN, Matrix, Numbers, OffsetSamples, Place
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.window import MILLISECOND, SECOND, AuditSettings, StepWindow, Time
from spark_jobs.domain.status.backlog import QueueIntervals, is_first_of_queue

#: What a queue's owner consumes in this time, at the queue's pace of the step, is no backlog.
CATCH_UP_SECONDS = 60
#: The intervals of one queue in the order of time, each with the place of the queue in its lists.
Entries = list[tuple[IntervalProgress, int]]


class Growth(NamedTuple):
    """The growth of a queue's backlog in one interval, in messages; `place`: of the queue in the interval's lists.

    `start`, `end`: when, in microseconds, both included. `is_rewound`: nothing of the backlog grew, an offset went
    back. `is_worked_off`: nothing grew, the backlog fell. Of a time in which the offset stood, and the backlog did not
    grow by much, `messages` are what waited.
    """

    progress: IntervalProgress
    place: int
    messages: int
    start: int
    end: int
    is_rewound: bool = False
    is_worked_off: bool = False


class LaggingQueue(NamedTuple):
    """One queue in which messages waited: how many at the top of its greatest rise, and message-milliseconds in all.

    Without a rise, those of the times in which its offset stood, or in which it fell. `growths`: the intervals of the
    rise, or those times; else the last interval. `times` and `backlog`: its samples (microseconds), what was there.
    """

    queue: MessageQueue
    messages: int
    waited: int
    growths: list[Growth]
    times: Numbers
    backlog: Numbers


class BacklogSamples(NamedTuple):
    """One queue at each of its samples: microseconds, the messages that waited, and whether the offset moved since.

    `without_rewinds` leaves out offsets that go back, which no consumer could have kept away, and ends that fall and
    come back: a slave served for a moment.
    """

    times: Numbers
    messages: Numbers
    without_rewinds: Numbers
    moved: NDArray[np.bool_]


def message_ms(times: Numbers, messages: Numbers) -> int:
    """Message-milliseconds from the first of these samples (microseconds) to the last one."""
    return int((messages[:-1] * np.diff(times)).sum()) // MILLISECOND


def lagging_queues(
    queues: QueueIntervals,
    offsets: Mapping[str, OffsetSamples],
    window: StepWindow,
    settings: AuditSettings,
    unconsumed: Unconsumed = MappingProxyType({}),
) -> Iterator[LaggingQueue]:
    """One per queue in which more than `allowed_lag` messages waited, and more than its owner consumes in a minute.

    The backlog grew by as much at some time of the step, or is as large at the step's end and no smaller than at its
    start. Or the offset stood for `stalled_after_seconds` while so many waited. Or so many waited at the start, and
    fewer at the end: that backlog has grown before, and is worked off. Where the group never committed, the lag is the
    messages produced since nobody consumes the queue, or else since the first sample, if its owner was ever known.
    """
    may_lag = queues.column("lag_max") > settings.thresholds.allowed_lag
    if not (may_lag | ((queues.column("consumer_offset") <= 0) & (queues.column("produced") > 0))).any():  # as mostly
        return

    @cache
    def arrivals(topic: str) -> Matrix:
        """Messages that came to each queue, at its samples in the step and up to `max_gap` before."""
        samples, seen = offsets[topic], offsets[topic].of_step(window, settings.max_gap)
        since = arrived_since(samples, seen, topic, unconsumed)
        if since is None:
            return arrived(samples, seen)
        is_unconsumed = (since != UNKNOWN).any(axis=0)
        return np.where(is_unconsumed, np.maximum(since, 0), arrived(samples, seen))

    firsts = np.flatnonzero(is_first_of_queue(queues.queue))
    enough = _enough(queues, firsts, settings.thresholds.allowed_lag)
    for number in np.flatnonzero(_most(queues, firsts) > enough).tolist():
        entries = slice(int(firsts[number]), int(firsts[number + 1]) if number + 1 < len(firsts) else None)
        rows = [queues.rows[row] for row in queues.row[entries].tolist()]
        of_queue, of_number = list(zip(rows, queues.place[entries].tolist(), strict=True)), int(enough[number])
        queue = _name(of_queue)
        waiting = _waiting(offsets[queue.topic], queue[1:], window, settings.max_gap, partial(arrivals, queue.topic))
        lagging = (
            _piled_up(waiting, of_queue, of_number, settings.max_gap)
            or _stood(waiting, of_queue, of_number, settings.thresholds.stalled_after_seconds * SECOND)
            or _worked_off(waiting, of_queue, of_number)
        )
        if lagging:
            yield lagging


def _name(entries: Entries) -> MessageQueue:
    row, place = entries[0]
    return MessageQueue(row.interval.topic, *row.queues[place])


def _piled_up(waiting: BacklogSamples, entries: Entries, enough: int, max_gap: int) -> LaggingQueue | None:
    """The backlog rose, or is no smaller at the end than at the start."""
    times, messages, without_rewinds, _ = waiting
    bottom, top = greatest_rise(without_rewinds)
    rose = without_rewinds[top] - without_rewinds[bottom] > enough
    if not rose and messages[-1] <= max(messages[0] - 1, enough):
        return None
    row, place = entries[-1]
    growths = _growths(waiting, bottom, top, entries, max_gap) if rose else []
    is_rewound = bool(messages[-1] - without_rewinds[-1] > enough)
    growths = growths or [Growth(row, place, 0, row.start, row.end, is_rewound)]
    most = int(messages[top if rose else -1])
    backlog = np.minimum(messages, most)
    backlog[: bottom if rose else 0] = 0
    backlog[backlog <= enough] = 0
    return LaggingQueue(_name(entries), most, message_ms(times, messages), growths, times, backlog)


def _stood(waiting: BacklogSamples, entries: Entries, enough: int, minimum: int) -> LaggingQueue | None:
    """Messages waited while the offset stood for `minimum` microseconds, though the backlog did not rise by much."""
    times, messages = waiting.times, waiting.messages
    firsts = np.flatnonzero(waiting.moved | (np.arange(len(times)) == 0))
    lasts = np.append(firsts[1:], len(times)) - 1
    is_long = (times[lasts] - times[firsts] >= minimum) & (messages[lasts] > enough)
    if not is_long.any():
        return None
    backlog, growths, waited = np.zeros_like(messages), [], 0
    for first, last in zip(firsts[is_long].tolist(), lasts[is_long].tolist(), strict=True):
        part, start, end = slice(first, last + 1), int(times[first]), int(times[last])
        backlog[part] = messages[part]
        waited += message_ms(times[part], messages[part])
        row, place = next((each for each in reversed(entries) if each[0].start < end), entries[0])
        growths.append(Growth(row, place, int(messages[part].max()), start, end))
    return LaggingQueue(_name(entries), int(backlog.max()), waited, growths, times, backlog)


def _worked_off(waiting: BacklogSamples, entries: Entries, enough: int) -> LaggingQueue | None:
    """More than enough waited at the start, and less at the end."""
    times, messages = waiting.times, waiting.messages
    if messages[0] <= enough:
        return None
    row, place = entries[-1]
    growths = [Growth(row, place, 0, row.start, row.end, is_worked_off=True)]
    return LaggingQueue(_name(entries), int(messages.max()), message_ms(times, messages), growths, times, messages)


def highest_together(queues: Sequence[LaggingQueue]) -> tuple[int, int]:
    """The most messages that waited in these queues at one moment, and in how many queues they waited then."""
    most = highest((queue.times, queue.backlog) for queue in queues)
    if most is None:
        return 0, 0
    last = ((queue.backlog, int(queue.times.searchsorted(most.at, side="right")) - 1) for queue in queues)
    return most.messages, sum(bool(row >= 0 and backlog[row] > 0) for backlog, row in last)


def greatest_rise(messages: Numbers) -> tuple[int, int]:
    """Places of the bottom and the top of the greatest rise; of equal ones the first top, and the last bottom."""
    lowest = np.minimum.accumulate(messages)
    top = int((messages - lowest).argmax())
    return int(np.flatnonzero(messages[: top + 1] == lowest[top])[-1]), top


def _growths(waiting: BacklogSamples, bottom: int, top: int, entries: Entries, max_gap: int) -> list[Growth]:
    """The growth in each interval of the rise, from the sample before if that is more than `max_gap` ago."""
    times = waiting.times
    # The last sample before each interval begins, and before it ends.
    first_rows, last_rows = (
        np.clip(np.searchsorted(times, moments) - 1, bottom, top)
        for moments in ([row.start for row, _ in entries], [row.end for row, _ in entries])
    )
    growth_messages = (waiting.without_rewinds[last_rows] - waiting.without_rewinds[first_rows]).tolist()
    return [
        Growth(
            row,
            place,
            messages,
            int(times[first]) if row.start - times[first] > max_gap else max(row.start, int(times[bottom])),
            min(row.end, int(times[top])),
        )
        for (row, place), messages, first in zip(entries, growth_messages, first_rows, strict=True)
        if messages > 0
    ]


def _waiting(
    samples: OffsetSamples, queue: Place, window: StepWindow, max_gap: int, arrivals: Callable[[], Matrix]
) -> BacklogSamples:
    """The messages at the step's samples of a queue, and at the last one before, no older than `max_gap`. `arrivals`:
    those that came to each queue of the topic.
    """
    column, seen = samples.columns[queue], samples.of_step(window, max_gap)
    times, lag, end = samples.times[seen], samples.lag[seen, column], samples.end_offset[seen, column]
    is_committed = bool(((lag != UNKNOWN) & (end != 0))[times >= window.start].any())
    known = np.flatnonzero((lag if is_committed else end) != UNKNOWN)
    known = known[max(int(np.searchsorted(times[known], window.start)) - 1, 0) :]
    times = times[known]
    if not is_committed:
        since = arrivals()[known, column]
        since -= since[0]
        return BacklogSamples(times, since, since, np.zeros(len(times), np.bool_))
    growth = np.diff(samples.consumed_to[seen, column][known])
    went_back = np.append(0, np.maximum(-growth, 0).cumsum())
    return BacklogSamples(
        times, lag[known], lag[known] - went_back + _missing(end[known]), np.append(False, growth != 0)
    )


def _missing(end: Numbers) -> Numbers:
    """Per sample, the messages by which the end offset is lower than before a fall from which it comes back."""
    highest, missing = np.maximum.accumulate(end), np.zeros_like(end)
    for first, after in runs_of_true(end < highest):
        comes_back = after < len(end) and end[after] - end[after - 1] >= (highest[first] - end[first]) // 2
        missing[first:after] = highest[first] - end[first] if comes_back else 0
    return missing


def _most(queues: QueueIntervals, firsts: Numbers) -> Numbers:
    """Per queue the greatest known lag or, without commits, as behind a proxy, what was produced for known owners."""
    is_replayed = np.array([row.interval.allocation is not None for row in queues.rows])[queues.row]
    produced = np.where(is_replayed, queues.column("produced"), UNKNOWN)
    lag, offset = (np.maximum.reduceat(queues.column(name), firsts) for name in ("lag_max", "consumer_offset"))
    return np.where((lag > 0) | (offset > 0), lag, _sums(produced, firsts))


def _enough(queues: QueueIntervals, firsts: Numbers, allowed_lag: int) -> Numbers:
    """Per queue the messages that are no backlog yet."""
    consumed = queues.column("consumed")
    time = _sums(np.where(consumed != UNKNOWN, queues.lasting, UNKNOWN), firsts)
    pace = _sums(consumed, firsts) * CATCH_UP_SECONDS * SECOND // np.maximum(time, 1)
    return np.maximum(allowed_lag, pace)


def _sums(numbers: Numbers, firsts: Numbers) -> Numbers:
    return np.asarray(np.add.reduceat(np.where(numbers != UNKNOWN, numbers, 0), firsts))


def moments(step: AuditedStep, topics: Iterable[str]) -> Numbers:
    """The times of the topics' offset samples in the step and up to `max_gap` before, in microseconds, ascending."""
    offsets = (step.history.offsets[topic] for topic in topics if topic in step.history.offsets)
    times = (samples.times[samples.of_step(step.window, step.settings.max_gap)] for samples in offsets)
    return np.unique(np.concatenate([np.empty(0, np.int64), *times]))


def counted(step: AuditedStep, topics: Iterable[str], of: Literal["produced", "forward"], at: Numbers) -> Numbers:
    """Messages produced to (or consumed from: `forward`) all queues of the topics up to each moment `at`."""
    total = np.zeros(len(at))
    for samples in (step.history.offsets[topic] for topic in topics if topic in step.history.offsets):
        pairs = sample_pairs(samples, samples.of_step(step.window, step.settings.max_gap))
        messages = getattr(pairs, of)
        if len(pairs.times):
            total += np.interp(at, pairs.times, np.where(messages != UNKNOWN, messages, 0).sum(axis=1).cumsum())
    return np.asarray(np.rint(total), dtype=np.int64)


def rising_time(at: Numbers, amount: Numbers, excess: Numbers, least: int, chance: int) -> Time | None:
    """The time of the greatest rise of `excess`, by which an `amount` is above its limit; both are totals at `at`
    (microseconds). None: there are not two moments. Without a fall of `least` for `chance` microseconds before (or
    after) it, the time begins with the first growth of the amount (or ends with the last moment).
    """
    if len(at) < 2:
        return None
    bottom, top = greatest_rise(excess)
    if excess[: bottom + 1].max() - excess[bottom] < least and at[bottom] - at[0] < chance:
        grown = np.flatnonzero(np.diff(amount) > 0)
        bottom = int(grown[0]) if len(grown) else 0
    if excess[top] - excess[-1] < least and at[-1] - at[top] < chance:
        top = len(at) - 1
    return int(at[bottom]), int(at[top])
