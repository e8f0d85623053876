"""Brokers that left a topic's route although they are up: the topic is gone, and no broker is dead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spark_jobs.domain.model.history import GroupHistory, Membership
from spark_jobs.domain.model.message_queue import RouteEntry
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.window import AuditSettings, StepWindow, Time

#: Spans of routes by topic, and of what brokers answered about the group by broker.
Routes = Mapping[str, Sequence[Span[tuple[RouteEntry, ...]]]]
Memberships = Mapping[str, Sequence[Span[Membership]]]


def is_up_without(topic: str, broker: str, time: Time, routes: Routes, memberships: Memberships, cadence: int) -> bool:
    """Return True if a snapshot of the time shows the broker: the route of another topic names it, or, if none ever
    did, it answered about the group. A broker that left the routes of several topics is cut off from the name servers.

    The recorder asks for one route after the other, so the round in which the broker comes back shows nothing.
    """
    until = time[1] - cadence // 2
    other_spans = [span for other, spans in routes.items() if other != topic for span in spans if _names(span, broker)]
    return any(span.start < until and span.seen_at >= time[0] for span in other_spans or memberships.get(broker, ()))


def gone_topics(
    history: GroupHistory, routes: Routes, memberships: Memberships, window: StepWindow, settings: AuditSettings
) -> dict[str, list[Time]]:
    """By topic the times in which its route is empty although all brokers are up that it named before, in the window or
    before it. A topic is not gone while its offsets are read.
    """
    absences: dict[str, list[Time]] = {}
    for topic, spans in routes.items():
        before = history.readable_before(topic, window, settings) if any(not span.state for span in spans) else {}
        brokers = {queues[0] for queues in before if queues}
        readings = history.offsets.get(topic)
        for span in spans:
            time = span.start, span.end
            brokers |= {entry.broker_name for entry in span.state}
            is_read = readings is not None and bool(readings.present[readings.inside(*time)].any())
            is_empty = not span.state and brokers and not is_read
            if is_empty and all(
                is_up_without(topic, broker, time, routes, memberships, settings.cadence) for broker in brokers
            ):
                absences.setdefault(topic, []).append(time)
    return absences


def _names(span: Span[tuple[RouteEntry, ...]], broker: str) -> bool:
    return any(entry.broker_name == broker for entry in span.state)
