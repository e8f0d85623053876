"""Brokers without a master or read permission, by the routes, and with an empty store, by their queues' ends."""

import numpy as np

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.matrices import last_known
from spark_jobs.domain.model.history import UNKNOWN
from spark_jobs.domain.model.message_queue import PERM_READ
from spark_jobs.domain.model.window import Time, common


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


def has_answered(step: AuditedStep, broker: str, time: Time) -> bool:
    """Return True if the broker answered about the group's members later than in the first round of the time."""
    series = step.history.memberships.get(broker)
    start, end = time[0] + step.settings.cadence, min(time[1], step.window.end)
    return series is not None and series.any_inside(start, end)
