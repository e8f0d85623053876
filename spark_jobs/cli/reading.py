"""The commands that only read what was published."""

from __future__ import annotations

import dataclasses
from argparse import Namespace
from pathlib import Path

from rich.console import Console

from spark_jobs.cli.documents import as_json
from spark_jobs.cli.show_explanation import show_explanation
from spark_jobs.cli.show_status import show_statuses
from spark_jobs.cli.start import start_spark
from spark_jobs.cli.terminal import printable, progress_on
from spark_jobs.errors import ExitCode
from spark_jobs.explain.text import lines
from spark_jobs.jobs.explain import Question, explain_group
from spark_jobs.jobs.report import ReportRequest, report, write_page
from spark_jobs.jobs.status import statuses
from spark_jobs.warehouse import Warehouse


def explain_command(arguments: Namespace) -> int:
    """Exit code 0 also where something was wrong: the question has been answered."""
    warehouse = Warehouse.parse(arguments.warehouse)
    question = Question(arguments.group or "", arguments.at, arguments.cluster, arguments.topic)
    with progress_on(Console(stderr=True)) as say:
        story = explain_group(start_spark(say), warehouse, question, say)
    if arguments.json:
        print(as_json(dataclasses.asdict(story)))
    else:
        show_explanation(Console(), lines(story))
    return ExitCode.CLEAN


def status_command(arguments: Namespace) -> int:
    """Exit code 0 also with findings: `run` and `validate` are for gates."""
    warehouse = Warehouse.parse(arguments.warehouse)
    with progress_on(Console(stderr=True)) as say:
        found = statuses(start_spark(say), warehouse, arguments.cluster, arguments.group, say)
    if arguments.json:
        print(as_json(dataclasses.asdict(found)))
    else:
        show_statuses(Console(), found)
    return ExitCode.CLEAN


def report_command(arguments: Namespace) -> int:
    """Exit code 0 whatever the page shows: it has been written."""
    warehouse, file = Warehouse.parse(arguments.warehouse), Path(arguments.out)
    request = ReportRequest(arguments.interval, arguments.cluster, arguments.group, arguments.details)
    with progress_on(Console(stderr=True)) as say:
        page = report(start_spark(say), warehouse, request, say)
    write_page(page, file)
    print(f"The report is in {printable(str(file))}")
    return ExitCode.CLEAN
