"""One incident as lines of plain English."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import groupby

from spark_jobs.domain.coverage import Coverage
from spark_jobs.domain.incidents.values import DELETED, TOPIC_DELETED, Incident, IncidentPart
from spark_jobs.domain.model.intervals import duration_text, format_utc
from spark_jobs.domain.model.message_queue import queues_by_topic
from spark_jobs.domain.model.severities import ERROR, SEVERITIES
from spark_jobs.domain.model.window import SECOND, from_micros
from spark_jobs.domain.phrases import count, names_text, number_text, party_text
from spark_jobs.domain.rules import messages_skipped, offset_beyond_end, unobserved
from spark_jobs.domain.rules.catalog import RULES
from spark_jobs.domain.rules.commands import look_for
from spark_jobs.show.text.phrases import TextLine, severity_counts

#: Groups with the same condition share a line where it began, and ended, less than this apart; microseconds.
_APART = 60 * SECOND
#: Names in one line, at most; the others are counted.
_NAMED = 20


def incident_lines(incident: Incident, *, began_unseen: bool = False) -> Iterator[TextLine]:
    """Lines: what happened, where, its symptoms, and what to do. Names are as the clients gave them. `began_unseen`: it
    may have begun before the recording.
    """
    yield TextLine(f"{incident.headline} (cluster {incident.cluster})", 0, "title")
    yield TextLine(
        f"{incident.severity} {incident.rule}, {causes_text(incident)}; incident {incident.incident_id}",
        0,
        incident.severity,
    )
    yield TextLine(time_text(incident, began_unseen=began_unseen), 0)
    yield TextLine(f"What to do: {advice_text(incident)}", 0, "advice")
    yield from _commands(incident)
    yield TextLine("", 0)
    yield TextLine("Where", 0, "title")
    yield TextLine(_named("Group", incident.consumer_groups), 1)
    if incident.teams:
        yield TextLine(_named("Team", incident.teams), 1)
    if incident.topics:
        yield TextLine(_named("Topic", incident.topics), 1)
    if incident.queues:
        yield TextLine(f"{count(len(incident.queues), 'queue')}: {queues_by_topic(incident.queues)}", 1)
    if incident.client_ids:
        yield TextLine(_named("Consumer", incident.client_ids), 1)
    yield from (TextLine(text, 1) for text in cost_texts(incident))
    yield from _parts("Root cause", incident.root_causes)
    yield from _parts("Symptoms", incident.symptoms)
    yield TextLine("", 0)
    yield TextLine(f"About the rule: {rule_command(incident)}", 0)


def rule_command(incident: Incident) -> str:
    """The command that shows the page of the incident's rule."""
    return f"rebalance-audit rule {incident.rule}"


def advice_text(incident: Incident, written: Callable[[datetime], str] = format_utc) -> str:
    """The advice of an open incident; of one that is over what ended it, and the advice for the next one."""
    if incident.resolved_at is None:
        return incident.advice
    at = written(from_micros(incident.resolved_at))
    if incident.resolution in _DELETED:
        return f"Nothing: the {_DELETED[incident.resolution]} was deleted at {at}."
    by = "at" if incident.resolved_at == incident.last_seen_at else "by"
    rule = next((rule for rule in RULES if rule.name == incident.rule), None)
    ended = (rule.cause_of(incident.cause).ended or rule.ended) if rule else ""
    if not ended:
        return f"It was over {by} {at}. {incident.advice}"
    return f"Nothing now: {ended} {by} {at}. To prevent it, or if it happens again: {incident.advice}"


def _commands(incident: Incident) -> Iterator[TextLine]:
    """The commands, and below those of one kind what to look for in their output."""
    for commands, sentence in commands_by_kind(incident):
        yield from (TextLine(command, 1) for command in commands)
        yield TextLine(sentence, 2)


def commands_by_kind(incident: Incident) -> list[tuple[list[str], str]]:
    """The commands of each kind, and what to look for in their output."""
    return [([*commands], sentence) for sentence, commands in groupby(incident.commands, look_for)]


def incidents_text(incidents: Sequence[Incident], coverage: Coverage) -> str:
    """Counts by severity, such as `3 incidents: 1 ERROR, 2 WARN; 1 is open`. If there is none, what that stands on: `No
    incidents in 17 groups of demo, …, 98 % observed.`, or that none is known, if that is not the whole.
    """
    if not incidents and not coverage.groups:
        return "No incidents are known."
    if not incidents:
        return f"No incidents {'in' if coverage.is_whole else 'are known in'} {coverage.text()}."
    still_open = sum(1 for incident in incidents if incident.resolved_at is None)
    severities = ", ".join(severity_counts(incident.severity for incident in incidents))
    return f"{count(len(incidents), 'incident')}: {severities}; {still_open} {'is' if still_open == 1 else 'are'} open"


def attention(incident: Incident) -> tuple[int, int, bool, bool, int, int]:
    """Sort key, greatest first: severity, open, messages that are lost and in no backlog, peak backlog, newness.
    UNOBSERVED comes last in its severity, as nothing went wrong when the recording ended; first as an ERROR: a whole
    cluster is unseen.
    """
    is_unobserved = incident.rule == unobserved.RULE.name
    place = (2 if incident.severity == ERROR else 0) if is_unobserved else 1
    return (
        SEVERITIES.index(incident.severity),
        place,
        incident.resolved_at is None,
        incident.rule == offset_beyond_end.RULE.name or messages_skipped.BEGAN_AT_END in incident.causes,
        incident.peak_backlog_messages or 0,
        incident.opened_at,
    )


def worst_first(incidents: Iterable[Incident]) -> list[Incident]:
    """The incidents, sorted by `attention`, greatest first."""
    return sorted(incidents, key=attention, reverse=True)


def state_text(incident: Incident, written: Callable[[datetime], str] = format_utc) -> str:
    """Return what follows the headline of an incident: `open since …, peak backlog 1,234 messages`."""
    opened = written(from_micros(incident.opened_at))
    time = (
        f"open since {opened}"
        if incident.resolved_at is None
        else f"{opened} – {written(from_micros(incident.resolved_at))}"
    )
    time += f", {deletion}" if (deletion := deletion_text(incident.resolution)) else ""
    peak = incident.peak_backlog_messages
    at_least = "at least " if incident.backlog_is_minimum else ""
    return time if peak is None else f"{time}, peak backlog {at_least}{count(peak, 'message')}"


def state_word(incident: Incident) -> str:
    """`open`, `over`, or `deleted`: gone with its group or topic."""
    if incident.resolved_at is None:
        return "open"
    return "deleted" if incident.resolution in _DELETED else "over"


def lasted_text(incident: Incident) -> str:
    """How long it was seen."""
    return duration_text(timedelta(microseconds=incident.last_seen_at - incident.opened_at))


def peak_text(incident: Incident) -> str:
    """The peak backlog in messages, or its lower bound, for a column."""
    bound = "≥ " if incident.backlog_is_minimum and incident.peak_backlog_messages is not None else ""
    return f"{bound}{number_text(incident.peak_backlog_messages)}"


#: By the resolution of an incident what was deleted.
_DELETED = {DELETED: "group", TOPIC_DELETED: "topic"}


def deletion_text(resolution: str | None) -> str | None:
    """That its group or topic was deleted, if an incident is over for that."""
    kind = _DELETED.get(resolution or "")
    return kind and f"{kind} deleted"


def causes_text(incident: Incident) -> str:
    """The cause of the incident, and the causes that it had at other times."""
    earlier = [cause for cause in incident.causes if cause != incident.cause]
    return f"{incident.cause}, at times {', '.join(earlier)}" if earlier else str(incident.cause)


def what_text(incident: Incident) -> str:
    """The rule, cause and teams of the incident."""
    return ", ".join((incident.rule, str(incident.cause), *(f"team {team}" for team in incident.teams)))


def time_text(
    incident: Incident, written: Callable[[datetime], str] = format_utc, *, began_unseen: bool = False
) -> str:
    """A sentence: when the incident was opened and resolved; `written` formats a moment."""
    lasted = f"{lasted_text(incident)} of the recording" if began_unseen else lasted_text(incident)
    opened, last_seen = written(from_micros(incident.opened_at)), written(from_micros(incident.last_seen_at))
    opened = f"before {opened}" if began_unseen else opened
    if incident.resolved_at is None:
        return f"Open since {opened}, last seen at {last_seen} ({lasted}); nothing is known after that."
    if kind := _DELETED.get(incident.resolution or ""):
        names = incident.consumer_groups if incident.resolution == DELETED else incident.topics
        last = f"the {kind}" if len(names) == 1 else f"the last of its {kind}s"
        deleted = f"{last} was deleted at {written(from_micros(incident.resolved_at))}: no broker listed it any more"
        return f"From {opened} to {last_seen} ({lasted}); {deleted}."
    if incident.resolved_at > incident.last_seen_at:
        resolved = written(from_micros(incident.resolved_at))
        unknown = f"it was gone at {resolved}, the time between is unknown"
        return f"From {opened} to {last_seen} ({lasted}), perhaps longer: {unknown}."
    return f"From {opened} to {last_seen} ({lasted})."


def cost_texts(incident: Incident) -> Iterator[str]:
    """Sentences: peak backlog, and queue-minutes without owner; none for an unknown or zero cost."""
    if incident.peak_backlog_messages is not None:
        minimum = "at least " if incident.backlog_is_minimum else ""
        yield f"Peak backlog: {minimum}{count(incident.peak_backlog_messages, 'message')}."
    if incident.unassigned_queue_minutes:
        yield f"Queues had no owner for {incident.unassigned_queue_minutes:,.1f} queue-minutes in total."


def _parts(title: str, parts: tuple[IncidentPart, ...]) -> Iterator[TextLine]:
    if parts:
        yield TextLine("", 0)
        yield TextLine(title, 0, "title")
    alike_parts = _alike_parts(parts)
    for alike in alike_parts[:_NAMED]:
        part = alike[0]
        groups = names_text([member.consumer_group for member in alike], _NAMED)
        place = groups if part.topic is None else f"{groups}, {part.topic}"
        about = ", ".join(dict.fromkeys(filter(None, (part.subject if part.names_more else "", part.detail))))
        about = f": {about}" if about else ""
        yield TextLine(f"{part.severity} {part.rule} ({part.cause}) in {place}{about}", 1, part.severity)
        finding_count = count(sum(member.finding_count for member in alike), "finding")
        start, end = min(member.started_at for member in alike), max(member.ended_at for member in alike)
        yield TextLine(f"From {_times(start, end)}, {finding_count}.", 2)
        if len(part.cause_spans) > 1:
            yield TextLine("; ".join(f"{cause} from {_times(start, end)}" for cause, start, end in part.cause_spans), 2)
        for party in part.conflicting_values:
            if party.client_ids != (party.name,):
                yield TextLine(party_text(*party, _NAMED), 2)
    if left_out := sum(map(len, alike_parts[_NAMED:])):
        yield TextLine(f"… and {left_out} more.", 1)


def _times(start: int, end: int) -> str:
    return f"{format_utc(from_micros(start))} to {format_utc(from_micros(end))}"


def _alike_parts(parts: Iterable[IncidentPart]) -> list[list[IncidentPart]]:
    """The parts by time; consecutive ones with one condition at nearly the same time, of different groups, together."""
    alike: list[list[IncidentPart]] = []
    for part in parts:
        if alike and _are_alike(alike[-1][0], part):
            alike[-1].append(part)
        else:
            alike.append([part])
    return alike


def _are_alike(before: IncidentPart, after: IncidentPart) -> bool:
    are_of_groups = all(part.topic is None and not part.names_more for part in (before, after))
    are_of_groups &= before.consumer_group != after.consumer_group
    are_same = (before.severity, before.rule, before.cause) == (after.severity, after.rule, after.cause)
    return (
        are_of_groups
        and are_same
        and max(abs(before.started_at - after.started_at), abs(before.ended_at - after.ended_at)) < _APART
    )


def _named(kind: str, names: tuple[str, ...]) -> str:
    return f"{kind if len(names) == 1 else kind + 's'}: {names_text(names, _NAMED)}"
