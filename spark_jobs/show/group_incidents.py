"""The incidents of the newest step, group by group."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.severities import INFO, SEVERITIES
from spark_jobs.domain.rules import unobserved
from spark_jobs.show.incidents import IncidentQuery, incidents_near, was_seen_in
from spark_jobs.show.rows import Key
from spark_jobs.show.text.incident_text import attention
from spark_jobs.store.read.published import PublishedTables, Scope

GroupIncidents = Mapping[Key, Sequence[Incident]]


def group_incidents(tables: PublishedTables, names: Scope, newest_step: datetime) -> GroupIncidents:
    """By (cluster, group) the incidents that are open, or were seen in the newest step, as the group has them. Groups
    and incidents are in the order of `worst_first`. UNOBSERVED is about the recorder, and so about no group.
    """
    newest = Interval(newest_step, newest_step + tables.grid.length)
    narrowed = [
        (group, of_group)
        for incident in incidents_near(tables, IncidentQuery(None, names.cluster, is_open=True))
        if incident.rule != unobserved.RULE.name and (incident.resolved_at is None or was_seen_in(incident, newest))
        for group in _most_backlog_first(incident)
        if (of_group := in_group(incident, group)) is not None
    ]
    by_group: dict[Key, list[Incident]] = defaultdict(list)
    for group, incident in sorted(narrowed, key=lambda pair: attention(pair[1]), reverse=True):
        by_group[incident.cluster, group].append(incident)
    return by_group


def _most_backlog_first(incident: Incident) -> list[str]:
    costs = sorted(incident.costs, key=lambda cost: cost.peak_backlog_messages or 0, reverse=True)
    return [cost.consumer_group for cost in costs]


def in_group(incident: Incident, group: str) -> Incident | None:
    """The incident with the severity that it has in this group, and over if it is over there; None: INFO at most."""
    parts = [part for part in (*incident.root_causes, *incident.symptoms) if part.consumer_group == group]
    severity = max((part.severity for part in parts), key=SEVERITIES.index)
    if severity == INFO:
        return None
    ends = [part.resolved_at for part in parts if part.resolved_at is not None]
    resolved_at = max(ends) if len(ends) == len(parts) else incident.resolved_at
    return replace(incident, severity=severity, resolved_at=resolved_at)
