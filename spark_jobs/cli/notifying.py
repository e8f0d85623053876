"""The command that sends notices of incidents: no JVM where delta-rs reaches the tables."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from spark_jobs.cli.reading import stored_tables
from spark_jobs.cli.terminal import print_line, printable, progress_on, show_next
from spark_jobs.deliver import notify_url, sender
from spark_jobs.errors import ExitCode
from spark_jobs.jobs.notices import Message, NoticeRequest, messages, tell


def notify_command(arguments: Namespace) -> int:
    """Exit code 0 whatever was sent, also where there was nothing to send."""
    request = NoticeRequest(arguments.target, arguments.at_least)
    send = None if arguments.dry_run else _sender(arguments.to)
    with progress_on(Console(stderr=True)) as say:
        stored = stored_tables(arguments.warehouse, say)
        sent = messages(stored, request, say) if send is None else tell(stored, request, send, say)
    for message in sent:
        _show(message, whole=send is None)
    if not sent:
        print(f"There are no new notices for {printable(request.target)}.")
    show_next("incidents", {"warehouse": arguments.warehouse})
    return ExitCode.CLEAN


def _sender(file: str | None) -> Callable[[Message], None]:
    send = sender(notify_url(os.environ, Path(file) if file else None))
    return lambda message: send(message.title, message.text)


def _show(message: Message, *, whole: bool) -> None:
    lines = [message.title, *message.text.splitlines()] if whole else [f"Sent: {message.title}"]
    for line in lines:
        print_line(Console(), line)
