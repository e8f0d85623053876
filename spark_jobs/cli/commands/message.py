"""Show what became of one message."""

from argparse import Namespace

from rich.console import Console

from spark_jobs.cli.commands.explain import show_explanation
from spark_jobs.cli.documents import answered
from spark_jobs.cli.questions import opened, time_of
from spark_jobs.cli.terminal import show_next, zone_name
from spark_jobs.domain.model.intervals import format_utc
from spark_jobs.domain.model.window import from_micros
from spark_jobs.errors import ExitCode
from spark_jobs.show.message import MessagePlace, message_answer
from spark_jobs.show.message_outcome import MessageOutcome
from spark_jobs.show.text.message_text import message_document, message_lines
from spark_jobs.store.read.published import Scope


def message_command(arguments: Namespace) -> int:
    """Exit code 0: the outcome is known in each group, else 2."""
    offsets = () if arguments.offset is None else (arguments.offset,)
    place = MessagePlace(arguments.topic, arguments.queue, offsets, arguments.stored_at)
    with opened(arguments) as warehouse:
        time = warehouse.time(**time_of(arguments, warehouse), cluster=arguments.cluster)
        scope = Scope(time, arguments.cluster, arguments.group)
        answer = message_answer(warehouse.stored, scope, place, warehouse.progress)
    if not answered(arguments, message_document(answer)):
        show_explanation(Console(), message_lines(answer, zone_name()))
        passed = ((each, each.facts.times.passed_by) for each in answer.messages)
        for message, at in [(each, at) for each, at in passed if at][:1]:
            names = {"group": message.consumer_group, "cluster": answer.cluster, "topic": place.topic}
            show_next("explain", arguments.warehouse, **names, at=format_utc(from_micros(at)))
    is_unknown = any(message.outcome == MessageOutcome.UNKNOWN for message in answer.messages)
    return ExitCode.WARNINGS if is_unknown else ExitCode.CLEAN
