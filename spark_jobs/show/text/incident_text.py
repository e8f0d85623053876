"""One incident as lines of plain English."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from spark_jobs.domain.incidents.facts import queues_by_topic
from spark_jobs.domain.incidents.values import Incident, IncidentPart
from spark_jobs.domain.model.intervals import EVER, Interval, duration_text, format_utc
from spark_jobs.domain.model.severities import SEVERITIES, WORST_FIRST
from spark_jobs.domain.model.window import SECOND, from_micros
from spark_jobs.domain.phrases import count, names_text
from spark_jobs.domain.rules import unobserved
from spark_jobs.show.text.interval_text import TextLine

#: Groups of which the same is said are told together where it began, and ended, less than this apart; microseconds.
_APART = 60 * SECOND
#: Names in one line, at most; the others are counted.
_NAMED = 20


def incident_lines(incident: Incident) -> Iterator[TextLine]:
    """What happened, where, what it led to, and what to do; the names are as the clients gave them."""
    yield TextLine(f"{incident.headline} (cluster {incident.cluster})", 0, "title")
    yield TextLine(
        f"{incident.severity} {incident.rule}, {causes_text(incident)}; incident {incident.incident_id}",
        0,
        incident.severity,
    )
    yield TextLine(time_text(incident), 0)
    yield TextLine(f"What to do: {incident.advice}", 0, "advice")
    yield TextLine("", 0)
    yield TextLine("Where", 0, "title")
    yield TextLine(_named("Group", incident.groups), 1)
    if incident.teams:
        yield TextLine(_named("Team", incident.teams), 1)
    if incident.topics:
        yield TextLine(_named("Topic", incident.topics), 1)
    if incident.queues:
        yield TextLine(f"{count(len(incident.queues), 'queue')}: {queues_by_topic(incident.queues)}", 1)
    if incident.members:
        yield TextLine(_named("Consumer", incident.members), 1)
    yield from (TextLine(text, 1) for text in cost_texts(incident.piled_up, incident.unowned_queue_minutes))
    yield from _parts("Findings of the cause", incident.roots)
    yield from _parts("Consequences", incident.consequences)


def incidents_text(incidents: Sequence[Incident]) -> str:
    """How many there are, by severity, such as `3 incidents: 1 ERROR, 2 WARN; 1 is open`."""
    counts = Counter(incident.severity for incident in incidents)
    if not counts:
        return "No incidents."
    still = sum(1 for incident in incidents if incident.resolved_at is None)
    told = ", ".join(f"{counts[severity]} {severity}" for severity in WORST_FIRST if counts[severity])
    return f"{count(len(incidents), 'incident')}: {told}; {still} {'is' if still == 1 else 'are'} open"


def unknown_text(not_audited: Sequence[Interval], not_recorded: Sequence[Interval]) -> str | None:
    """The time of which nothing is known, and why; None: there is none."""
    spans, what = (not_recorded, "recorded") if not_recorded else (not_audited, "audited")
    if not spans:
        return None
    when = "" if list(spans) == [EVER] else f" in {names_text([*map(str, spans)], 3)}"
    return f"unknown: nothing was {what}{when}"


def attention(incident: Incident) -> tuple[int, bool, bool, int, int]:
    """Greater for what should be looked at first: what is worse, then open, then piled up more, then newer. What was
    not recorded comes after all others of its severity: where the recording ended, nothing went wrong.
    """
    recorded = incident.rule != unobserved.NAME
    return (
        SEVERITIES.index(incident.severity),
        recorded,
        incident.resolved_at is None,
        incident.piled_up or 0,
        incident.opened_at,
    )


def worst_first(incidents: Iterable[Incident]) -> list[Incident]:
    """What should be looked at first, first."""
    return sorted(incidents, key=attention, reverse=True)


def state_text(incident: Incident, written: Callable[[datetime], str] = format_utc) -> str:
    """What is said of an incident behind its headline: `open since …, 1,234 messages piled up`."""
    opened = written(from_micros(incident.opened_at))
    time = (
        f"open since {opened}"
        if incident.resolved_at is None
        else f"{opened} – {written(from_micros(incident.resolved_at))}"
    )
    cost = "" if incident.piled_up is None else f", {count(incident.piled_up, 'message')} piled up"
    return f"{time}{cost}"


def causes_text(incident: Incident) -> str:
    """Its cause, and those that it had at other times."""
    earlier = [cause for cause in incident.causes if cause != incident.cause]
    return f"{incident.cause}, at times {', '.join(earlier)}" if earlier else str(incident.cause)


def what_text(incident: Incident) -> str:
    """Its rule, its cause, and whose it is."""
    return ", ".join((incident.rule, str(incident.cause), *(f"team {team}" for team in incident.teams)))


def time_text(incident: Incident, written: Callable[[datetime], str] = format_utc) -> str:
    """When it was opened, and resolved, as a sentence; `written`: how a moment is written."""
    lasted = duration_text(timedelta(microseconds=incident.last_seen_at - incident.opened_at))
    opened, seen = written(from_micros(incident.opened_at)), written(from_micros(incident.last_seen_at))
    if incident.resolved_at is None:
        return f"Open since {opened}: it was last seen at {seen} ({lasted}), and nothing is known after that."
    if incident.resolved_at > incident.last_seen_at:
        gone = written(from_micros(incident.resolved_at))
        return (
            f"From {opened} to {seen} ({lasted}), perhaps longer: it was gone at {gone}, the time between is unknown."
        )
    return f"From {opened} to {seen} ({lasted})."


def cost_texts(piled_up: int | None, unowned_queue_minutes: float) -> Iterator[str]:
    """What it cost, as sentences; nothing about what is unknown or zero."""
    if piled_up is not None:
        yield f"{count(piled_up, 'message')} piled up."
    if unowned_queue_minutes:
        yield f"Queues had no owner for {unowned_queue_minutes:,.1f} queue-minutes in total."


def _parts(title: str, parts: tuple[IncidentPart, ...]) -> Iterator[TextLine]:
    if parts:
        yield TextLine("", 0)
        yield TextLine(title, 0, "title")
    told = _together(parts)
    for same in told[:_NAMED]:
        part = same[0]
        groups = names_text([one.consumer_group for one in same], _NAMED)
        where = groups if part.topic is None else f"{groups}, {part.topic}"
        about = "" if part.subject in (part.topic, part.consumer_group) else f": {part.subject}"
        yield TextLine(f"{part.severity} {part.rule} ({part.cause}) in {where}{about}", 1, part.severity)
        found = count(sum(len(one.finding_ids) for one in same), "finding")
        start, end = min(one.start for one in same), max(one.end for one in same)
        yield TextLine(f"From {format_utc(from_micros(start))} to {format_utc(from_micros(end))}, {found}.", 2)
    if left := sum(map(len, told[_NAMED:])):
        yield TextLine(f"… and {left} more.", 1)


def _together(parts: Iterable[IncidentPart]) -> list[list[IncidentPart]]:
    """In order of time, those of different groups that say the same of a whole group, at nearly the same time."""
    found: list[list[IncidentPart]] = []
    for part in parts:
        if found and _are_same(found[-1][0], part):
            found[-1].append(part)
        else:
            found.append([part])
    return found


def _are_same(one: IncidentPart, other: IncidentPart) -> bool:
    whole = all(part.topic is None and part.subject == part.consumer_group for part in (one, other))
    whole &= one.consumer_group != other.consumer_group
    what = (one.severity, one.rule, one.cause) == (other.severity, other.rule, other.cause)
    return whole and what and max(abs(one.start - other.start), abs(one.end - other.end)) < _APART


def _named(thing: str, names: tuple[str, ...]) -> str:
    return f"{thing if len(names) == 1 else thing + 's'}: {names_text(names, _NAMED)}"
