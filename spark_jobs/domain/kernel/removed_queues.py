"""Brokers and queues by routes: queues that were readable before, with their messages, topics that are gone while
brokers are up, brokers without a master or read permission; and by the ends of queues, an empty store.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.matrices import last_known
from spark_jobs.domain.model.caching import cached_with_value
from spark_jobs.domain.model.history import UNKNOWN, GroupHistory, Membership, Numbers, OffsetSamples, Place
from spark_jobs.domain.model.message_queue import PERM_READ, RouteEntry
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.window import HOUR, AuditSettings, StepWindow, Time, common, joined

#: Spans of a topic's route.
Route = Sequence[Span[tuple[RouteEntry, ...]]]


class RemovedQueue(NamedTuple):
    """A maximal span (microseconds) in which a readable queue is beyond the read queues, and its last known backlog."""

    topic: str
    queue: Place
    start: int
    end: int
    backlog: int


@cached_with_value
def removed_queues(step: AuditedStep) -> Sequence[RemovedQueue]:
    """One per span and queue that was not drained before, by topic, queue and time."""
    removed = []
    for topic, samples in step.history.offsets.items():
        route = step.routes.get(topic, ())
        queues = _not_always_readable(route, samples.queues)
        before = readable_before(step, topic) if queues else {}
        absences = (*step.deleted_topics.get(topic, ()), *step.gone_topics.get(topic, ()))
        for queue in queues:
            hour = _last_hour(before, queue)
            times = [*([] if hour is None else [around(step, hour)]), (step.window.read_from, step.window.end)]
            rows = np.r_[tuple(samples.inside(*time) for time in times)]
            for start, end in removed_times(route, queue, absences, was_readable=hour is not None):
                backlog = left_backlog(samples, queue, rows, start)
                if backlog:
                    removed.append(RemovedQueue(topic, queue, start, end, backlog))
    return removed


def readable_before(step: AuditedStep, topic: str) -> Mapping[Place | None, int]:
    """`GroupHistory.readable_before` of the step's window; empty without an interval of the topic."""
    if all(interval.topic != topic for interval in step.intervals):
        return {}
    return step.history.readable_before(topic, step.window, step.settings)


def around(step: AuditedStep, hour: int) -> Time:
    """The time of the samples that a step is given of an hour before its window: `pipeline.sightings`."""
    return hour - step.settings.max_gap, min(hour + HOUR + step.settings.max_gap, step.window.read_from)


def _not_always_readable(route: Route, queues: Iterable[Place]) -> list[Place]:
    """The queues that are beyond the read queues of their broker in any span, in order."""
    fewest: dict[str, int] = {}
    for entry in (entry for span in route for entry in span.state):
        fewest[entry.broker_name] = min(entry.read_queue_nums, fewest.get(entry.broker_name, entry.read_queue_nums))
    return sorted(queue for queue in queues if queue[0] in fewest and queue[1] >= fewest[queue[0]])


def _last_hour(before: Mapping[Place | None, int], queue: Place) -> int | None:
    """The last of the hours in which the queue was readable; None: it was not since the topic was deleted."""
    named = (hour for queues, hour in before.items() if queues and queues[0] == queue[0] and queues[1] > queue[1])
    last = max(named, default=None)
    return None if last is None or last <= before.get(None, last - 1) else last


def removed_times(route: Route, queue: Place, absences: Sequence[Time], *, was_readable: bool) -> list[Time]:
    """The times in which a queue that was readable is beyond the read queues; `absences` of the topic forget it."""
    times: list[Time] = []
    for span in route:
        entry = next((entry for entry in span.state if entry.broker_name == queue[0]), None)
        if entry is None:
            was_readable = was_readable and not any(start <= span.start < end for start, end in absences)
        elif queue[1] < entry.read_queue_nums:
            was_readable = was_readable or bool(entry.perm & PERM_READ)
        elif was_readable:
            times.append(span.time)
    return joined(times)


def left_backlog(samples: OffsetSamples, queue: Place, rows: Numbers, start: int) -> int:
    """The messages in a removed queue by its last known sample; 0: the group may have consumed them meanwhile.

    It has, at its pace, until a snapshot shows the topic without the queue; or the topic was created again.
    """
    at, lag, consumed = (
        samples.times[rows],
        *(matrix[rows, samples.columns[queue]] for matrix in (samples.lag, samples.consumed_to)),
    )
    known = np.flatnonzero((lag != UNKNOWN) & (at < start))[-2:]
    if not len(known):
        return 0
    first, last = known[0], known[-1]
    following = min(last + 1, len(rows) - 1)
    ends, ends_after = samples.end_offset[rows[last]], samples.end_offset[rows[following]]
    if ((ends_after != UNKNOWN) & (ends_after < ends)).any():
        return 0
    until, between = min(int(at[following]), start) if following > last else start, int(at[last] - at[first])
    intervals = max((until - int(at[last])) / max(between, 1), 1)
    return int(lag[last]) if lag[last] > int(consumed[last] - consumed[first]) * intervals else 0


#: Spans of routes by topic, and of what brokers answered about the group by broker.
Routes = Mapping[str, Sequence[Span[tuple[RouteEntry, ...]]]]
Memberships = Mapping[str, Sequence[Span[Membership]]]


def is_up_without(topic: str, broker: str, time: Time, routes: Routes, memberships: Memberships, cadence: int) -> bool:
    """Return True if the broker is in another topic's route in the time or, if in none ever, answers about the group.

    The recorder asks for route after route, so the round in which the broker comes back shows nothing.
    """
    until = time[1] - cadence // 2
    of_other_topics = (span for other, spans in routes.items() if other != topic for span in spans)
    other_spans = [span for span in of_other_topics if any(entry.broker_name == broker for entry in span.state)]
    return any(span.start < until and span.seen_at >= time[0] for span in other_spans or memberships.get(broker, ()))


def gone_topics(
    history: GroupHistory, routes: Routes, memberships: Memberships, window: StepWindow, settings: AuditSettings
) -> dict[str, list[Time]]:
    """By topic the times without route and offset samples in which all brokers are up that its route named before."""
    absences: dict[str, list[Time]] = {}
    for topic, spans in routes.items():
        before = history.readable_before(topic, window, settings) if any(not span.state for span in spans) else {}
        brokers = {queues[0] for queues in before if queues}
        samples = history.offsets.get(topic)
        for span in spans:
            brokers |= {entry.broker_name for entry in span.state}
            is_read = samples is not None and bool(samples.present[samples.inside(*span.time)].any())
            is_up = (is_up_without(topic, each, span.time, routes, memberships, settings.cadence) for each in brokers)
            if not span.state and brokers and not is_read and all(is_up):
                absences.setdefault(topic, []).append(span.time)
    return absences


def brokers_without_master(step: AuditedStep, topic: str, time: Time) -> frozenset[str]:
    """The brokers that only slaves serve at some moment of the time (microseconds), by the topic's route."""
    series = step.history.masterless.get(topic)
    spans = series.spans(step.window, step.settings.max_gap) if series else ()
    return frozenset(broker for span in spans if common(span.time, time) for broker in span.state)


def is_forbidden(step: AuditedStep, broker: str, time: Time) -> bool:
    """Return True if several topics of the group lost the read permission there when the time began, and none has it.

    A broker masks the permissions of all its topics by `brokerPermission` (`BrokerController.registerBrokerAll`).
    Routes are read one after another, so the first and the last round of the time show nothing.
    """
    cadence = step.settings.cadence
    inner, before, lost = (time[0] + cadence, time[1] - cadence), time[0] - cadence, 0
    for route in step.routes.values():
        perms = [((s.start, s.end), entry.perm) for s in route for entry in s.state if entry.broker_name == broker]
        if any(perm & PERM_READ and common(span, inner) for span, perm in perms):
            return False
        forbidden = [span for span, perm in perms if not perm & PERM_READ]
        begins = any(abs(start - time[0]) < cadence for start, _ in forbidden)
        lost += begins and not any(start <= before < end for start, end in forbidden)
    return lost > 1


def has_lost_store(step: AuditedStep, topic: str, broker: str, absence: Time) -> bool:
    """Return True if the ends of the broker's queues alone began again while it was not in the route.

    A slave that serves has most of the messages, so an end must be below half of what it was.
    """
    samples, window = step.history.offsets[topic], step.window
    back = absence[1] - step.settings.cadence // 2
    if absence[1] >= window.end or broker in brokers_without_master(step, topic, (absence[1], window.end)):
        return False
    before = last_known(samples.end_offset[samples.inside(window.read_from, absence[0])])
    after = last_known(samples.end_offset[samples.inside(back, window.end)][::-1])
    of_broker = np.array([name == broker for name, _ in samples.queues], bool)
    known = (before > 0) & (after != UNKNOWN)
    is_lower = known & (2 * np.where(known, after, 0) < before)
    ends_go_on = (known & ~of_broker).any() and not (is_lower & ~of_broker).any()
    return bool(ends_go_on and (known & of_broker).any() and is_lower[known & of_broker].all())
