"""What the report begins with (what is wrong, since when, the timeline and the table of all incidents), and the page of
each incident: what happened, what to do, and what it did to each group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from spark_jobs.domain.incidents.facts import part_headline, queues_by_topic
from spark_jobs.domain.incidents.values import GroupCost, Incident, IncidentPart
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import from_micros
from spark_jobs.domain.phrases import count, names_text, number_text
from spark_jobs.domain.rules.catalog import RULES
from spark_jobs.show.page.incident_chart import ROWS, incident_chart, incident_id, lanes
from spark_jobs.show.page.models import packed
from spark_jobs.show.page.style import clock, milliseconds
from spark_jobs.show.rows import Row
from spark_jobs.show.text.incident_text import (
    causes_text,
    cost_texts,
    incidents_text,
    state_text,
    time_text,
    what_text,
    worst_first,
)

#: (cluster, consumer group) → id of its page, of those that have one.
GroupIds = Mapping[tuple[str, str], str]

#: Groups and conditions that a page names, and groups whose charts it shows, at most.
GROUPS, PARTS, CHARTS = 50, 100, 6
_RULES = {rule.name: rule for rule in RULES}
#: Names in one line, at most.
_NAMED = 20


def _row(one: Incident, groups: GroupIds) -> dict[str, Any]:
    """The incident in the table of all."""
    return {
        "id": incident_id(one),
        "severity": one.severity,
        "headline": one.headline,
        "what": what_text(one),
        "opened": clock(from_micros(one.opened_at)),
        "resolved": None if one.resolved_at is None else clock(from_micros(one.resolved_at)),
        "cluster": one.cluster,
        "groups": [_link(one, name, groups) for name in one.groups[:3]],
        "more_groups": max(0, len(one.groups) - 3),
        "piled_up": one.piled_up,
        "unowned": one.unowned_queue_minutes,
    }


def incident_page(one: Incident, groups: GroupIds, findings: Mapping[str, str]) -> dict[str, Any]:
    """What the template of an incident's page shows. `findings`: by finding id where a group's page tells of it."""
    with_charts = [cost.consumer_group for cost in one.costs if (one.cluster, cost.consumer_group) in groups]
    parts = [*((part, True) for part in one.roots), *((part, False) for part in one.consequences)]
    return _row(one, groups) | {
        "time": time_text(one, clock),
        "cost": " ".join(cost_texts(one.piled_up, one.unowned_queue_minutes)),
        "advice": one.advice,
        "facts": list(_facts(one)),
        "costs": [_group(one, cost, groups) for cost in one.costs[:GROUPS]],
        "costs_left_out": max(0, len(one.costs) - GROUPS),
        "parts": [_part(part, is_root, findings) for part, is_root in parts[:PARTS]],
        "parts_left_out": max(0, len(parts) - PARTS),
        "topics": list(one.topics),
        "window": [
            milliseconds(from_micros(moment)) for moment in (one.opened_at, one.resolved_at or one.last_seen_at)
        ],
        "charts": [_link(one, name, groups) for name in with_charts[:CHARTS]],
        "without_charts": len(one.costs) - len(with_charts[:CHARTS]),
    }


def _link(one: Incident, name: str, groups: GroupIds) -> dict[str, Any]:
    return {"name": name, "id": groups.get((one.cluster, name))}


def _facts(one: Incident) -> Iterator[tuple[str, str]]:
    yield "rule", one.rule
    yield "cause", causes_text(one)
    yield "cluster", one.cluster
    yield f"{len(one.groups):,} groups" if one.groups[1:] else "group", names_text(one.groups, _NAMED)
    if one.teams:
        yield "teams" if one.teams[1:] else "team", names_text(one.teams, _NAMED)
    if one.topics:
        yield f"{len(one.topics):,} topics" if one.topics[1:] else "topic", names_text(one.topics, _NAMED)
    if one.queues:
        yield count(len(one.queues), "queue"), queues_by_topic(one.queues)
    if one.members:
        yield f"{len(one.members):,} consumers" if one.members[1:] else "consumer", names_text(one.members, _NAMED)
    yield "incident", one.incident_id


def _group(one: Incident, cost: GroupCost, groups: GroupIds) -> Row:
    """What it did to one group: its conditions as sentences, each once."""
    of_group = [part for part in (*one.roots, *one.consequences) if part.consumer_group == cost.consumer_group]
    told = list(dict.fromkeys(map(_sentence, of_group)))
    return _link(one, cost.consumer_group, groups) | {
        "told": told[:_NAMED],
        "more": max(0, len(told) - _NAMED),
        "piled_up": number_text(cost.piled_up),
        "unowned": cost.unowned_queue_minutes,
    }


def _sentence(part: IncidentPart) -> str:
    return part_headline(part, _RULES[part.rule]) if part.rule in _RULES else f"{part.rule} {part.subject}"


def _part(part: IncidentPart, is_root: bool, findings: Mapping[str, str]) -> Row:
    at = next((findings[finding] for finding in part.finding_ids if finding in findings), None)
    return {
        **part._asdict(),
        "at": at,
        "is_root": is_root,
        "start": from_micros(part.start),
        "end": from_micros(part.end),
        "findings": count(len(part.finding_ids), "finding"),
    }


def incidents_of_groups(incidents: Iterable[Incident]) -> dict[tuple[str, str], list[Incident]]:
    """By (cluster, consumer group) the incidents that it is a part of, in their order."""
    found: dict[tuple[str, str], list[Incident]] = {}
    for one in incidents:
        for name in one.groups:
            found.setdefault((one.cluster, name), []).append(one)
    return found


#: Incidents that the report tells of, at most: those that need attention most.
INCIDENTS = 500


def shown_of(incidents: Sequence[Incident]) -> list[Incident]:
    """The incidents that the report tells of, the worst first."""
    return worst_first(incidents)[:INCIDENTS]


def incident_section(
    incidents: Sequence[Incident], interval: Interval, ids: GroupIds, groups: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """What the templates of the index and of the incidents' pages show. `groups`: the pages of groups."""
    shown = shown_of(incidents)
    findings = {
        finding_id: f"{group['id']}-{row['finding_id']}"
        for group in groups
        for row in group["findings"]
        for finding_id in row["ids"]
    }
    drawn, undrawn = lanes(shown)
    chart = incident_chart(drawn, interval) if drawn else None
    return {
        "text": incidents_text(incidents),
        "worst": _worst(shown[0]) if shown else None,
        "notes": list(_notes(len(incidents) - len(shown), undrawn)),
        "pages": [incident_page(one, ids, findings) for one in shown],
        "chart": chart and str(chart.id),
        "data": packed([chart]) if chart else None,
    }


def _worst(one: Incident) -> dict[str, str]:
    told = {"id": incident_id(one), "headline": one.headline, "text": state_text(one, clock), "advice": one.advice}
    return told | {"severity": one.severity}


def _notes(left_out: int, undrawn: int) -> Iterable[str]:
    if left_out:
        yield (
            f"{count(left_out, 'incident')} that need attention least are left out: choose a shorter interval, "
            "or list all with `rebalance-audit incidents`."
        )
    if undrawn:
        yield f"The timeline has the {ROWS} rows that need attention most; {undrawn:,} more are in the table only."
