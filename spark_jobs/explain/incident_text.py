"""One incident as lines of plain English."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from spark_jobs.domain.incidents.facts import queues_by_topic
from spark_jobs.domain.incidents.values import Incident, IncidentPart
from spark_jobs.domain.intervals import duration_text, format_utc
from spark_jobs.domain.phrases import count
from spark_jobs.domain.window import from_micros
from spark_jobs.explain.text_view import TextLine

#: Names in one line, at most; the others are counted.
_NAMED = 20


def incident_lines(one: Incident) -> Iterator[TextLine]:
    """What happened, where, what it led to, and what to do; the names are as the clients gave them."""
    yield TextLine(f"{one.headline} (cluster {one.cluster})", 0, "title")
    yield TextLine(f"{one.severity} {one.rule}, {_causes(one)}; incident {one.incident_id}", 0, one.severity)
    yield TextLine(_time(one), 0)
    yield TextLine(f"What to do: {one.advice}", 0, "advice")
    yield TextLine("", 0)
    yield TextLine("Where", 0, "title")
    yield TextLine(_named("Group", one.groups), 1)
    if one.topics:
        yield TextLine(_named("Topic", one.topics), 1)
    if one.queues:
        yield TextLine(f"{count(len(one.queues), 'queue')}: {queues_by_topic(one.queues)}", 1)
    if one.members:
        yield TextLine(_named("Consumer", one.members), 1)
    yield from _cost(one)
    yield from _parts("Findings of the cause", one.roots)
    yield from _parts("Consequences", one.consequences)


def _causes(one: Incident) -> str:
    earlier = [cause for cause in one.causes if cause != one.cause]
    return f"{one.cause}, at times {', '.join(earlier)}" if earlier else str(one.cause)


def _time(one: Incident) -> str:
    lasted = duration_text(timedelta(microseconds=one.last_seen_at - one.opened_at))
    opened, seen = format_utc(from_micros(one.opened_at)), format_utc(from_micros(one.last_seen_at))
    if one.resolved_at is None:
        return f"Open since {opened}: it was last seen at {seen} ({lasted}), and nothing is known after that."
    if one.resolved_at > one.last_seen_at:
        gone = format_utc(from_micros(one.resolved_at))
        return (
            f"From {opened} to {seen} ({lasted}), perhaps longer: it was gone at {gone}, the time between is unknown."
        )
    return f"From {opened} to {seen} ({lasted})."


def _cost(one: Incident) -> Iterator[TextLine]:
    if one.piled_up is not None:
        yield TextLine(f"{count(one.piled_up, 'message')} piled up.", 1)
    if one.unowned_queue_minutes:
        yield TextLine(f"Queues had no owner for {one.unowned_queue_minutes:,.1f} queue-minutes in total.", 1)


def _parts(title: str, parts: tuple[IncidentPart, ...]) -> Iterator[TextLine]:
    if parts:
        yield TextLine("", 0)
        yield TextLine(title, 0, "title")
    for part in parts[:_NAMED]:
        where = part.consumer_group if part.topic is None else f"{part.consumer_group}, {part.topic}"
        about = "" if part.subject in (part.topic, part.consumer_group) else f": {part.subject}"
        yield TextLine(f"{part.severity} {part.rule} ({part.cause}) in {where}{about}", 1, part.severity)
        found = count(len(part.finding_ids), "finding")
        yield TextLine(
            f"From {format_utc(from_micros(part.start))} to {format_utc(from_micros(part.end))}, {found}.", 2
        )
    if parts[_NAMED:]:
        yield TextLine(f"… and {len(parts) - _NAMED} more.", 1)


def _named(thing: str, names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _NAMED} more" if names[_NAMED:] else ""
    return f"{thing if len(names) == 1 else thing + 's'}: {', '.join(names[:_NAMED])}{more}"
