"""Notifications of incidents that opened, got worse or were resolved, of steps of which nothing was published, and of
clusters that no run audits any more; each once, as plain text per cluster.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from typing import Any

from schemas import AUDIT_RUNS, NOTICES
from spark_jobs.domain.incidents.notices import BACK, MISSING, REJECTED, News, Notice, audit_notice
from spark_jobs.domain.model.intervals import Interval, format_utc
from spark_jobs.domain.model.window import from_micros, to_micros
from spark_jobs.errors import NotDeliveredError, NothingPublishedError
from spark_jobs.operate.messages import (
    RECENT,
    Message,
    NoticeEntry,
    NoticeRequest,
    incident_messages,
)
from spark_jobs.operate.missing import RecordedSteps, Why, recent_steps
from spark_jobs.pipeline.publish.claims import claim_notices
from spark_jobs.show.rows import Row
from spark_jobs.show.text.notice_text import audit_text, audit_title, rejected_text, rejected_title
from spark_jobs.store.read.delta import delta_tables
from spark_jobs.store.read.published import published_tables
from spark_jobs.store.read.stored import Filter, StoredTables, rows, tuples

_TIMES = ("opened_at", "resolved_at", "last_seen_at")

#: In place of the rule of an incident.
_QUALITY_GATE, _AUDIT_MISSING = "QUALITY_GATE", "AUDIT_MISSING"
_NAMES = ("cluster", "consumer_group", "topic")
_RUN = (*_NAMES, "outcome", "interval_start", "interval_end", "finished_at", "message")
_IS_REJECTED = Filter("outcome", "NOT IN", ["published"])
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


def messages(
    stored: StoredTables, request: NoticeRequest, progress: Callable[[str], None] = lambda _: None
) -> list[Message]:
    """The messages that `send_notices` would send."""
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
    return [*new, *incident_messages(tables, request, sent)]


def _of_rejected_steps(stored: StoredTables, target: str, sent: Iterable[Notice]) -> list[Message]:
    """One per cluster and rejected steps that were not sent, the oldest first: those that no later run has published,
    and that ended less than `RECENT` before the newest step of their cluster that was published or rejected.
    """
    if not stored.exists(AUDIT_RUNS) or not stored.read(AUDIT_RUNS, ["outcome"], [_IS_REJECTED]):
        return []
    runs = sorted(rows(stored.read(AUDIT_RUNS, _RUN)), key=itemgetter("finished_at"), reverse=True)
    known, new = {notice.incident_id for notice in sent}, dict[str, Message]()
    for place, run in enumerate(runs):
        cluster, interval = run["cluster"], Interval(run["interval_start"], run["interval_end"])
        if run["outcome"] == "published" or cluster is None or _is_published(run, runs[:place]):
            continue
        newest = max(other["interval_end"] for other in runs if other["cluster"] in (None, cluster))
        notice = _rejected(cluster, interval)
        if interval.end > newest - RECENT and notice.incident_id not in known | new.keys():
            title, text = rejected_title(cluster, interval), rejected_text(stored.location.location, run["message"])
            new[notice.incident_id] = _of_audits(target, notice, title, text, interval.start)
    return sorted(new.values(), key=lambda message: (message.audited_until, message.cluster))


def _of_missing_audits(stored: StoredTables, request: NoticeRequest, sent: Iterable[Notice]) -> list[Message]:
    recorded = recent_steps(stored, datetime.now(UTC))
    where = stored.location.location
    return [
        _of_audits(
            request.target,
            notice,
            audit_title(notice),
            audit_text(where, notice),
            from_micros(notice.opened_at if notice.resolved_at is None else notice.last_seen_at),
        )
        for notice in audit_notices(recorded, sent, RECENT, request.unaudited_steps)
    ]


def _of_audits(target: str, notice: Notice, title: str, text: str, audited_until: datetime) -> Message:
    entry = NoticeEntry(News(notice, None, (notice.incident_id,)), text)
    return Message(target, notice.cluster, title, text, (entry,), audited_until)


def _sent(stored: StoredTables, targets: Sequence[str]) -> dict[str, list[Notice]]:
    """Sent notifications of each target, in the order that `notices` asks for."""
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


def _rejected(cluster: str, interval: Interval) -> Notice:
    """The same for all runs of these steps."""
    headline = f"The data-quality gate is closed: nothing was published of {interval}"
    time = to_micros(interval.start), to_micros(interval.end)
    return audit_notice(cluster, REJECTED, _QUALITY_GATE, headline, time, f"{cluster}\n{interval}")


def _is_published(rejected: Row, later: Sequence[Row]) -> bool:
    return any(
        run["outcome"] == "published"
        and run["interval_start"] <= rejected["interval_start"]
        and run["interval_end"] >= rejected["interval_end"]
        and all(run[name] in (None, rejected[name]) for name in _NAMES)
        for run in later
    )


def audit_notices(recorded: RecordedSteps, sent: Iterable[Notice], recent: timedelta, least: int) -> list[Notice]:
    """One per cluster: no run has tried its `least` newest steps or more, and the last ended less than so long before
    the newest of any cluster; or a run has tried a step since that was `sent`.
    """
    last = {notice.cluster: notice for notice in sent if notice.event in (MISSING, BACK)}
    untried = {(each.cluster, each.step) for each in recorded.missing if each.why is Why.NOT_AUDITED}
    ends = [steps[-1].end for steps in recorded.steps.values() if steps]
    notices = []
    for cluster, steps in recorded.steps.items():
        tried = [step for step in steps if (cluster, step) not in untried]
        lacking = [step for step in steps if not tried or step > tried[-1]]
        before = last.get(cluster)
        if before is None or before.event == BACK:
            if len(lacking) >= least and lacking[-1].end > max(ends) - recent:
                notices.append(_missing(cluster, lacking))
        elif len(lacking) < least and (since := [step for step in tried if to_micros(step.start) >= before.opened_at]):
            notices.append(_back(before, since))
    return notices


def _missing(cluster: str, steps: Sequence[Interval]) -> Notice:
    time = to_micros(steps[0].start), to_micros(steps[-1].end)
    headline = f"The audit is missing since {format_utc(steps[0].start)}"
    return audit_notice(cluster, MISSING, _AUDIT_MISSING, headline, time, f"{_AUDIT_MISSING}\n{cluster}\n{time[0]}")


def _back(missing: Notice, audited: Sequence[Interval]) -> Notice:
    start, end = audited[0].start, audited[-1].end
    headline = f"The audit is back from {format_utc(start)} on"
    return missing._replace(event=BACK, headline=headline, resolved_at=to_micros(start), last_seen_at=to_micros(end))
