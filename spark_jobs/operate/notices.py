"""Notifications of incidents that opened, got worse or were resolved, of steps of which nothing was published, and of
clusters that no run audits any more; each once, as plain text per cluster.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from schemas import NOTICES
from spark_jobs.domain.incidents.notices import News, Notice
from spark_jobs.domain.model.window import from_micros, to_micros
from spark_jobs.errors import NotDeliveredError, NothingPublishedError
from spark_jobs.operate.messages import (
    RECENT,
    Message,
    NoticeEntry,
    NoticeRequest,
    incident_messages,
)
from spark_jobs.operate.missing import recent_steps
from spark_jobs.operate.rejected_steps import audit_notices, rejected_steps
from spark_jobs.pipeline.publish.claims import claim_notices
from spark_jobs.show.text.notice_text import audit_text, audit_title, rejected_text, rejected_title
from spark_jobs.store.read.delta import delta_tables
from spark_jobs.store.read.published import published_tables
from spark_jobs.store.read.stored import Filter, StoredTables, tuples

_TIMES = ("opened_at", "resolved_at", "last_seen_at")

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
    """One per cluster and rejected step, of those that were not sent."""
    known = {notice.incident_id for notice in sent}
    return [
        _of_audits(
            target,
            step.notice,
            rejected_title(step.cluster, step.interval),
            rejected_text(stored.location.location, step.message),
            step.interval.start,
        )
        for step in rejected_steps(stored, RECENT)
        if step.notice.incident_id not in known
    ]


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
