"""One task of a scheduled run."""

from __future__ import annotations

from argparse import Namespace

from spark_jobs.api.start import snapshots_of
from spark_jobs.cli.session import spark_for
from spark_jobs.cli.terminal import print_to_stderr, printable, progress_on
from spark_jobs.config.file import load
from spark_jobs.errors import ExitCode
from spark_jobs.pipeline.run import RunRequest
from spark_jobs.pipeline.tasks import TASKS, ScheduledRun
from spark_jobs.store.warehouse import Warehouse


def task_command(arguments: Namespace) -> int:
    """Exit code 0 also with warnings: a scheduler takes any other for a failure."""
    configuration, warehouse = load(arguments.config), Warehouse.parse(arguments.warehouse)
    request = RunRequest(arguments.interval, arguments.cluster, arguments.group)
    with progress_on() as say:
        spark = spark_for(arguments, say, snapshots_of(arguments.interval))
        outcome = TASKS[arguments.TASK](ScheduledRun(spark, warehouse, request, configuration, arguments.run, say))
    print(printable(outcome.says))
    for warning in outcome.warnings:
        print_to_stderr(f"warning: {warning}")
    return ExitCode.CLEAN
