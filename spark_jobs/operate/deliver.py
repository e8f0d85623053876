"""Notifications through Apprise. Its URL is secret: it appears in no log, error or argument."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from logging.handlers import BufferingHandler
from pathlib import Path
from typing import TYPE_CHECKING

from spark_jobs.errors import NotDeliveredError, NoticeTargetError
from spark_jobs.runtime.secret_file import secret_text

if TYPE_CHECKING:
    from apprise import NotifyBase

#: The variable of the environment that holds the URL.
VARIABLE = "REBALANCE_AUDIT_NOTIFY_URL"
#: What Apprise says of a service that refuses.
_STATUS = re.compile(r"error=(\d{3})\b")


def notify_url(environment: Mapping[str, str], file: Path | None) -> str:
    """The URL of the file, else of the environment. Raises `NoticeTargetError` without one, and as `secret_text`."""
    url = environment.get(VARIABLE, "").strip() if file is None else secret_text(file).strip()
    if len(url.split()) != 1:
        where = VARIABLE if file is None else str(file)
        raise NoticeTargetError(f"{where} must contain one Apprise URL and nothing else: notifications are sent to it")
    return url


def deliver(environment: Mapping[str, str], file: Path | None, title: str, text: str) -> None:
    """Send a message to the URL. Raises as `notify_url`, `NoticeTargetError` (no Apprise URL), `NotDeliveredError`."""
    url = notify_url(environment, file)
    from apprise import Apprise, AppriseAsset, NotifyFormat

    with _apprise_log() as records:
        service = Apprise.instantiate(url, asset=AppriseAsset(app_id="rebalance-audit", async_mode=False))
        if service is None:
            raise NoticeTargetError(
                "Apprise does not know this kind of URL, or the URL is incomplete: compare it with Apprise's list"
            )
        # Names come from clients: nothing in them is markup, whatever the service takes by default.
        service.notify_format = NotifyFormat.TEXT
        target = Apprise()
        target.add(service)
        if not target.notify(body=text, title=title, body_format=NotifyFormat.TEXT):
            raise NotDeliveredError(_why(service, records))


def _why(service: NotifyBase, records: Iterable[logging.LogRecord]) -> str:
    statuses = filter(None, (_STATUS.search(record.getMessage()) for record in records))
    status = next((status[1] for status in statuses), None)
    reason = f"the service answered {status}" if status else "the service could not be reached, or refused the message"
    return (
        f"{service.service_name}: {reason}; the message was not recorded as sent, so the next attempt sends it "
        "again: check the URL, its permissions, and the network"
    )


@contextmanager
def _apprise_log() -> Iterator[list[logging.LogRecord]]:
    """Return what Apprise logs meanwhile, which may hold parts of the URL: it goes into the list, and nowhere else."""
    logger, handler = logging.getLogger("apprise"), BufferingHandler(capacity=sys.maxsize)
    before = logger.propagate, logger.level, logger.handlers
    logger.propagate, logger.handlers = False, [handler]
    logger.setLevel(logging.WARNING)
    try:
        yield handler.buffer
    finally:
        logger.propagate, level, logger.handlers = before
        logger.setLevel(level)
