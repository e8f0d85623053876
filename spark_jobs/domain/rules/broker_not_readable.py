"""BROKER_NOT_READABLE: a broker left a topic's route, or may not be read, while it holds messages for the group."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.finding import FindingQueue, RuleHit
from spark_jobs.domain.model.history import UNKNOWN, OffsetReadings, Place
from spark_jobs.domain.model.message_queue import PERM_READ, RouteEntry
from spark_jobs.domain.model.series import Span, last_hour_before
from spark_jobs.domain.model.severities import ERROR
from spark_jobs.domain.model.window import HOUR
from spark_jobs.domain.rules.roots import brokers
from spark_jobs.domain.rules.rule import Cause, Rule

NAME = "BROKER_NOT_READABLE"
NOT_READABLE = "NOT_READABLE"
#: Spans of a topic's route.
Route = Sequence[Span[tuple[RouteEntry, ...]]]


class NotReadableCause(StrEnum):
    """Why a broker that holds messages of a topic cannot be read."""

    LEFT_ROUTE = "LEFT_ROUTE"
    NO_READ_PERMISSION = "NO_READ_PERMISSION"


class NotReadable(NamedTuple):
    """A maximal span `[start, end)` (microseconds) in which a broker could not be read for one cause."""

    start: int
    end: int
    cause: NotReadableCause


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One hit per (span in which a broker of a topic could not be read, queue with backlog there); one condition per
    topic and cause.
    """
    for topic, route in step.routes.items():
        if topic in step.history.offsets:
            before = seen_before(step, topic, route)
            for broker, spans in not_readable_spans(route, before).items():
                yield from _broker_hits(step, topic, broker, spans, before.get(broker))


def seen_before(step: AuditedStep, topic: str, route: Route) -> dict[str, int]:
    """Brokers that the topic's route named as readable before the step's window, and that are not in its first span:
    each with the start of the last hour in which it was.
    """
    sighted = step.history.readable.get(topic, {})
    missing = sighted.keys() - {entry.broker_name for entry in route[0].state}
    if not missing or all(interval.topic != topic for interval in step.intervals):
        return {}
    hours = {name: last_hour_before(sighted[name], step.window, step.settings) for name in sorted(missing)}
    return {name: hour for name, hour in hours.items() if hour is not None}


def not_readable_spans(route: Route, before: Collection[str] = ()) -> Mapping[str, Sequence[NotReadable]]:
    """Per broker, the spans in which it could not be read, since it was first in the route (or was in it `before`)."""
    spans_of_broker: dict[str, list[NotReadable]] = {broker: [] for broker in before}
    for span in route:
        perm_of = {entry.broker_name: entry.perm for entry in span.state}
        for broker in perm_of:
            spans_of_broker.setdefault(broker, [])
        for broker, spans in spans_of_broker.items():
            cause = not_readable(perm_of.get(broker))
            if cause and spans and spans[-1].end == span.start and spans[-1].cause == cause:
                spans[-1] = spans[-1]._replace(end=span.end)
            elif cause:
                spans.append(NotReadable(span.start, span.end, cause))
    return spans_of_broker


def not_readable(perm: int | None) -> NotReadableCause | None:
    """Why a broker that was in the route cannot be read, None: it can; `perm` None: it is no longer there."""
    if perm is None:
        return NotReadableCause.LEFT_ROUTE
    return None if perm & PERM_READ else NotReadableCause.NO_READ_PERMISSION


def held_backlog(readings: OffsetReadings, broker: str, start: int, end: int) -> dict[Place, int]:
    """The last known backlog, in messages, of each of the broker's queues by the readings in `[start, end)`."""
    inside = readings.inside(start, end)
    if inside.start >= inside.stop:
        return {}
    columns = [column for place, column in readings.columns.items() if place[0] == broker]
    lag = readings.lag[inside][:, columns]
    known = lag != UNKNOWN
    last = len(lag) - 1 - known[::-1].argmax(axis=0)
    backlogs = lag[last, np.arange(len(columns))]
    columns_and_backlogs = zip(columns, backlogs.tolist(), strict=True)
    return {readings.queues[column]: backlog for column, backlog in columns_and_backlogs if backlog != UNKNOWN}


def _broker_hits(
    step: AuditedStep, topic: str, broker: str, spans: Sequence[NotReadable], last_hour: int | None
) -> Iterator[RuleHit]:
    """Readings count from one `max_gap` before a span, so that a broker which is gone has some; each counts for the
    last span that it may count for. Where the broker left before the window, those of its `last_hour` count, too.
    """
    gap, readings = step.settings.max_gap, step.history.offsets[topic]
    for place, span in enumerate(spans):
        following = spans[place + 1].start - gap if place + 1 < len(spans) else span.end
        backlogs = held_backlog(readings, broker, span.start - gap, min(span.end, following))
        if place == 0 and last_hour is not None:
            until = min(last_hour + HOUR + gap, step.window.read_from)
            backlogs = held_backlog(readings, broker, last_hour - gap, until) | backlogs
        total = sum(backlogs.values())
        for (_, queue_id), backlog in backlogs.items():
            if backlog > 0:
                yield RuleHit(
                    span.start,
                    span.end,
                    cause=span.cause,
                    topic=topic,
                    queue=FindingQueue(topic, broker, queue_id, NOT_READABLE),
                    severity=ERROR,
                    weight=total,
                    measures={"last_known_backlog": total},
                )


RULE = Rule(
    name=NAME,
    headline="Consumers cannot read {brokers}, which {brokers:holds|hold} messages for {groups}",
    meaning="A broker that holds messages for the group left the topic's route, or lost its read permission: nobody "
    "can consume them until it is back. One finding per group, topic and cause; `subject` names the queues "
    "with a backlog, `measures` give the messages that it held at the last reading (`last_known_backlog`).",
    decided_by="the topic's route, and the group's offset readings of up to one `max_gap` before. Without a known "
    "backlog there is no finding. A broker that left the route before the step's look-back still counts for "
    "`sightings_days`, with the readings of the last hour in which the route named it. ERROR.",
    causes={
        NotReadableCause.LEFT_ROUTE: Cause(
            "the route named the broker before, and no longer does",
            "The broker is down, or cut off from the name servers. Bring it back to make its messages readable. If it "
            "was removed on purpose, drain it first (perm 4: read only).",
        ),
        NotReadableCause.NO_READ_PERMISSION: Cause(
            "the route names the broker without read permission",
            "The broker has no read permission for the topic: restore it (perm 6) until the messages are consumed.",
        ),
    },
    example="broker-b is killed at 02:21:54 and back at 02:23:24: a finding for every group that had messages in "
    "flight there.",
    hits=hits,
    spreads_by=brokers,
)
