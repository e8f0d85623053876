"""Shared by the commands that read: the warehouse, the time that is asked for, and how old the data are."""

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from rich.console import Console

from spark_jobs.api.warehouse import AuditedWarehouse, open_warehouse
from spark_jobs.cli.terminal import print_line, progress_on
from spark_jobs.domain.model.intervals import duration_text, format_utc
from spark_jobs.show.data_age import DataAge


@contextmanager
def opened(arguments: Namespace) -> Iterator[AuditedWarehouse]:
    """The command's warehouse, with its configuration where it has one; what is being done with it is shown."""
    with progress_on() as say:
        yield open_warehouse(arguments.warehouse, vars(arguments).get("config"), say)


def time_of(arguments: Namespace, warehouse: AuditedWarehouse) -> dict[str, Any]:
    """The time of `--interval` or `--last`, as the questions of a warehouse take it; neither: no time. Reports on
    stderr which time `--last` is.
    """
    interval = arguments.interval
    if arguments.last is not None:
        length = timedelta(seconds=arguments.last)
        interval = warehouse.time(length, cluster=vars(arguments).get("cluster"))
        warehouse.progress(f"the newest audited {duration_text(length)}: {interval}")
    return {} if interval is None else {"since": interval.start, "until": interval.end}


def show_age(data_age: DataAge | None, now: datetime) -> None:
    """Show where the data end: what is shown is of then, not of now."""
    if data_age is not None:
        print_line(Console(), f"{data_age.text(now)}.")


def middle(start: datetime, end: datetime) -> str:
    """A moment between the two, in whole seconds where one lies there."""
    middle = start + (end - start) / 2
    full_second = middle.replace(microsecond=0)
    return format_utc(full_second if full_second >= start else middle)
