"""The command that sends notifications of incidents: no JVM where delta-rs reaches the tables."""

import os
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from spark_jobs.cli.questions import opened
from spark_jobs.cli.terminal import print_line, printable, show_next
from spark_jobs.errors import ExitCode
from spark_jobs.operate.deliver import deliver, notify_url
from spark_jobs.operate.messages import Message, NoticeRequest
from spark_jobs.operate.notices import messages, send_notices
from spark_jobs.store.read.stored import StoredTables


def notify_command(arguments: Namespace) -> int:
    """Exit code 0 whatever was sent, also where there was nothing to send."""
    request, files = _request(arguments)
    with opened(arguments) as warehouse:
        stored, say = warehouse.stored, warehouse.progress
        sent = messages(stored, request, say) if arguments.dry_run else send_new(stored, arguments, say)
    for message in sent:
        show_message(message, request.target, with_text=arguments.dry_run)
    if not sent:
        print(f"There are no new notifications for {', '.join(map(printable, request.targets))}.")
    if not arguments.dry_run:
        # A URL that is missing, or that others can read, is said before something is to be sent to it.
        for target in [route.to for route in request.routes] or [request.target]:
            notify_url(os.environ, files[target])
    show_next("incidents", arguments.warehouse)
    return ExitCode.CLEAN


def _request(arguments: Namespace) -> tuple[NoticeRequest, dict[str, Path | None]]:
    """The request for notifications, and the file of each target's URL; None: the environment has it."""
    configuration, is_daily = arguments.config, arguments.digest is not None
    request = NoticeRequest(
        arguments.target,
        arguments.at_least,
        configuration.routes,
        report_url=configuration.report_url,
        is_daily=is_daily,
    )
    files: dict[str, Path | None] = {target: Path(target) for target in request.targets}
    return request, files | {request.target: Path(arguments.to) if arguments.to else None}


def send_new(stored: StoredTables, arguments: Namespace, say: Callable[[str], None] = lambda _: None) -> list[Message]:
    """Send what is new to the targets that the arguments name, and return it. Raises as `send_notices`."""
    request, files = _request(arguments)

    def send(message: Message) -> None:
        deliver(os.environ, files[message.target], message.title, message.text, message.entries)

    return send_notices(stored, request, send, say)


def show_message(message: Message, default: str, *, with_text: bool = False) -> None:
    """Print that a message was sent, or its text; `default`: the target that need not be named."""
    target = "" if message.target == default else f" (to {message.target})"
    lines = [message.title + target, *message.text.splitlines()] if with_text else [f"Sent: {message.title}{target}"]
    for line in lines:
        print_line(Console(), line)
