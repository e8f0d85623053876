"""Shared by the commands that read: the warehouse, the time that is asked for, and how old the data are."""

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from rich.console import Console

from spark_jobs.api.warehouse import AuditedWarehouse, open_warehouse
from spark_jobs.cli.terminal import print_line, progress_on
from spark_jobs.domain.coverage import Coverage
from spark_jobs.domain.model.intervals import duration_text
from spark_jobs.show.coverage import data_until_text


@contextmanager
def opened(arguments: Namespace) -> Iterator[AuditedWarehouse]:
    """The command's warehouse, with its configuration where it has one; what is being done with it is shown."""
    with progress_on() as say:
        yield open_warehouse(arguments.warehouse, vars(arguments).get("config"), say)


def time_of(arguments: Namespace, warehouse: AuditedWarehouse) -> dict[str, Any]:
    """The time of `--interval` or `--last`, as the questions of a warehouse take it; neither: no time. Reports on
    stderr which time `--last` is.
    """
    if arguments.last is not None:
        length = timedelta(seconds=arguments.last)
        newest = warehouse.time(length, cluster=vars(arguments).get("cluster"))
        warehouse.progress(f"the newest audited {duration_text(length)}: {newest}")
        return {"since": length}
    interval = arguments.interval
    return {} if interval is None else {"since": interval.start, "until": interval.end}


def show_age(coverage: Coverage, now: datetime) -> None:
    """Show where the data end: what is shown is of then, not of now."""
    if coverage.data_until:
        print_line(Console(), f"{data_until_text(coverage, now)}.")


def show_coverage(coverage: Coverage) -> None:
    """Show what an answer stands on, and what is missing, if that is not the whole."""
    if not coverage.is_whole:
        for sentence in (*([f"{coverage.text()}."] if coverage.groups else []), *coverage.lacks()):
            print_line(Console(), sentence)
