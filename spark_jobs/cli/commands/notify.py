"""The command that sends notifications of incidents: no JVM where delta-rs reaches the tables."""

import os
from argparse import Namespace
from pathlib import Path

from rich.console import Console

from spark_jobs.cli.questions import opened
from spark_jobs.cli.terminal import print_line, printable, show_next
from spark_jobs.errors import ExitCode
from spark_jobs.operate.deliver import deliver, notify_url
from spark_jobs.operate.notices import Message, NoticeRequest, messages, send_notices


def notify_command(arguments: Namespace) -> int:
    """Exit code 0 whatever was sent, also where there was nothing to send."""
    request = NoticeRequest(arguments.target, arguments.at_least, arguments.config.routes)
    files = {target: Path(target) for target in request.targets} | {request.target: arguments.to and Path(arguments.to)}

    def send(message: Message) -> None:
        deliver(os.environ, files[message.target], message.title, message.text)

    with opened(arguments) as warehouse:
        stored, say = warehouse.stored, warehouse.progress
        sent = messages(stored, request, say) if arguments.dry_run else send_notices(stored, request, send, say)
    for message in sent:
        _show(message, request, with_text=arguments.dry_run)
    if not sent:
        print(f"There are no new notifications for {', '.join(map(printable, request.targets))}.")
    if not arguments.dry_run:
        # A URL that is missing, or that others can read, is said before something is to be sent to it.
        for target in [route.to for route in request.routes] or [request.target]:
            notify_url(os.environ, files[target])
    show_next("incidents", arguments.warehouse)
    return ExitCode.CLEAN


def _show(message: Message, request: NoticeRequest, *, with_text: bool) -> None:
    target = "" if message.target == request.target else f" (to {message.target})"
    lines = [message.title + target, *message.text.splitlines()] if with_text else [f"Sent: {message.title}{target}"]
    for line in lines:
        print_line(Console(), line)
