"""Which team a group's incidents and findings belong to: that of the first route that matches."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.model.severities import SEVERITIES

_Text = Annotated[str, Field(min_length=1)]


class TeamRoute(BaseModel):
    """A team and the file with its URL. It matches by patterns of whole names, and from a severity on."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    team: _Text
    to: _Text
    cluster: str = ".*"
    group: str = ".*"
    rule: str = ".*"
    severity: Literal["INFO", "WARN", "ERROR"] = "INFO"


def route_of(routes: Iterable[TeamRoute], cluster: str, group: str, rule: str, severity: str) -> TeamRoute | None:
    """The first route that matches; None: none does."""

    def matches(route: TeamRoute) -> bool:
        is_severe = SEVERITIES.index(severity) >= SEVERITIES.index(route.severity)
        pairs = (route.cluster, cluster), (route.group, group), (route.rule, rule)
        return is_severe and all(re.fullmatch(pattern, name) for pattern, name in pairs)

    return next(filter(matches, routes), None)


def targets_of(routes: Sequence[TeamRoute], incident: Incident, default: str) -> set[str]:
    """The targets of an incident's notifications: for each of its groups the file of its route, or else the default."""
    matching = (
        route_of(routes, incident.cluster, group, incident.rule, incident.severity)
        for group in incident.consumer_groups
    )
    return {route.to if route else default for route in matching}


def with_teams(routes: Sequence[TeamRoute], incident: Incident) -> Incident:
    """The incident with the team of each of its groups."""

    def team(group: str) -> str | None:
        route = route_of(routes, incident.cluster, group, incident.rule, incident.severity)
        return route.team if route else None

    return replace(incident, costs=tuple(cost._replace(team=team(cost.consumer_group)) for cost in incident.costs))


def findings_with_teams(routes: Sequence[TeamRoute], rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows of `findings`, each with its `team` (None: no route matches)."""
    columns = ("cluster", "consumer_group", "rule", "severity")
    routed = ((row, route_of(routes, *(row[name] for name in columns))) for row in rows)
    return [{**row, "team": route.team if route else None} for row, route in routed]
