"""The notifications of incidents that are to be sent: that they opened, got worse, or are over; each once."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple

from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.model.finding import QUIET
from spark_jobs.domain.model.severities import ERROR, SEVERITIES
from spark_jobs.domain.model.window import Time

OPENED, WORSE, RESOLVED, WITHDRAWN = "opened", "worse", "resolved", "withdrawn"
#: Of a notification that is about no incident: nothing was published of a step; no run has audited a cluster's newest
#: steps; runs audit it again.
REJECTED, MISSING, BACK = "rejected", "missing", "back"
OF_AUDITS = frozenset((REJECTED, MISSING, BACK))


class Notice(NamedTuple):
    """One notification about an incident as it was then, sent or to be sent; microseconds. `event`: `opened`, `worse`,
    `resolved`, or `withdrawn` (gone from a later audit); or one of OF_AUDITS. `root_finding_ids`: the first and
    the last finding of each root, which identify it if its id changed.
    """

    incident_id: str
    cluster: str
    event: str
    severity: str
    rule: str
    headline: str
    consumer_groups: tuple[str, ...]
    opened_at: int
    resolved_at: int | None
    last_seen_at: int
    root_finding_ids: tuple[str, ...]
    resolution: str | None = None

    @property
    def is_over(self) -> bool:
        """Return whether it says that the incident is over."""
        return self.event in (RESOLVED, WITHDRAWN)


class News(NamedTuple):
    """A notification to be sent, with its incident (None: it was withdrawn, or is about audits). `keys`: the ids under
    which a service knows it that follows incidents by key; an id changes if earlier history is audited later.
    """

    notice: Notice
    incident: Incident | None
    keys: tuple[str, ...]


def audit_notice(cluster: str, event: str, rule: str, headline: str, time: Time, key: str) -> Notice:
    """The notification about audits of a time of a cluster, not about an incident; notifications of one `key` are of
    one thing. `rule`: in place of that of an incident.
    """
    return Notice(
        incident_id=hashlib.sha256(key.encode()).hexdigest()[:16],
        cluster=cluster,
        event=event,
        severity=ERROR,
        rule=rule,
        headline=headline,
        consumer_groups=(),
        opened_at=time[0],
        resolved_at=None,
        last_seen_at=time[1],
        root_finding_ids=(),
    )


class NoticeScope(NamedTuple):
    """Which incidents are worth a notification; microseconds. Every incident seen after `since` is given. A first
    notification needs: last seen after `recent`, severity `least` or worse, and an id in `only` (None: any). `until`:
    the end of the newest audited step of their clusters.
    """

    since: int
    recent: int
    until: int
    least: str
    only: frozenset[str] | None = None


def notices(incidents: Iterable[Incident], sent: Sequence[Notice], scope: NoticeScope) -> list[News]:
    """The notifications to be sent now, the newest incident first. `sent`: all earlier notifications in the order of
    sending; of those sent at once first those of incidents that are over, as two incidents may turn out to be one.
    """
    memory, seen = _Memory(sent), set[str]()
    new = []
    for incident in incidents:
        sent_before = memory.of(incident)
        sent_ids = tuple(dict.fromkeys(notice.incident_id for notice in sent_before))
        seen.update(sent_ids)
        event = _event(incident, sent_before, scope)
        if event is not None:
            keys = sent_ids or (incident.incident_id,)
            notice = _notice(incident, event)
            new.append(News(notice, incident, keys if notice.is_over else keys[:1]))
    last = {notice.incident_id: notice for notice in sent}
    unseen = (notice for incident_id, notice in last.items() if incident_id not in seen)
    lost = (notice for notice in unseen if notice.last_seen_at > scope.since and not notice.is_over)
    new += [News(notice._replace(event=WITHDRAWN), None, (notice.incident_id,)) for notice in lost]
    names = attrgetter("notice.cluster", "notice.rule", "notice.incident_id")
    return sorted(new, key=lambda news: (-news.notice.opened_at, *names(news)))


class _Memory:
    """The notifications sent before, by incident, also if its id changed because earlier history was audited later."""

    def __init__(self, sent: Sequence[Notice]) -> None:
        self._sent = sent
        self._places: dict[str, list[int]] = defaultdict(list)
        self._incidents: dict[str, set[str]] = defaultdict(set)
        for place, notice in enumerate(sent):
            self._places[notice.incident_id].append(place)
            for finding_id in notice.root_finding_ids:
                self._incidents[finding_id].add(notice.incident_id)

    def of(self, incident: Incident) -> list[Notice]:
        """The notifications sent about the incident, in the order in which they were sent."""
        incident_ids = {incident.incident_id}
        for part in incident.root_causes:
            for finding_id in part.finding_ids:
                incident_ids |= self._incidents.get(finding_id, set())
        places = sorted(place for incident_id in incident_ids for place in self._places.get(incident_id, ()))
        return [self._sent[place] for place in places]


def _event(incident: Incident, earlier: Sequence[Notice], scope: NoticeScope) -> str | None:
    """The `event` of the next notification, or None. One that was sent is over when it can no longer come back within
    `QUIET`; one that ended before it was sent is over at once.
    """
    has_ended = incident.resolved_at is not None and incident.resolved_at <= scope.until
    is_over = incident.resolved_at is not None and incident.resolved_at + QUIET <= scope.until
    may_open = _rank(incident.severity) >= _rank(scope.least) and (
        scope.only is None or incident.incident_id in scope.only
    )
    if not earlier:
        is_news = may_open and incident.last_seen_at > scope.recent
        return (RESOLVED if has_ended else OPENED) if is_news else None
    if earlier[-1].is_over:
        if incident.resolved_at is None:
            return OPENED if may_open else None
        return RESOLVED if is_over and incident.last_seen_at > earlier[-1].last_seen_at else None
    if is_over:
        return RESOLVED
    return WORSE if _rank(incident.severity) > max(_rank(notice.severity) for notice in earlier) else None


def _rank(severity: str) -> int:
    return SEVERITIES.index(severity)


def _notice(incident: Incident, event: str) -> Notice:
    finding_ids = {
        finding_id for part in incident.root_causes for finding_id in (part.finding_ids[0], part.finding_ids[-1])
    }
    return Notice(
        incident_id=incident.incident_id,
        cluster=incident.cluster,
        event=event,
        severity=incident.severity,
        rule=incident.rule,
        headline=incident.headline,
        consumer_groups=incident.consumer_groups,
        opened_at=incident.opened_at,
        resolved_at=incident.resolved_at,
        last_seen_at=incident.last_seen_at,
        root_finding_ids=tuple(sorted(finding_ids)),
        resolution=incident.resolution,
    )
