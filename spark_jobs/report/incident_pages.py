"""The page of each incident: what happened, what to do, and what it did to each group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from spark_jobs.domain.incidents.facts import part_headline, queues_by_topic
from spark_jobs.domain.incidents.values import GroupCost, Incident, IncidentPart
from spark_jobs.domain.phrases import count, names_text, number_text
from spark_jobs.domain.rules.catalog import RULES
from spark_jobs.domain.window import from_micros
from spark_jobs.explain.incident_text import causes_text, cost_texts, time_text, what_text
from spark_jobs.report.incident_chart import incident_id
from spark_jobs.report.texts import clock, milliseconds

Row = Mapping[str, Any]
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
