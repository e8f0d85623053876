"""Brokers without a master, by the routes."""

from __future__ import annotations

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.window import Time, common


def brokers_without_master(step: AuditedStep, topic: str, time: Time) -> frozenset[str]:
    """The brokers that only slaves serve at some moment of the time (microseconds), by the topic's route."""
    series = step.history.masterless.get(topic)
    spans = series.spans(step.window, step.settings.max_gap) if series else ()
    return frozenset(broker for span in spans if common((span.start, span.end), time) for broker in span.state)
