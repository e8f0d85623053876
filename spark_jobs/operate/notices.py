"""Notifications of incidents that opened, got worse or were resolved, of steps of which nothing was published, and of
clusters that no run audits any more; each once, as plain text per cluster.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any

from schemas import NOTICES
from spark_jobs.domain.incidents.notices import OF_AUDITS, Notice, NoticeScope, notices
from spark_jobs.domain.incidents.team_routes import TeamRoute, targets_of
from spark_jobs.domain.model.intervals import EVER, Interval
from spark_jobs.domain.model.window import from_micros, to_micros
from spark_jobs.errors import NotDeliveredError, NothingPublishedError
from spark_jobs.operate.missing import newest_run, recorded_steps, usual_configuration
from spark_jobs.operate.missing_audits import audit_notices
from spark_jobs.operate.rejected_steps import rejected_steps
from spark_jobs.pipeline.publish.claims import claim_notices
from spark_jobs.show.incidents import IncidentQuery, published_incidents
from spark_jobs.show.text.notice_text import (
    audit_text,
    audit_title,
    notices_text,
    notices_title,
    rejected_text,
    rejected_title,
)
from spark_jobs.store.read.delta import delta_tables
from spark_jobs.store.read.published import PublishedTables, published_tables
from spark_jobs.store.read.stored import Filter, StoredTables, tuples

#: An incident last seen longer ago, before the end of its cluster's newest audited step, is not reported for the first
#: time; nor is an older step of which nothing was published.
RECENT = timedelta(days=1)
#: An incident that was reported is followed for this long after it was last seen. Audits are looked for from so long
#: before the end of the newest one on.
FOLLOWED = timedelta(days=7)
_TIMES = ("opened_at", "resolved_at", "last_seen_at")


@dataclass(frozen=True)
class NoticeRequest:
    """The name of the default target, the minimum severity that is reported, the routes to other targets, and how many
    of a cluster's newest recorded steps without an audit are reported.
    """

    target: str = "default"
    least: str = "WARN"
    routes: tuple[TeamRoute, ...] = ()
    unaudited_steps: int = 2

    @property
    def targets(self) -> tuple[str, ...]:
        """The files of the routes, each once, and the name of the default."""
        return tuple(dict.fromkeys((*(route.to for route in self.routes), self.target)))


@dataclass(frozen=True)
class Message:
    """Notifications of one cluster for one target, newest incident first, or of its audits. `audited_until`: end of
    its newest step.
    """

    target: str
    cluster: str
    title: str
    text: str
    notices: tuple[Notice, ...]
    audited_until: datetime


#: Sends a message; raises where it is not certain that it arrived.
Send = Callable[[Message], None]


def send_notices(
    stored: StoredTables, request: NoticeRequest, send: Send, progress: Callable[[str], None] = lambda _: None
) -> list[Message]:
    """Send a message per target and cluster, and record each as sent; return them.

    A message is sent again only if the process dies, or the table cannot be written, in between. If `send` raises,
    the target gets nothing more, the others do, and it is raised at the end. Raises `NothingPublishedError`, or
    `PublishConflictError` while another process sends.
    """
    failed: dict[str, Exception] = {}
    with claim_notices(stored.folder):
        sent = []
        for message in messages(stored, request, progress):
            if message.target in failed:
                continue
            progress(f"notifying {message.target} about cluster {message.cluster}")
            try:
                send(message)
            except Exception as error:  # whatever it is, it is this target's
                failed[message.target] = error
                continue
            sending = {"audited_until": message.audited_until, "sent_at": datetime.now(UTC), "target": message.target}
            stored.append(NOTICES, [notice_row(notice) | sending for notice in message.notices])
            sent.append(message)
    if failed:
        raise _why(failed, request.target)
    return sent


def _why(failed: Mapping[str, Exception], default: str) -> Exception:
    """One error of all targets; what the default alone raised is raised as it is."""
    if [*failed] == [default]:
        return failed[default]
    return NotDeliveredError("\n".join(f"{target}: {error}" for target, error in failed.items()))


def send_notices_without_spark(warehouse: str, request: NoticeRequest, send: Send) -> list[Message]:
    """`send_notices` for the warehouse that a user names; raises `WarehouseError` where only Spark reads it."""
    return send_notices(delta_tables(warehouse), request, send)


#: As DAG files of version 1.0.0 call it, which users have copied.
tell_without_spark = send_notices_without_spark


def messages(
    stored: StoredTables, request: NoticeRequest, progress: Callable[[str], None] = lambda _: None
) -> list[Message]:
    """Return what `send_notices` would send."""
    progress("reading the findings")
    sent = _sent(stored, request.targets)
    new = _of_rejected_steps(stored, request.target, sent[request.target])
    new += _of_missing_audits(stored, request, sent[request.target])
    try:
        tables = published_tables(stored)
    except NothingPublishedError:
        if new:
            return new
        raise
    for end, clusters in _followed_until(tables, sent).items():
        new += _of_incidents(tables, request, sent, end, clusters)
    return new


def _of_rejected_steps(stored: StoredTables, target: str, sent: Iterable[Notice]) -> list[Message]:
    """One per cluster and rejected step, of those that were not sent."""
    known = {notice.incident_id for notice in sent}
    return [
        Message(
            target,
            step.cluster,
            rejected_title(step.cluster, step.interval),
            rejected_text(stored.location.location, step.message),
            (step.notice,),
            step.interval.start,
        )
        for step in rejected_steps(stored, RECENT)
        if step.notice.incident_id not in known
    ]


def _of_missing_audits(stored: StoredTables, request: NoticeRequest, sent: Iterable[Notice]) -> list[Message]:
    run = newest_run(stored)
    read_since = run["interval_end"] - FOLLOWED if run else None
    recorded = recorded_steps(stored, usual_configuration(run), datetime.now(UTC), read_since=read_since)
    where = stored.location.location
    return [
        Message(
            request.target,
            notice.cluster,
            audit_title(notice),
            audit_text(where, notice),
            (notice,),
            from_micros(notice.opened_at if notice.resolved_at is None else notice.last_seen_at),
        )
        for notice in audit_notices(recorded, sent, RECENT, request.unaudited_steps)
    ]


def _of_incidents(
    tables: PublishedTables,
    request: NoticeRequest,
    sent: Mapping[str, Sequence[Notice]],
    end: datetime,
    clusters: Collection[str],
) -> Iterator[Message]:
    """One per target and cluster, of these clusters, whose newest audited step has this end."""
    seen = published_incidents(tables, IncidentQuery(Interval(end - FOLLOWED, end)))
    incidents = [incident for incident in seen if incident.cluster in clusters]
    since, recent, until = map(to_micros, (end - FOLLOWED, end - RECENT, end))
    by_cluster = attrgetter("cluster")
    for target in request.targets:
        routed = (incident for incident in incidents if target in targets_of(request.routes, incident, request.target))
        ids = frozenset(incident.incident_id for incident in routed)
        before = [notice for notice in sent[target] if notice.cluster in clusters and notice.event not in OF_AUDITS]
        scope = NoticeScope(since, recent, until, request.least, ids)
        of_target = sorted(notices(incidents, before, scope), key=by_cluster)
        for cluster, of_cluster in groupby(of_target, key=by_cluster):
            unsent = tuple(of_cluster)
            title, text = notices_title(cluster, unsent), notices_text(tables.stored.location.location, unsent)
            yield Message(target, cluster, title, text, unsent, end)


def _followed_until(tables: PublishedTables, sent: Mapping[str, Iterable[Notice]]) -> dict[datetime, Collection[str]]:
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


def _sent(stored: StoredTables, targets: Sequence[str]) -> dict[str, list[Notice]]:
    """Return what was sent to each target, in the order that `notices` asks for."""
    sent: dict[str, list[tuple[datetime, Notice]]] = {target: [] for target in targets}
    if stored.exists(NOTICES):
        columns = ("target", "sent_at", *Notice._fields)
        for target, at, *values in tuples(stored.read(NOTICES, columns, [Filter("target", "IN", [*targets])])):
            sent[target].append((at, _notice(values)))
    return {
        target: [notice for _, notice in sorted(of_target, key=lambda pair: (pair[0], not pair[1].is_over))]
        for target, of_target in sent.items()
    }


def _notice(values: Iterable[Any]) -> Notice:
    row = Notice(*values)._asdict()
    times = {name: None if row[name] is None else to_micros(row[name]) for name in _TIMES}
    return Notice(**row | times | {name: tuple(row[name]) for name in ("consumer_groups", "root_finding_ids")})


def notice_row(notice: Notice) -> dict[str, Any]:
    """Its fields, with times as such."""
    times = {name: None if (at := getattr(notice, name)) is None else from_micros(at) for name in _TIMES}
    return (
        notice._asdict()
        | {"consumer_groups": list(notice.consumer_groups), "root_finding_ids": list(notice.root_finding_ids)}
        | times
    )
