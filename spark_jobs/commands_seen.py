"""The commands that show what is published."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path

from rich.console import Console

from spark_jobs.command_common import start_spark
from spark_jobs.errors import ExitCode
from spark_jobs.jobs.report import ReportRequest, report, write_page
from spark_jobs.terminal import printable, progress_on
from spark_jobs.warehouse import Warehouse


def _report(arguments: Namespace) -> int:
    """Exit code 0 whatever the page shows: it has been written."""
    warehouse, file = Warehouse.parse(arguments.warehouse), Path(arguments.out)
    request = ReportRequest(arguments.interval, arguments.cluster, arguments.group, arguments.details)
    with progress_on(Console(stderr=True)) as say:
        page = report(start_spark(say), warehouse, request, say)
    write_page(page, file)
    print(f"The report is in {printable(str(file))}")
    return ExitCode.CLEAN


SEEN: Mapping[str, Callable[[Namespace], int]] = {"report": _report}
