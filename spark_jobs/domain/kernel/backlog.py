"""The backlog of a group, sample by sample: the messages of its topics that it has not consumed.

Of one queue, at a sample:

| offsets | backlog |
|---|---|
| both are known | the end less the committed one, at least 0 (`OffsetSamples.lag`) |
| the committed one is beyond the end, by more than the race of two reads | unknown: of another life of the topic |
| none was ever committed, and nothing came | 0 |
| none was ever committed | unknown; of a queue that nobody consumes, at least what came since that began in the step |
| the end is not known (logs) | unknown |
| not in this snapshot (a broker did not answer) | as in its last one; once that holds no more, also unknown |
| the queue left the route | as in its last one: nobody can consume it there |
| no client may read it, in the whole step | not in it: STRANDED_WRITE_QUEUES says what it holds |
| of a retry topic of POP | not in it: POP_REDELIVERING says what waited there |
| the end fell, or the topic was created again | the new end less the committed offset, or unknown as above |

Of a topic it is the sum of its queues' at one moment, never of peaks of different moments; a queue counts from the
first interval of the step on that measures it. A group's is the sum of its topics' last samples at one moment.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.kernel.audited_step import AuditedStep, IntervalProgress
from spark_jobs.domain.kernel.matrices import age_ms, known_totals, latest_rows, no_older
from spark_jobs.domain.kernel.sample_pairs import arrived, sample_pairs
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.history import UNKNOWN, Mask, Matrix, Numbers, OffsetSamples, Place
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.statuses import LagQuality
from spark_jobs.domain.model.window import MINUTE, Time

#: By queue, the times in which nobody consumes it, though the group's offsets do not say what waits there.
Unconsumed = Mapping[MessageQueue, Sequence[Time]]


@dataclass(frozen=True)
class TopicBacklog:
    """The backlog of one topic at each of its samples in a step: `times` in microseconds, ascending.

    `messages`: of the queues whose backlog is known, `UNKNOWN`: of none; `unknown_queues`: the others that have
    messages. `age_ms`: the oldest message that waits is no older, `UNKNOWN`: none waits, or nothing is known.
    `produced`, `consumed`: since the sample before, of the queues of which that is known, `UNKNOWN`: of none.
    `is_empty`: nothing was ever sent to its queues. `without_offset`: the messages in queues that nobody consumes at
    the last sample, as far as they came since.
    """

    topic: str
    times: Numbers
    messages: Numbers
    unknown_queues: Numbers
    age_ms: Numbers
    produced: Numbers
    consumed: Numbers
    is_filtered: bool
    is_empty: bool
    without_offset: Mapping[Place, int]

    @property
    def quality(self) -> LagQuality | None:
        """UNFILTERED where messages that the group skips count, too; None: nothing is known."""
        if (self.messages == UNKNOWN).all():
            return None
        return LagQuality.UNFILTERED if self.is_filtered else LagQuality.MEASURED

    def by_minute(self) -> dict[str, Numbers]:
        """An entry per minute with a sample: its start (`at`), `messages` and `unknown_queues` at its last sample, the
        most messages of any (`messages_max`), the highest age, and what was produced and consumed.
        """
        minutes = self.times // MINUTE
        firsts = np.flatnonzero(np.diff(minutes, prepend=-1))
        lasts = np.append(firsts[1:], len(minutes)) - 1
        return {
            "at": minutes[firsts] * MINUTE,
            "messages": self.messages[lasts],
            "messages_max": np.maximum.reduceat(self.messages, firsts),
            "unknown_queues": self.unknown_queues[lasts],
            "oldest_message_ms": np.maximum.reduceat(self.age_ms, firsts),
            "produced": _sums(self.produced, firsts),
            "consumed": _sums(self.consumed, firsts),
        }


class Peak(NamedTuple):
    """The most messages of a group at one moment, microseconds."""

    messages: int
    at: int


def topic_backlogs(step: AuditedStep, unconsumed: Unconsumed) -> list[TopicBacklog]:
    """One per topic that has a sample in the step while an interval measures its queues, by name."""
    rows_of_topics = by_key(step.progress, lambda row: row.interval.topic)
    backlogs = []
    for topic in sorted(rows_of_topics):
        samples = step.unread.get(topic) or step.history.offsets.get(topic)
        if samples is not None and samples.any_inside(step.window.start, step.window.end):
            backlog = _topic_backlog(step, topic, samples, rows_of_topics[topic], unconsumed)
            if len(backlog.times):
                backlogs.append(backlog)
    return backlogs


def peak(backlogs: Sequence[TopicBacklog]) -> Peak | None:
    """The most that all topics have together; None: no backlog is known. An empty topic makes no sum known, unless all
    are.
    """
    filled = [backlog for backlog in backlogs if not backlog.is_empty] or backlogs
    return highest((backlog.times, backlog.messages) for backlog in filled)


def highest(series: Iterable[tuple[Numbers, Numbers]]) -> Peak | None:
    """The most of several series together, each by its last sample then: times, and messages or `UNKNOWN`; None: all
    are.
    """
    of_all = list(series)
    if len(of_all) == 1 and len(of_all[0][0]):  # as mostly
        ((times, messages),) = of_all
        place = int(messages.argmax())
        return None if messages[place] == UNKNOWN else Peak(int(messages[place]), int(times[place]))
    times = np.unique(np.concatenate([np.empty(0, np.int64), *(own for own, _ in of_all)]))
    total, is_known = np.zeros(len(times), np.int64), np.zeros(len(times), bool)
    for own, known in of_all:
        rows = own.searchsorted(times, side="right") - 1
        messages = (
            np.where(rows >= 0, known[np.maximum(rows, 0)], UNKNOWN) if len(own) else np.full(len(times), UNKNOWN)
        )
        total += np.where(messages != UNKNOWN, messages, 0)
        is_known |= messages != UNKNOWN
    if not is_known.any():
        return None
    place = int(np.where(is_known, total, -1).argmax())
    return Peak(int(total[place]), int(times[place]))


def arrived_since(samples: OffsetSamples, seen: slice, topic: str, unconsumed: Unconsumed) -> Matrix | None:
    """Messages that came to each queue of the topic since nobody consumes it, at each sample of `seen`; `UNKNOWN` where
    somebody does. None: somebody consumes all of them, all the time.
    """
    times_of_columns = {
        samples.columns[queue[1:]]: times
        for queue, times in unconsumed.items()
        if queue.topic == topic and queue[1:] in samples.columns
    }
    if not times_of_columns:
        return None
    since = np.full((seen.stop - seen.start, len(samples.queues)), UNKNOWN)
    total = arrived(samples, seen)
    for column, times in times_of_columns.items():
        for time in times:
            inside = samples.inside(*time)
            rows = slice(inside.start - seen.start, inside.stop - seen.start)
            is_known = samples.end_offset[inside, column] != UNKNOWN
            if is_known.any():
                of_time = total[rows, column]
                since[rows, column] = np.where(is_known, of_time - of_time[is_known.argmax()], UNKNOWN)
    return since


def _topic_backlog(
    step: AuditedStep,
    topic: str,
    samples: OffsetSamples,
    rows_of_topic: Sequence[IntervalProgress],
    unconsumed: Unconsumed,
) -> TopicBacklog:
    seen = samples.of_step(step.window, step.settings.max_gap)
    measured, pairs = _measured(samples, seen, rows_of_topic), sample_pairs(samples, seen)
    # Of a queue that no sample of the window shows, a longer run knows others.
    measured &= samples.present[samples.inside(step.window.read_from, step.window.end)].any(axis=0)
    counted = np.maximum.accumulate(measured, axis=0) & measured.any(axis=1, keepdims=True)
    lag, is_old = _last_lags(samples, seen, step.settings.max_gap)
    missing = (lag == UNKNOWN) | (measured & is_old)
    since = arrived_since(samples, seen, topic, unconsumed)
    if since is not None:
        since = np.where(lag == UNKNOWN, since, UNKNOWN)
        lag = np.where(lag == UNKNOWN, since, lag)
    known = counted & (lag != UNKNOWN)
    # An empty queue makes no sum known.
    has_messages = samples.end_offset[seen] != 0
    unknown_queues = (counted & has_messages & missing).sum(axis=1)
    is_known = (known & has_messages).any(axis=1) | (unknown_queues == 0)
    ages = age_ms(samples.times[seen, None], samples.last_timestamp[seen], samples.lag[seen])
    places = np.arange(seen.start, seen.stop)[:, None], np.arange(len(samples.queues))
    ages = no_older(ages, samples, seen, *places)
    measures = {
        "times": samples.times[seen],
        "messages": np.where(is_known, np.where(known, lag, 0).sum(axis=1), UNKNOWN),
        "unknown_queues": unknown_queues,
        "age_ms": np.where(counted, ages, UNKNOWN).max(axis=1, initial=UNKNOWN),
        "produced": known_totals(np.where(counted, pairs.produced, UNKNOWN), axis=1),
        "consumed": known_totals(np.where(counted, pairs.forward, UNKNOWN), axis=1),
    }
    shown = counted.any(axis=1)
    rest = {} if since is None else {place: int(since[-1, at]) for place, at in samples.columns.items()}
    return TopicBacklog(
        topic,
        is_filtered=any(row.is_filtered for row in rows_of_topic),
        is_empty=not (counted & has_messages).any(),
        without_offset={place: messages for place, messages in rest.items() if messages > 0},
        **{name: column[shown] for name, column in measures.items()},
    )


def _measured(samples: OffsetSamples, seen: slice, rows_of_topic: Iterable[IntervalProgress]) -> Mask:
    """Per sample of `seen` and queue, whether an interval of the step measures it then."""
    measured = np.zeros((seen.stop - seen.start, len(samples.queues)), bool)
    for row in rows_of_topic:
        inside = samples.inside(row.start, row.end)
        columns = [samples.columns[queue] for queue in row.queues if queue in samples.columns]
        rows = slice(inside.start - seen.start, inside.stop - seen.start)
        measured[rows, slice(None) if len(columns) == len(samples.queues) else columns] = True
    return measured


def _last_lags(samples: OffsetSamples, seen: slice, max_gap: int) -> tuple[Matrix, Mask]:
    """Per sample of `seen` and queue, the lag at the queue's last sample, and whether that does not hold any more."""
    lag, present, times = samples.lag[seen], samples.present[seen], samples.times[seen]
    if present.all():  # as mostly
        return lag, np.zeros_like(present)
    last = latest_rows(present)
    lags = np.where(last >= 0, np.take_along_axis(lag, np.maximum(last, 0), axis=0), UNKNOWN)
    return lags, times[:, None] - times[np.maximum(last, 0)] > max_gap


def _sums(messages: Numbers, firsts: Numbers) -> Numbers:
    """The sums of the known messages of the parts that begin at `firsts`; `UNKNOWN`: none is known of a part."""
    known = messages != UNKNOWN
    sums = np.add.reduceat(np.where(known, messages, 0), firsts)
    return np.where(np.logical_or.reduceat(known, firsts), sums, UNKNOWN)
