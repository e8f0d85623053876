"""The report's incidents: the worst one, timeline and table; and a page per incident."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from spark_jobs.domain.coverage import NO_COVERAGE, Coverage
from spark_jobs.domain.incidents.facts import part_headline
from spark_jobs.domain.incidents.values import GroupCost, Incident, IncidentPart
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.message_queue import queues_by_topic
from spark_jobs.domain.model.window import from_micros
from spark_jobs.domain.phrases import count, names_text, number_text
from spark_jobs.domain.rules.catalog import RULES
from spark_jobs.show.page.incident_chart import ROWS, incident_chart, incident_id, lanes
from spark_jobs.show.page.style import clock, milliseconds, packed
from spark_jobs.show.rows import Row
from spark_jobs.show.text import incident_text

#: (cluster, consumer group) → id of its page, of those that have one.
GroupIds = Mapping[tuple[str, str], str]

#: Groups and conditions that a page names, and groups whose charts it shows, at most.
GROUPS, PARTS, CHARTS = 50, 100, 6
_RULES = {rule.name: rule for rule in RULES}
#: Names in one line, at most.
_NAMED = 20


def incident_page(incident: Incident, groups: GroupIds, findings: Mapping[str, str]) -> dict[str, Any]:
    """Fields and texts of an incident, for `incident.html` and its table row. `findings`: finding id → HTML id."""
    charted_groups = [
        cost.consumer_group for cost in incident.costs if (incident.cluster, cost.consumer_group) in groups
    ]
    parts = [*((part, True) for part in incident.root_causes), *((part, False) for part in incident.symptoms)]
    return vars(incident) | {
        "id": incident_id(incident),
        "what": incident_text.what_text(incident),
        "opened": clock(from_micros(incident.opened_at)),
        "resolved": None if incident.resolved_at is None else clock(from_micros(incident.resolved_at)),
        "groups": [_link(incident, name, groups) for name in incident.consumer_groups[:3]],
        "more_groups": max(0, len(incident.consumer_groups) - 3),
        "time": incident_text.time_text(incident, clock),
        "advice": incident_text.advice_text(incident, clock),
        "commands": incident_text.commands_by_kind(incident),
        "deletion": incident_text.deletion_text(incident.resolution),
        "peak": incident_text.peak_text(incident),
        "cost": " ".join(incident_text.cost_texts(incident)),
        "facts": list(_facts(incident)),
        "costs": [_group(incident, cost, groups) for cost in incident.costs[:GROUPS]],
        "costs_left_out": max(0, len(incident.costs) - GROUPS),
        "parts": [_part(part, is_root, findings) for part, is_root in parts[:PARTS]],
        "parts_left_out": max(0, len(parts) - PARTS),
        "window": [
            milliseconds(from_micros(moment))
            for moment in (incident.opened_at, incident.resolved_at or incident.last_seen_at)
        ],
        "charts": [_link(incident, name, groups) for name in charted_groups[:CHARTS]],
        "without_charts": len(incident.costs) - len(charted_groups[:CHARTS]),
    }


def _link(incident: Incident, name: str, groups: GroupIds) -> dict[str, Any]:
    return {"name": name, "id": groups.get((incident.cluster, name))}


def _facts(incident: Incident) -> Iterator[tuple[str, str]]:
    yield "rule", incident.rule
    yield "about the rule", incident_text.rule_command(incident)
    yield "cause", incident_text.causes_text(incident)
    yield "cluster", incident.cluster
    yield _counted("group", incident.consumer_groups)
    if incident.teams:
        yield "teams" if incident.teams[1:] else "team", names_text(incident.teams, _NAMED)
    if incident.topics:
        yield _counted("topic", incident.topics)
    if incident.queues:
        yield count(len(incident.queues), "queue"), queues_by_topic(incident.queues)
    if incident.client_ids:
        yield _counted("consumer", incident.client_ids)
    yield "incident", incident.incident_id


def _counted(thing: str, names: Sequence[str]) -> tuple[str, str]:
    return count(len(names), thing) if names[1:] else thing, names_text(names, _NAMED)


def _group(incident: Incident, cost: GroupCost, groups: GroupIds) -> Row:
    """One group of the incident: its cost, and its conditions as sentences, each once."""
    group_parts = [
        part for part in (*incident.root_causes, *incident.symptoms) if part.consumer_group == cost.consumer_group
    ]
    sentences = list(dict.fromkeys(map(_sentence, group_parts)))
    return _link(incident, cost.consumer_group, groups) | {
        "conditions": sentences[:_NAMED],
        "more": max(0, len(sentences) - _NAMED),
        "peak_backlog_messages": number_text(cost.peak_backlog_messages),
        "unowned": cost.unassigned_queue_minutes,
    }


def _sentence(part: IncidentPart) -> str:
    return part_headline(part, _RULES[part.rule]) if part.rule in _RULES else f"{part.rule} {part.subject}"


def _part(part: IncidentPart, is_root: bool, findings: Mapping[str, str]) -> Row:
    at = next((findings[finding] for finding in part.finding_ids if finding in findings), None)
    return {
        **part._asdict(),
        "at": at,
        "is_root": is_root,
        "started_at": from_micros(part.started_at),
        "ended_at": from_micros(part.ended_at),
        "findings": count(part.finding_count, "finding"),
    }


#: Incidents that the report shows, at most: those that need attention most.
INCIDENTS = 500


def incident_section(
    incidents: Sequence[Incident],
    interval: Interval,
    ids: GroupIds,
    groups: Iterable[Mapping[str, Any]],
    coverage: Coverage = NO_COVERAGE,
) -> dict[str, Any]:
    """The content of `incidents.html` and of the incidents' pages. `groups`: the pages of groups."""
    shown = incident_text.worst_first(incidents)[:INCIDENTS]
    findings = {
        finding_id: f"{group['id']}-{row['finding_id']}"
        for group in groups
        for row in group["findings"]
        for finding_id in row["ids"]
    }
    drawn, undrawn = lanes(shown)
    chart = incident_chart(drawn, interval) if drawn else None
    return {
        "text": incident_text.incidents_text(incidents, coverage),
        "worst": shown[0] if shown else None,
        "notes": list(_notes(len(incidents) - len(shown), undrawn)),
        "pages": [incident_page(incident, ids, findings) for incident in shown],
        "chart": chart and chart.id,
        "data": packed([chart]) if chart else None,
    }


def _notes(left_out: int, undrawn: int) -> Iterable[str]:
    if left_out:
        yield (
            f"{count(left_out, 'incident')} that need attention least are left out: choose a shorter interval, "
            "or list all with `rebalance-audit incidents`."
        )
    if undrawn:
        yield f"The timeline has the {ROWS} rows that need attention most; {undrawn:,} more are in the table only."
