"""Requests for notifications, and the messages about incidents: one per target and cluster, at once or daily."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import NamedTuple

from schemas import INCIDENTS
from spark_jobs.domain.incidents.notices import OF_AUDITS, News, Notice, NoticeScope, notices
from spark_jobs.domain.incidents.team_routes import TeamRoute, targets_of
from spark_jobs.domain.model.intervals import EVER, Interval
from spark_jobs.domain.model.window import to_micros
from spark_jobs.show.incidents import IncidentQuery, published_incidents
from spark_jobs.show.rows import Key, group_of
from spark_jobs.show.status import published_statuses
from spark_jobs.show.text.incident_text import attention
from spark_jobs.show.text.notice_text import notice_text, notices_text, notices_title
from spark_jobs.store.read.published import EVERYTHING, PublishedTables
from spark_jobs.store.read.stored import Filter, tuples


@dataclass(frozen=True)
class NoticeRequest:
    """The name of the default target, the minimum severity that is reported, the routes to other targets, and how many
    of a cluster's newest recorded steps without an audit are reported. `report_url`: of an incident's page, with `{id}`
    for its id. `is_daily`: the default target gets one message about incidents a day, of the day before.
    """

    target: str = "default"
    least: str = "WARN"
    routes: tuple[TeamRoute, ...] = ()
    unaudited_steps: int = 2
    report_url: str | None = None
    is_daily: bool = False

    @property
    def targets(self) -> tuple[str, ...]:
        """The files of the routes, each once, and the name of the default."""
        return tuple(dict.fromkeys((*(route.to for route in self.routes), self.target)))

    def link(self, incident_id: str) -> str | None:
        """The URL of an incident's page; None: not known."""
        return self.report_url and self.report_url.replace("{id}", incident_id)


class NoticeEntry(NamedTuple):
    """One notification of a message, its text, and the URL of its incident's page (None: not known)."""

    news: News
    text: str
    link: str | None = None


@dataclass(frozen=True)
class Message:
    """Notifications of one cluster for one target, open incidents first, the worst first; or of its audits.
    `audited_until`: end of its newest step, or of the day of a digest.
    """

    target: str
    cluster: str
    title: str
    text: str
    entries: tuple[NoticeEntry, ...]
    audited_until: datetime

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Its notifications as they are recorded."""
        return tuple(entry.news.notice for entry in self.entries)


#: An incident last seen longer ago, before the end of its cluster's newest audited step, is not reported for the first
#: time; nor is an older step of which nothing was published.
RECENT = timedelta(days=1)
#: An incident that was reported is followed for this long after it was last seen.
FOLLOWED = timedelta(days=7)
_DAY = timedelta(days=1)

#: By target what was sent, in the order that `notices` asks for.
Sent = Mapping[str, Sequence[Notice]]


def incident_messages(tables: PublishedTables, request: NoticeRequest, sent: Sent) -> Iterator[Message]:
    """All that are new; a digest is of the last whole day before the end of its clusters' newest audited step."""
    at_once = [target for target in request.targets if not (request.is_daily and target == request.target)]
    for end, clusters in _followed_until(tables, sent).items():
        yield from _messages(tables, request, at_once, sent, end, clusters)
        if request.is_daily:
            midnight = end.replace(hour=0, minute=0, second=0, microsecond=0)
            # What was sent at once today is no news of yesterday.
            of_day = [notice for notice in sent[request.target] if notice.opened_at < to_micros(midnight)]
            yield from _messages(tables, request, [request.target], {request.target: of_day}, midnight, clusters)


def _messages(
    tables: PublishedTables,
    request: NoticeRequest,
    targets: Sequence[str],
    sent: Sent,
    end: datetime,
    clusters: Collection[str],
) -> Iterator[Message]:
    """One per target and cluster, of these clusters, of the time before the end."""
    reported = {
        target: [notice for notice in sent[target] if notice.cluster in clusters and notice.event not in OF_AUDITS]
        for target in targets
    }
    first = end - (RECENT if _is_settled(tables, reported, end) else FOLLOWED)
    seen = published_incidents(tables, IncidentQuery(Interval(first, end)))
    incidents = [incident for incident in seen if incident.cluster in clusters]
    since, recent, until = map(to_micros, (end - FOLLOWED, end - RECENT, end))
    by_cluster = attrgetter("notice.cluster")
    for target in targets:
        routed = (incident for incident in incidents if target in targets_of(request.routes, incident, request.target))
        ids = frozenset(incident.incident_id for incident in routed)
        scope = NoticeScope(since, recent, until, request.least, ids)
        of_target = sorted(notices(incidents, reported[target], scope), key=by_cluster)
        backlogs = _backlogs(tables) if of_target else {}
        for _, of_cluster in groupby(of_target, key=by_cluster):
            yield _message(tables, request, target, _worst_first(of_cluster), backlogs, end)


def _is_settled(tables: PublishedTables, reported: Sent, end: datetime) -> bool:
    """Return whether the table `incidents` shows that each followed incident was seen in the last day, or is over as it
    was reported: then no older one is news.
    """
    last = [notice for sent in reported.values() for notice in {notice.incident_id: notice for notice in sent}.values()]
    followed = [notice for notice in last if notice.last_seen_at > to_micros(end - FOLLOWED)]
    stored, ids = tables.stored, sorted({notice.incident_id for notice in followed})
    known = {}
    if ids and stored.exists(INCIDENTS):
        read = stored.read(
            INCIDENTS, ("incident_id", "last_seen_at", "resolved_at"), [Filter("incident_id", "IN", ids)]
        )
        known = {incident_id: times for incident_id, *times in tuples(read)}

    def is_settled(notice: Notice) -> bool:
        seen, resolved = known.get(notice.incident_id, (EVER.start, None))
        is_same = notice.is_over and resolved is not None and to_micros(seen) == notice.last_seen_at
        return seen > end - RECENT or is_same

    return all(map(is_settled, followed))


def _message(
    tables: PublishedTables,
    request: NoticeRequest,
    target: str,
    of_cluster: Sequence[News],
    backlogs: Mapping[Key, int | None],
    end: datetime,
) -> Message:
    cluster = of_cluster[0].notice.cluster
    entries = []
    for news in of_cluster:
        link = request.link(news.notice.incident_id)
        entries.append(NoticeEntry(news, notice_text(news, backlogs, link), link))
    day = end - _DAY if request.is_daily and target == request.target else None
    title = notices_title(cluster, [news.notice for news in of_cluster], day)
    text = notices_text(tables.stored.location.location, [entry.text for entry in entries])
    return Message(target, cluster, title, text, tuple(entries), end)


def _worst_first(of_cluster: Iterable[News]) -> list[News]:
    """Those that are not over first, each part as `incidents` sorts; what was withdrawn last."""
    worst_first = sorted(of_cluster, key=lambda news: attention(news.incident) if news.incident else (), reverse=True)
    return sorted(worst_first, key=lambda news: news.notice.is_over)


def _backlogs(tables: PublishedTables) -> dict[Key, int | None]:
    """By group its backlog at the end of its newest step."""
    return {group_of(row): row["backlog_end"] for row in published_statuses(tables, EVERYTHING).groups}


def _followed_until(tables: PublishedTables, sent: Sent) -> dict[datetime, Collection[str]]:
    """The clusters by the end of their newest audited step, the earliest first; those that were audited no more while
    others were, for as long as incidents are followed, are left out. Clusters whose rows are gone have the newest end.
    """
    until = _audited_until(tables)
    if not until:
        return {}
    newest = max(until.values())
    ends = {notice.cluster: newest for of_target in sent.values() for notice in of_target} | until
    followed = sorted((end, cluster) for cluster, end in ends.items() if end > newest - FOLLOWED)
    return {end: {cluster for _, cluster in pairs} for end, pairs in groupby(followed, key=itemgetter(0))}


def _audited_until(tables: PublishedTables) -> dict[str, datetime]:
    """The end of the newest audited step of each cluster."""
    until: dict[str, datetime] = {}
    for group in tables.groups():
        until[group.cluster] = max(until.get(group.cluster, EVER.start), group.last_step + tables.grid.length)
    return until
