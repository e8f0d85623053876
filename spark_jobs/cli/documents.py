"""What a program reads: JSON on stdout."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from spark_jobs.domain.intervals import Interval, format_utc
from spark_jobs.domain.window import from_micros

if TYPE_CHECKING:
    from spark_jobs.domain.incidents.values import Incident
    from spark_jobs.domain.trends import GroupTrend, GroupWeek
    from spark_jobs.jobs.run import RunResult


def as_json(document: Mapping[str, Any]) -> str:
    """The document as ASCII JSON; times as ISO 8601 in UTC with Z."""
    return json.dumps(document, indent=2, default=_json_value)


def _json_value(value: object) -> str:
    if isinstance(value, datetime):
        return format_utc(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def run_document(result: RunResult) -> dict[str, Any]:
    """A run for `as_json`."""
    warnings = {"warnings": result.warnings, "quality_warnings": result.quality_warnings}
    return {"run": result.run, "findings": result.findings} | warnings


def incidents_document(incidents: Iterable[Incident], unknown: Iterable[Interval]) -> dict[str, Any]:
    """Incidents for `as_json`, and the time in which nothing was audited."""
    return {"incidents": [_incident(one) for one in incidents], "not_audited": [*map(str, unknown)]}


def trends_document(found: Iterable[GroupTrend]) -> dict[str, Any]:
    """Trends for `as_json`."""
    return {"groups": [{**one._asdict(), "weeks": [*map(_week, one.weeks)]} for one in found]}


def _week(one: GroupWeek) -> dict[str, Any]:
    return {**one._asdict(), "start": from_micros(one.start), "end": from_micros(one.end)}


def _incident(one: Incident) -> dict[str, Any]:
    times = {"opened_at": one.opened_at, "resolved_at": one.resolved_at, "last_seen_at": one.last_seen_at}
    told = {name: None if at is None else from_micros(at) for name, at in times.items()}
    queues = [{"topic": topic, "broker_name": broker, "queue_id": number} for topic, broker, number in one.queues]
    parts = {
        name: [
            {**part._asdict(), "start": from_micros(part.start), "end": from_micros(part.end)}
            for part in getattr(one, name)
        ]
        for name in ("roots", "consequences")
    }
    costs = [cost._asdict() for cost in one.costs]
    return {**dataclasses.asdict(one), **told, "queues": queues, **parts, "costs": costs}
