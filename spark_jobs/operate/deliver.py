"""Notifications through Apprise. Its URL is secret: it appears in no log, error or argument."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from logging.handlers import BufferingHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spark_jobs.domain.incidents.notices import BACK
from spark_jobs.domain.model.severities import ERROR, WARN
from spark_jobs.domain.phrases import printable
from spark_jobs.errors import NotDeliveredError, NoticeTargetError
from spark_jobs.operate.messages import NoticeEntry
from spark_jobs.runtime.secret_file import secret_text

if TYPE_CHECKING:
    from apprise import NotifyBase, NotifyType
    from apprise.plugins.pagerduty import NotifyPagerDuty
    from requests import PreparedRequest, Response

#: The variable of the environment that holds the URL.
VARIABLE = "REBALANCE_AUDIT_NOTIFY_URL"
#: What Apprise says of a service that refuses.
_STATUS = re.compile(r"error=(\d{3})\b")
#: By the scheme of a service that answers 200 also when it refuses, the name of its code; 0: it has the message.
_CODES = {"dingtalk": "errcode", "wecombot": "errcode", "feishu": "code", "lark": "code"}


def notify_url(environment: Mapping[str, str], file: Path | None) -> str:
    """The URL of the file, else of the environment. Raises `NoticeTargetError` without one, and as `secret_text`."""
    url = environment.get(VARIABLE, "").strip() if file is None else secret_text(file).strip()
    if len(url.split()) != 1:
        where = VARIABLE if file is None else str(file)
        raise NoticeTargetError(f"{where} must contain one Apprise URL and nothing else: notifications are sent to it")
    return url


def deliver(
    environment: Mapping[str, str], file: Path | None, title: str, text: str, entries: Sequence[NoticeEntry] = ()
) -> None:
    """Send a message to the URL, to PagerDuty each of its entries. Raises as `notify_url`, `NoticeTargetError` (no
    Apprise URL), `NotDeliveredError`.
    """
    url = notify_url(environment, file)
    from apprise import Apprise, NotifyFormat
    from apprise.plugins.pagerduty import NotifyPagerDuty

    with _apprise_log() as records, _answers() as answers:
        service = _service(url)
        target = Apprise()
        target.add(service)
        sendings: Iterable[tuple[str, str, NotifyType]] = [(title, text, _kind(entries))]
        if isinstance(service, NotifyPagerDuty) and entries:
            sendings = _events(service, entries)
        for subject, body, kind in sendings:
            is_sent = target.notify(body=body, title=subject, notify_type=kind, body_format=NotifyFormat.TEXT)
            code = _refusal(service, answers)
            if not is_sent or code:
                raise NotDeliveredError(_why(service, records, code))


def _service(url: str) -> NotifyBase:
    from apprise import Apprise, AppriseAsset, NotifyFormat, OverflowMode

    service = Apprise.instantiate(url, asset=AppriseAsset(app_id="rebalance-audit", async_mode=False))
    if service is None:
        raise NoticeTargetError(
            "Apprise does not know this kind of URL, or the URL is incomplete: compare it with Apprise's list"
        )
    # Names come from clients: nothing in them is markup, whatever the service takes by default.
    service.notify_format = NotifyFormat.TEXT
    if service.overflow_mode is OverflowMode.UPSTREAM:
        service.overflow_mode = OverflowMode.SPLIT
    return service


def _events(service: NotifyPagerDuty, entries: Iterable[NoticeEntry]) -> Iterator[tuple[str, str, NotifyType]]:
    """The title, text and kind of each event; other fields of it are set on the service."""
    for entry in entries:
        notice = entry.news.notice
        service.source, service.class_id, service.click = notice.cluster, notice.rule, entry.link
        service.details, service.action = {"notification": entry.text}, "map"
        for key in entry.news.keys:
            service.dedup = key
            yield "", printable(notice.headline), _kind([entry])


def _kind(entries: Sequence[NoticeEntry]) -> NotifyType:
    """That of the worst that is not over, by which services choose a color, severity or sound."""
    from apprise import NotifyType

    notices = [entry.news.notice for entry in entries]
    severities = {notice.severity for notice in notices if not (notice.is_over or notice.event == BACK)}
    if notices and not severities:
        return NotifyType.SUCCESS
    return NotifyType.FAILURE if ERROR in severities else NotifyType.WARNING if WARN in severities else NotifyType.INFO


def _refusal(service: NotifyBase, answers: Iterable[Response]) -> str | None:
    """The code of a service that refused with status 200; None: it did not."""
    name = _CODES.get(str(service.secure_protocol))
    if name is None:
        return None
    try:
        codes = [answer.json()[name] for answer in answers if answer.ok]
    except (ValueError, KeyError, TypeError):
        return f"without {name}"
    return next((f"{name} {code}" for code in codes if code), None)


def _why(service: NotifyBase, records: Iterable[logging.LogRecord], code: str | None) -> str:
    statuses = filter(None, (_STATUS.search(record.getMessage()) for record in records))
    answer = code or next((status[1] for status in statuses), None)
    reason = f"the service answered {answer}" if answer else "the service could not be reached, or refused the message"
    return (
        f"{service.service_name}: {reason}; the message was not recorded as sent, so the next attempt sends it "
        "again: check the URL, its permissions, and the network"
    )


@contextmanager
def _answers() -> Iterator[list[Response]]:
    """Return the answers that come meanwhile: Apprise looks at nothing but their status."""
    from requests import Session

    answers: list[Response] = []
    send = Session.send

    def send_and_keep(session: Session, request: PreparedRequest, **settings: Any) -> Response:
        answers.append(send(session, request, **settings))
        return answers[-1]

    setattr(Session, "send", send_and_keep)  # noqa: B010 - mypy
    try:
        yield answers
    finally:
        setattr(Session, "send", send)  # noqa: B010 - mypy


@contextmanager
def _apprise_log() -> Iterator[list[logging.LogRecord]]:
    """Collects the records that Apprise logs meanwhile, which may hold parts of the URL: they go nowhere else."""
    logger, handler = logging.getLogger("apprise"), BufferingHandler(capacity=sys.maxsize)
    before = logger.propagate, logger.level, logger.handlers
    logger.propagate, logger.handlers = False, [handler]
    logger.setLevel(logging.WARNING)
    try:
        yield handler.buffer
    finally:
        logger.propagate, level, logger.handlers = before
        logger.setLevel(level)
