"""GROUP_OFFLINE: no consumer of the group is connected, and there are messages for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.history import UNKNOWN, Matrix, OffsetReadings
from spark_jobs.domain.model.severities import ERROR
from spark_jobs.domain.model.statuses import Status
from spark_jobs.domain.model.window import offline_times
from spark_jobs.domain.rules.rule import Cause, Rule

NAME = "GROUP_OFFLINE"
NOBODY_CONNECTED = "NOBODY_CONNECTED"


class MissedMessages(NamedTuple):
    """Messages of the group's queues; None is unknown: `produced` needs two readings, a backlog a committed offset."""

    produced: int | None
    backlog_end: int | None
    backlog_max: int | None


def hits(step: AuditedStep) -> Iterable[RuleHit]:
    """One hit per maximal span in which a group with messages to consume had no connection; one condition each."""
    empty = [interval for interval in step.intervals if interval.status == Status.REPLAYED and not interval.members]
    if not empty:
        return []
    memberships = (span for spans in step.memberships.values() for span in spans)
    connected = [(span.start, span.end) for span in memberships if span.state.connections]
    offline_hits = []
    for start, end in offline_times(((interval.start, interval.end) for interval in empty), connected):
        messages = missed(step.history.offsets, max(start, step.window.start), end)
        if is_missed(messages):
            seen = (interval.seen_at for interval in empty if interval.start < end and interval.end > start)
            seen_at = min(max((at for at in seen if at is not None), default=start), end)
            offline_hits.append(_hit(start, end, seen_at, step.settings.thresholds.settled_seconds, messages))
    return offline_hits


def missed(offsets: Mapping[str, OffsetReadings], start: int, end: int) -> MissedMessages:
    """Messages produced and waiting in `[start, end)` (microseconds), over all topics, as far as is known."""
    per_topic = [_queue_measures(readings, start, end) for readings in offsets.values()]
    return MissedMessages(*(_known_sum([measured[place] for measured in per_topic]) for place in range(3)))


def is_missed(messages: MissedMessages) -> bool:
    """Whether messages to consume are known; unknown offsets are no evidence."""
    return (messages.produced or 0) > 0 or (messages.backlog_max or 0) > 0


def _queue_measures(readings: OffsetReadings, start: int, end: int) -> tuple[Matrix, Matrix, Matrix]:
    """Produced messages, backlog at the end, and greatest backlog, per queue read in `[start, end)` (microseconds)."""
    inside = readings.inside(start, end)
    present = readings.present[inside]
    columns = np.flatnonzero(present.any(axis=0))
    if not len(columns):
        return columns, columns, columns
    first = present[:, columns].argmax(axis=0)
    last = len(present) - 1 - present[::-1, columns].argmax(axis=0)
    end_offset, lag = readings.end_offset[inside], readings.lag[inside]
    begin, final = end_offset[first, columns], end_offset[last, columns]
    # An offset that shrank is that of a topic made anew.
    known = (begin != UNKNOWN) & (final >= begin) & (first < last)
    produced = np.where(known, final, 0) - np.where(known, begin, 0)
    return np.where(known, produced, UNKNOWN), lag[last, columns], lag[:, columns].max(axis=0)


def _known_sum(parts: list[Matrix]) -> int | None:
    known = [part[part != UNKNOWN] for part in parts]
    return sum(int(part.sum()) for part in known) if any(len(part) for part in known) else None


def _hit(start: int, end: int, seen_at: int, minimum: int, messages: MissedMessages) -> RuleHit:
    return RuleHit(
        start,
        end,
        cause=NOBODY_CONNECTED,
        seen_at=seen_at,
        minimum_seen_seconds=minimum,
        severity=ERROR,
        measures={"backlog_end": messages.backlog_end, "produced": messages.produced},
    )


RULE = Rule(
    name=NAME,
    headline="No consumer of {groups} is connected",
    meaning="No consumer of the group is connected, while its topics receive messages or have a backlog. One finding "
    "per group; `measures` say how many messages were produced (`produced`) and how many were waiting "
    "(`backlog_end`), as far as is known.",
    decided_by="no broker lists a member, whether or not it hosts a topic of the group; snapshots show it for longer "
    "than a restart takes (50 s), and offset readings of that time show messages. Unknown offsets are no evidence: "
    "such a group has no finding of this rule, but its queues are still UNASSIGNED_QUEUE. The rule does not apply to "
    "BROADCASTING, to POP without recorded request modes, or while unseen members consume (MEMBERS_UNSEEN). ERROR.",
    causes={
        NOBODY_CONNECTED: Cause(
            "no broker lists a connection of the group",
            "No consumer of the group was connected. Start one, or delete the group if it is no longer needed.",
        ),
    },
    example="`batch-export`: both members leave at 02:05:54 and join again at 02:13:54.",
    hits=hits,
)
