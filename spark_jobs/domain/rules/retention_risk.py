"""RETENTION_RISK: the broker deletes, or soon will, what the group has not consumed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.audited_step import AuditedStep, IntervalProgress
from spark_jobs.domain.history import UNKNOWN, Matrix, TopicReadings
from spark_jobs.domain.rules import (
    client_hung,
    consumer_lagging,
    consumer_stalled,
    consumer_stopped,
    ghost_member,
    group_offline,
    unassigned_queue,
)
from spark_jobs.domain.rules.follows import Follows, everything, queues
from spark_jobs.domain.rules.progress_queues import queue_at
from spark_jobs.domain.rules.rule import Cause, Rule, RuleHit
from spark_jobs.domain.window import SECOND, StepWindow

NAME = "RETENTION_RISK"
AT_RISK = "AT_RISK"
_A_DAY = 86_400


class RetentionCause(StrEnum):
    """What becomes of messages that are not consumed yet."""

    LOST = "LOST"
    EXPIRING = "EXPIRING"
    AGED = "AGED"


class Waiting(NamedTuple):
    """A queue's offsets: next to consume, oldest that the broker still has; messages a second, None: unknown."""

    consumer_offset: int
    min_offset: int
    consumed_per_second: float | None
    deleted_per_second: float | None


class Minimums:
    """The oldest offsets of a topic's queues in a step's window, and how fast they grew since its first snapshot."""

    def __init__(self, readings: TopicReadings, window: StepWindow) -> None:
        inside = readings.inside(window.read_from, window.end)
        present = readings.present[inside]
        self._columns = readings.columns
        self._times = readings.times[inside]
        self._min_offset = readings.min_offset[inside]
        rows = np.arange(len(present))[:, np.newaxis]
        #: Per snapshot and queue the last row so far that has it, −1: none.
        self._last = np.maximum.accumulate(np.where(present, rows, -1), axis=0)
        self._first = present.argmax(axis=0) if len(present) else np.empty(0, np.int64)

    def at(self, queue: tuple[str, int], moment: int) -> tuple[int, float | None] | None:
        """The oldest offset, and messages deleted a second (None: it is the first that is known); None: not known."""
        column = self._columns.get(queue)
        row = int(np.searchsorted(self._times, moment, side="right")) - 1
        if column is None or row < 0 or self._last[row, column] < 0:
            return None
        first, last = int(self._first[column]), int(self._last[row, column])
        oldest, before = int(self._min_offset[last, column]), int(self._min_offset[first, column])
        if oldest == UNKNOWN:
            return None
        grown = None if before == UNKNOWN else oldest - before
        return oldest, per_second(grown, int(self._times[last] - self._times[first]))


def hits(step: AuditedStep) -> Iterable[RuleHit]:
    """One hit per (interval, queue behind by more than the allowed lag whose messages are lost or expire): by the
    broker's oldest offsets, or by age where those do not say so.
    """
    minimums: dict[str, Minimums] = {}
    for progress in step.progress:
        behind = np.flatnonzero(progress.lag_last > step.settings.thresholds.allowed_lag)
        topic = progress.interval.topic
        found: list[RuleHit] = []
        if len(behind) and topic in step.history.topics:
            if topic not in minimums:
                minimums[topic] = Minimums(step.history.topics[topic], step.window)
            found = list(_of_interval(step, progress, behind, minimums[topic]))
        yield from found
        named = {hit.queue for hit in found}
        yield from (hit for hit in _aged(step, progress, behind) if hit.queue not in named)


def retention_cause(queue: Waiting, within_seconds: float) -> RetentionCause | None:
    """Whether a queue with a backlog lost messages, or will within the time at these rates; None: no, or unknown."""
    left = queue.consumer_offset - queue.min_offset
    if left < 0:
        return RetentionCause.LOST
    if queue.consumed_per_second is None or queue.deleted_per_second is None:
        return None
    gain = queue.deleted_per_second - queue.consumed_per_second
    return RetentionCause.EXPIRING if gain > 0 and left <= gain * within_seconds else None


def per_second(messages: int | None, time: int) -> float | None:
    """So many messages in so many microseconds; None: unknown."""
    return None if messages is None or not time else messages / (time / SECOND)


def _of_interval(
    step: AuditedStep, progress: IntervalProgress, behind: Matrix, minimums: Minimums
) -> Iterator[RuleHit]:
    queues = progress.queues
    for place in behind.tolist():
        at, consumer_offset = int(progress.last_reading_at[place]), int(progress.consumer_offset[place])
        oldest = minimums.at(queues[place], at)
        if oldest is None or consumer_offset == UNKNOWN:
            continue
        consumed = int(progress.consumed[place])
        pace = per_second(None if consumed == UNKNOWN else consumed, at - progress.start)
        queue = Waiting(consumer_offset, oldest[0], pace, oldest[1])
        cause = retention_cause(queue, step.settings.thresholds.retention_seconds)
        if cause:
            yield _hit(step, progress, place, queue, cause)


def _aged(step: AuditedStep, progress: IntervalProgress, behind: Matrix) -> Iterator[RuleHit]:
    """Queues whose oldest message that was not consumed may be as old as the broker keeps messages, or soon will be.

    It is no older than the last one consumed, which is what is known. The broker deletes whole files whose last message
    is older than `fileReservedTime` hours, once a day at `deleteWhen` (04), so that a rate of deletion tells nothing
    before (`DefaultMessageStore.CleanCommitLogService`). What is a day older still is deleted: what waits is younger.
    A queue that was quiet for days and then got messages is not meant: it was behind from the interval's start on.
    """
    thresholds, age = step.settings.thresholds, progress.age_ms[behind]
    reserved = thresholds.reserved_seconds
    is_aged = (age >= (reserved - thresholds.retention_seconds) * 1000) & (age < (reserved + _A_DAY) * 1000)
    for place in behind[is_aged & (progress.lag_first[behind] > thresholds.allowed_lag)].tolist():
        yield RuleHit(
            progress.start,
            progress.end,
            cause=RetentionCause.AGED,
            topic=progress.interval.topic,
            view=progress.interval.view,
            queue=queue_at(progress, place, AT_RISK),
            minimum_seconds=0.0,
            severity="WARN",
            weight=float(progress.age_ms[place]),
            measures={
                "oldest_message_seconds": float(progress.age_ms[place]) / 1000,
                "reserved_seconds": float(thresholds.reserved_seconds),
            },
        )


def _hit(step: AuditedStep, progress: IntervalProgress, place: int, queue: Waiting, cause: RetentionCause) -> RuleHit:
    lost = cause is RetentionCause.LOST
    return RuleHit(
        progress.start,
        progress.end,
        cause=cause,
        topic=progress.interval.topic,
        view=progress.interval.view,
        queue=queue_at(progress, place, AT_RISK),
        minimum_seconds=None if lost else float(step.settings.thresholds.stalled_after_seconds),
        severity="ERROR" if lost else "WARN",
        weight=float(queue.min_offset - queue.consumer_offset),
        measures={
            "consumed_per_second": queue.consumed_per_second,
            "consumer_offset": float(queue.consumer_offset),
            "deleted_per_second": queue.deleted_per_second,
            "min_offset": float(queue.min_offset),
        },
    )


RULE = Rule(
    name=NAME,
    headline="Messages are deleted before {groups} can consume them",
    meaning="The broker deleted messages that the group had not consumed, or will do so soon. The measures are those "
    "of the worst queue: offsets and messages per second, or age in seconds.",
    decided_by="the consumer offset at an interval's last reading against the broker's oldest offset, for queues with "
    "a lag above `allowed_lag`; the rates are those of the interval, the rate of deletion that since the "
    "step's first reading. `AGED`: the age of the oldest message that was not consumed (it is no older than "
    "the last one that was), compared with the time that the broker keeps messages, `reserved_seconds` (72 "
    "hours, the default of `fileReservedTime`). Brokers delete once a day, so nothing may be deleted for "
    "hours, and then a day's messages at once.",
    causes={
        RetentionCause.LOST: Cause(
            "the consumer offset is below the oldest offset that the broker has",
            "The broker deleted messages that the group never consumed. Send them again from their source, and keep "
            "messages longer (fileReservedTime) until the group has caught up.",
        ),
        RetentionCause.EXPIRING: Cause(
            "at the current rates it will be, within `retention_seconds`",
            "Keep messages longer (fileReservedTime, disk space), or make the group consume faster, before they are "
            "deleted.",
        ),
        RetentionCause.AGED: Cause(
            "within `retention_seconds`, messages that wait will be as old as the broker keeps them",
            "The broker will delete these messages at its next cleanup (deleteWhen, by default at 04:00). Keep "
            "messages longer (fileReservedTime) until the group has caught up. If your brokers keep them longer than "
            "72 hours, set reserved_seconds.",
        ),
    },
    example="none: the brokers deleted no message in these 24 minutes.",
    hits=hits,
    follows=(
        Follows(group_offline.NAME, everything),
        Follows(unassigned_queue.NAME, queues),
        Follows(ghost_member.NAME, queues),
        Follows(client_hung.NAME, queues),
        Follows(consumer_stopped.NAME, queues),
        Follows(consumer_stalled.NAME, queues),
        Follows(consumer_lagging.NAME, queues),
    ),
)
