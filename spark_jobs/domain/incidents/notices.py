"""What somebody is to be told of incidents: that they opened, got worse, or are over; each once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from spark_jobs.domain.incidents.threads import QUIET
from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.model.severities import SEVERITIES

OPENED, WORSE, RESOLVED, WITHDRAWN = "opened", "worse", "resolved", "withdrawn"


class Notice(NamedTuple):
    """What is told, or was told, of an incident as it was then; times are microseconds.

    `told`: `opened`, `worse`, `resolved`, or `withdrawn`: audited again, it is not found any more. `root_finding_ids`:
    the first and the last finding of each root; by one of them it is known where its id has changed.
    """

    incident_id: str
    cluster: str
    told: str
    severity: str
    rule: str
    headline: str
    groups: tuple[str, ...]
    opened_at: int
    resolved_at: int | None
    last_seen_at: int
    root_finding_ids: tuple[str, ...]

    @property
    def is_over(self) -> bool:
        """Whether it says that the incident is over."""
        return self.told in (RESOLVED, WITHDRAWN)


class NoticeScope(NamedTuple):
    """What is new enough to be told; times are microseconds.

    `since`: every incident that was seen after it is given. `recent`: what was not seen after it is no news to somebody
    who was not told of it. `until`: the end of each cluster's newest audited step. `least`: severity from which on an
    incident is told. `only`: the ids of those that somebody is told of who was not before; None: of all.
    """

    since: int
    recent: int
    until: Mapping[str, int]
    least: str
    only: frozenset[str] | None = None


def notices(found: Iterable[Incident], told: Sequence[Notice], scope: NoticeScope) -> list[Notice]:
    """What is to be told of the incidents, the newest first, after all that was told: in the order of telling, of what
    was told at once first what was over, as two incidents may turn out to be one.
    """
    memory, seen = _Memory(told), set[str]()
    new = []
    for incident in found:
        earlier = memory.of(incident)
        seen.update(notice.incident_id for notice in earlier)
        news = _news(incident, earlier, scope)
        if news is not None:
            new.append(_notice(incident, news))
    last = {notice.incident_id: notice for notice in told}
    lost = (one for incident_id, one in last.items() if incident_id not in seen and one.last_seen_at > scope.since)
    new += [one._replace(told=WITHDRAWN) for one in lost if not one.is_over]
    return sorted(new, key=lambda one: (-one.opened_at, one.cluster, one.rule, one.incident_id))


class _Memory:
    """What was told, by incident: also where its id has changed, as history before it was audited later."""

    def __init__(self, told: Sequence[Notice]) -> None:
        self._told = told
        self._places: dict[str, list[int]] = defaultdict(list)
        self._incidents: dict[str, set[str]] = defaultdict(set)
        for place, notice in enumerate(told):
            self._places[notice.incident_id].append(place)
            for finding_id in notice.root_finding_ids:
                self._incidents[finding_id].add(notice.incident_id)

    def of(self, incident: Incident) -> list[Notice]:
        """What was told of it, in the order of telling."""
        names = {incident.incident_id}
        for part in incident.roots:
            for finding_id in part.finding_ids:
                names |= self._incidents.get(finding_id, set())
        return [self._told[place] for place in sorted(place for name in names for place in self._places.get(name, ()))]


def _news(incident: Incident, earlier: Sequence[Notice], scope: NoticeScope) -> str | None:
    """What of it is to be told; None: nothing.

    It is over when it can no longer come back: what does within `QUIET` never went away.
    """
    is_over = incident.resolved_at is not None and incident.resolved_at + QUIET <= scope.until.get(incident.cluster, 0)
    is_told = _rank(incident.severity) >= _rank(scope.least) and (
        scope.only is None or incident.incident_id in scope.only
    )
    if not earlier:
        is_news = is_told and incident.last_seen_at > scope.recent
        return (RESOLVED if is_over else OPENED) if is_news else None
    if earlier[-1].is_over:
        return OPENED if incident.resolved_at is None and is_told else None
    if is_over:
        return RESOLVED
    return WORSE if _rank(incident.severity) > max(_rank(notice.severity) for notice in earlier) else None


def _rank(severity: str) -> int:
    return SEVERITIES.index(severity)


def _notice(incident: Incident, told: str) -> Notice:
    ends = {finding_id for part in incident.roots for finding_id in (part.finding_ids[0], part.finding_ids[-1])}
    return Notice(
        incident_id=incident.incident_id,
        cluster=incident.cluster,
        told=told,
        severity=incident.severity,
        rule=incident.rule,
        headline=incident.headline,
        groups=incident.groups,
        opened_at=incident.opened_at,
        resolved_at=incident.resolved_at,
        last_seen_at=incident.last_seen_at,
        root_finding_ids=tuple(sorted(ends)),
    )
