"""Sends notices through Apprise. Its URL contains secrets: it comes from the environment or from a file that only its
owner can read, and appears in no log, error or argument.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
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
    """That of the file, else of the environment; raises `NoticeTargetError` where there is none.

    Raises as `secret_text` where the file cannot be used.
    """
    url = environment.get(VARIABLE, "").strip() if file is None else secret_text(file).strip()
    if len(url.split()) != 1:
        where = VARIABLE if file is None else str(file)
        raise NoticeTargetError(f"{where} must contain one Apprise URL and nothing else: notices are sent to it")
    return url


def deliver(environment: Mapping[str, str], file: Path | None, title: str, text: str) -> None:
    """Sends a message to the URL of the file, else of the environment; raises as `notify_url` and `sender`."""
    sender(notify_url(environment, file))(title, text)


def sender(url: str) -> Callable[[str, str], None]:
    """What sends a title and a text; raises `NoticeTargetError` for what is no URL of Apprise.

    What it gives raises `NotDeliveredError` where the service was not reached or refused.
    """
    from apprise import Apprise, AppriseAsset, NotifyFormat

    with _apprise_says():
        service = Apprise.instantiate(url, asset=AppriseAsset(app_id="rebalance-audit", async_mode=False))
    if service is None:
        raise NoticeTargetError(
            "Apprise does not know this kind of URL, or the URL is incomplete: compare it with Apprise's list"
        )
    # Names come from clients: nothing in them is markup, whatever the service takes by default.
    service.notify_format = NotifyFormat.TEXT
    told = Apprise()
    told.add(service)

    def send(title: str, text: str) -> None:
        with _apprise_says() as said:
            if told.notify(body=text, title=title, body_format=NotifyFormat.TEXT):
                return
        raise NotDeliveredError(_why(service, said))

    return send


def _why(service: NotifyBase, said: list[str]) -> str:
    status = next((found[1] for one in said if (found := _STATUS.search(one))), None)
    reason = f"the service answered {status}" if status else "the service could not be reached, or refused the message"
    return (
        f"{service.service_name}: {reason}; the message was not recorded as sent, so the next attempt sends it "
        "again: check the URL, its permissions, and the network"
    )


class _Kept(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


@contextmanager
def _apprise_says() -> Iterator[list[str]]:
    """What Apprise logs meanwhile, which may hold parts of the URL: it goes into the list, and nowhere else."""
    logger, kept = logging.getLogger("apprise"), _Kept()
    before = logger.propagate, logger.level, logger.handlers
    logger.propagate, logger.handlers = False, [kept]
    logger.setLevel(logging.WARNING)
    try:
        yield kept.said
    finally:
        logger.propagate, level, logger.handlers = before
        logger.setLevel(level)
