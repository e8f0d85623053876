"""Backlog of a group's queues over a step, and the rates at which messages were produced and consumed."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.kernel.audited_step import IntervalProgress
from spark_jobs.domain.kernel.backlog import TopicBacklog
from spark_jobs.domain.kernel.matrices import Columns
from spark_jobs.domain.model.caching import cached_with_value
from spark_jobs.domain.model.history import UNKNOWN, Numbers, Place
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.window import SECOND

_MILLION = 1_000_000


class Backlog(NamedTuple):
    """Over all queues of a group; messages, milliseconds, messages a second; None is unknown.

    `backlog_end`: the sum of the known lags at each queue's last sample, and of what came to queues that nobody
    consumes; `backlog_start`: of the former at their first samples, None if one is unknown; `unknown_queues`: those
    without a known last lag.
    """

    backlog_start: int | None
    backlog_end: int | None
    unknown_queues: int
    oldest_message_ms: int | None
    produced_messages_per_second: float | None
    consumed_messages_per_second: float | None


@dataclass(frozen=True)
class QueueIntervals:
    """The progress of a group in a step, an entry per (interval, queue), sorted by queue and, within, by time.

    `order`: where the entry stands in the joined lists of all `rows`; `queue`: the number of the queue; `row` and
    `place`: where the entry stands, in `rows` and in its interval's list.
    """

    rows: Sequence[IntervalProgress]
    queue_count: int
    order: Columns
    queue: Numbers
    row: Numbers
    place: Numbers

    @cached_with_value
    def column(self, name: str) -> Numbers:
        """The field of `IntervalProgress` with this name, one number per entry."""
        return self.per_entry([getattr(row, name) for row in self.rows])

    def per_entry(self, columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """One number per entry, of those of each row's queues."""
        return np.concatenate(columns)[self.order] if columns else self.queue

    @cached_property
    def lasting(self) -> Numbers:
        """Per entry, how long its interval is inside the step, in microseconds."""
        return self._ended - self._began

    @cached_property
    def _began(self) -> Numbers:
        return np.array([row.start for row in self.rows], np.int64)[self.row]

    @cached_property
    def _ended(self) -> Numbers:
        return np.array([row.end for row in self.rows], np.int64)[self.row]

    @cached_property
    def _read(self) -> tuple[Numbers, Numbers]:
        """The first and the last entry with a sample, per queue whose lag is known at its last sample."""
        entries = (self.column("readings") > 0).nonzero()[0]
        queue = self.queue[entries]
        firsts, lasts = entries[is_first_of_queue(queue)], entries[is_first_of_queue(queue[::-1])[::-1]]
        is_known = self.column("lag_last")[lasts] != UNKNOWN
        return firsts[is_known], lasts[is_known]

    @cached_property
    def _had_messages(self) -> NDArray[np.bool_]:
        """Per entry, whether its queue ever had messages, so that empty queues make no sum known; True if none had."""
        lasts = self._read[1]
        empty = lasts[(self.column("consumer_offset")[lasts] == 0) & (self.column("lag_last")[lasts] == 0)]
        return np.asarray((len(empty) == self.queue_count) | ~self._belongs_to(self.queue[empty]))

    @cached_property
    def _ends(self) -> tuple[Numbers, Numbers]:
        """The entries of `_read` whose queues ever had messages."""
        firsts, lasts = self._read
        return firsts[self._had_messages[firsts]], lasts[self._had_messages[lasts]]

    @cached_property
    def _known(self) -> Numbers:
        """The entries with a known lag, of the queues in `_ends`."""
        is_known = self._belongs_to(self.queue[self._ends[1]]) & (self.column("lag_last") != UNKNOWN)
        return np.asarray(is_known.nonzero()[0])

    def _belongs_to(self, queues: Numbers) -> NDArray[np.bool_]:
        """Per entry, whether it belongs to one of these queues."""
        chosen = np.zeros(self.queue_count, bool)
        chosen[queues] = True
        return chosen[self.queue]

    @property
    def unknown_at_first(self) -> int:
        """How many of the queues in `_ends` have an unknown lag at their first sample."""
        return int((self.column("lag_first")[self._ends[0]] == UNKNOWN).sum())

    @cached_property
    def topics_with_lag(self) -> set[str]:
        """The topics of queues with a known lag."""
        return {self.rows[row].interval.topic for row in set(self.row[self._known].tolist())}

    def unknown(self) -> list[MessageQueue]:
        """The queues whose lag is unknown at their last sample; of retry topics those with new messages."""
        known = set(self.queue[self._read[1]].tolist())
        has_messages = self.column("produced") > 0
        is_ordinary = np.array([row.interval.is_ordinary for row in self.rows], bool)
        unknown = set(self.queue[is_ordinary[self.row] | has_messages].tolist()) - known
        firsts = np.searchsorted(self.queue, sorted(unknown)).tolist()
        rows = ((self.rows[self.row[entry]], self.place[entry]) for entry in firsts)
        return [MessageQueue(row.interval.topic, *row.queues[place]) for row, place in rows]

    def grown(self) -> tuple[Numbers, Numbers]:
        """The entries whose lag changed since the queue's entry before, or first sample, or that grew while stuck, and
        by how many messages the lag changed.
        """
        lag_first, last = self.column("lag_first"), self.column("lag_last")[self._known]
        is_first = is_first_of_queue(self.queue[self._known])
        start, own = lag_first[self._ends[0]], lag_first[self._known[is_first]]
        before = np.append(0, last[:-1])[: len(last)]
        before[is_first] = np.where(start != UNKNOWN, start, own)
        has_parts = (before != last) | (self.column("stuck_growth")[self._known] != 0)
        grown = (has_parts & (before != UNKNOWN)).nonzero()[0]
        return self._known[grown], last[grown] - before[grown]

    def backlog(self, backlogs: Sequence[TopicBacklog] = ()) -> Backlog:
        """The backlog of all queues together; `backlogs`: that of each topic, sample by sample."""
        firsts, lasts = self._ends
        start, end = _total(self.column("lag_first")[firsts]), _total(self.column("lag_last")[lasts])
        without_offset = sum(sum(backlog.without_offset.values()) for backlog in backlogs)
        if without_offset:
            start, end = 0 if end is None else start, (end or 0) + without_offset
        oldest = int(self.column("age_ms").max(initial=UNKNOWN))
        return Backlog(
            backlog_start=start,
            backlog_end=end,
            unknown_queues=self.queue_count - len(self._read[1]),
            oldest_message_ms=None if oldest == UNKNOWN else oldest,
            produced_messages_per_second=self._rate("produced"),
            consumed_messages_per_second=self._rate("consumed"),
        )

    def _rate(self, name: str) -> float | None:
        """Messages a second, from the first known interval of each queue to its last sample: what was produced in a gap
        counts after it. In integers, so that the order does not matter.
        """
        messages = self.column(name)
        known = ((messages != UNKNOWN) & self._had_messages).nonzero()[0]
        if not len(known):
            return None
        queue = self.queue[known]
        firsts, lasts = is_first_of_queue(queue).nonzero()[0], is_first_of_queue(queue[::-1])[::-1].nonzero()[0]
        sums = np.add.reduceat(messages[known], firsts).tolist()
        ended, read_at = self._ended[known[lasts]], self.column("last_reading_at")[known[lasts]]
        began = self._began[known[firsts]]
        micros = (np.where(read_at > began, read_at, ended) - began).tolist()
        # Messages a second in millionths, half of one rounded up.
        rates = [(2 * count * SECOND * _MILLION + time) // (2 * time) for count, time in zip(sums, micros, strict=True)]
        return float(sum(rates) / _MILLION)


def queue_intervals(progress: Sequence[IntervalProgress]) -> QueueIntervals:
    """The entries of the progress of a group in a step."""
    rows = sorted(progress, key=lambda row: row.start)
    names: list[tuple[str, Place]] = [(row.interval.topic, place) for row in rows for place in row.queues]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    queue = np.array([numbers[name] for name in names], int)
    # Mostly each queue is there once.
    order = slice(None) if len(numbers) == len(names) else np.argsort(queue, kind="stable")
    lengths = np.array([len(row.queues) for row in rows], np.int64)
    row = np.repeat(np.arange(len(rows)), lengths)
    place = np.arange(len(names)) - (lengths.cumsum() - lengths)[row]
    return QueueIntervals(rows, len(numbers), order, queue[order], row[order], place[order])


def is_first_of_queue(queue: Numbers) -> NDArray[np.bool_]:
    """Per entry whether it is the first of its queue; `queue`: the numbers of the queues, sorted."""
    first = np.ones(len(queue), bool)
    np.not_equal(queue[1:], queue[:-1], out=first[1:])
    return first


def _total(messages: Numbers) -> int | None:
    return int(messages.sum()) if len(messages) and (messages != UNKNOWN).all() else None
