"""Explain one moment of a group."""

from argparse import Namespace
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

import pyarrow as pa
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from schemas import FINDINGS, GROUP_STATUS, Table
from spark_jobs.api.warehouse import AuditedWarehouse, Moment
from spark_jobs.cli.documents import CoverageDocument, answered, coverage_document
from spark_jobs.cli.exit_codes import exit_code
from spark_jobs.cli.questions import opened, show_coverage
from spark_jobs.cli.tables import folded
from spark_jobs.cli.terminal import SEVERITY_STYLES, printable, show_next, zone_name
from spark_jobs.domain.coverage import Coverage
from spark_jobs.domain.model.history import RETRY
from spark_jobs.domain.model.intervals import format_utc
from spark_jobs.show.explain import STEP_KEY, GroupExplanation
from spark_jobs.show.language import word
from spark_jobs.show.recorder import StackAnswer, recorder_lines_of, stack_answers, stack_lines
from spark_jobs.show.text.explanation_text import lines, unknowns
from spark_jobs.show.text.phrases import TextLine
from spark_jobs.store.arrow import arrow_schema
from spark_jobs.store.read.stored import StoredTables


def explain_command(arguments: Namespace) -> int:
    """The `exit_code` of the findings at that moment, and of how much of the group's step was observed."""
    with opened(arguments) as warehouse:
        named = {"cluster": arguments.cluster, "topic": arguments.topic}
        story, coverage = explained(warehouse, arguments.group or "", arguments.at, **named)
    if not answered(arguments, vars(story)):
        text_lines = [*lines(story, zone_name())]
        for row in story.findings:
            text_lines += recorder_lines_of(
                warehouse.stored, row["rule"], story.cluster, row["started_at"], row["ended_at"]
            )
        text_lines += stack_lines(_stack_answers(warehouse.stored, story))
        show_explanation(Console(), text_lines)
        show_coverage(coverage)
        names = {"group": story.consumer_group, "cluster": story.cluster}
        show_next("report", arguments.warehouse, interval=str(story.step), **names)
        queues = [queue for row in story.findings for queue in row["evidence"]["queues"] or ()]
        for queue in sorted(queues, key=lambda queue: queue["topic"].startswith(RETRY))[:1]:
            place = {"topic": queue["topic"], "queue": f"{queue['broker_name']}:{queue['queue_id']}"}
            show_next("message", arguments.warehouse, **place, **{"stored-at": format_utc(story.at)}, **names)
    severities = [row["severity"] for row in story.findings if row["silenced_because"] is None]
    return exit_code(severities, arguments.fail_on, coverage, doubtful=bool(story.unknown))


def _stack_answers(stored: StoredTables, story: GroupExplanation) -> list[StackAnswer]:
    """Those of the group in the time of its findings."""
    if not story.findings:
        return []
    times = min(row["started_at"] for row in story.findings), max(row["ended_at"] for row in story.findings)
    return stack_answers(stored, story.cluster, [story.consumer_group], *times)


def _without_key(table: Table) -> pa.Schema:
    return pa.schema([field for field in arrow_schema(table) if field.name not in STEP_KEY])


@dataclass(frozen=True, kw_only=True)
class ExplanationDocument(GroupExplanation):
    """A group at one moment, for `as_json`; `unknown`: sentences; `coverage`: of its step."""

    findings: list[Annotated[dict[str, Any], _without_key(FINDINGS)]]
    roots: list[Annotated[dict[str, Any], _without_key(FINDINGS)]]
    status: Annotated[dict[str, Any], _without_key(GROUP_STATUS)] | None
    unknown: list[str]
    coverage: CoverageDocument


def explained(
    warehouse: AuditedWarehouse, group: str, at: Moment, *, cluster: str | None = None, topic: str | None = None
) -> tuple[ExplanationDocument, Coverage]:
    """The group at that moment, and how much of its step was observed."""
    story = warehouse.explain(group, at, cluster=cluster, topic=topic).facts
    coverage = warehouse.coverage(group, cluster=story.cluster, since=story.step.start, until=story.step.end)
    document = coverage_document(coverage)
    return ExplanationDocument(**vars(story), unknown=unknowns(story), coverage=document), coverage


_INDENT = 2


_STYLES = {**SEVERITY_STYLES, "title": "bold", "heading": "italic", "advice": "green", "odd": "yellow"}


def show_explanation(console: Console, lines: Iterable[TextLine]) -> None:
    """Prints the lines; a long one is wrapped at its own indentation."""
    for line in lines:
        shown = word(line.text) if line.part == "title" else line.text
        text, depth = Text(printable(shown), style=_STYLES.get(line.part, "")), _INDENT * line.indent
        if console.is_terminal:
            text = folded(text, console.width - depth)
            console.print(Padding(text, (0, 0, 0, depth), expand=False))
        else:
            console.print(Text(" " * depth) + text, soft_wrap=True)
