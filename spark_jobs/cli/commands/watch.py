"""The command that audits each step soon after its end, until it is told to stop."""

import os
from argparse import Namespace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pyspark.sql import SparkSession
from rich.console import Console

from spark_jobs.api.start import snapshots_of, spark_for
from spark_jobs.api.warehouse import open_warehouse
from spark_jobs.cli.commands.notify import send_new, show_message
from spark_jobs.cli.terminal import print_line, progress_on, until_told
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.errors import ExitCode
from spark_jobs.operate.deliver import VARIABLE
from spark_jobs.operate.maintain import check_retention
from spark_jobs.operate.retention import Keep
from spark_jobs.operate.watch import Watch
from spark_jobs.show.metrics import write_metrics
from spark_jobs.store.read.stored import StoredTables
from spark_jobs.store.warehouse import Warehouse


def watch_command(arguments: Namespace) -> int:
    """Exit code 0 on SIGTERM and Ctrl-C. Raises the tenth error in a row."""
    retention = timedelta(days=arguments.retention_days)
    check_retention(retention)
    location, grid = Warehouse.parse(arguments.warehouse), arguments.config.grid
    console, has_target = Console(), arguments.to or os.environ.get(VARIABLE) or arguments.config.routes

    def tell(stored: StoredTables) -> None:
        if arguments.textfile:
            metrics = open_warehouse(arguments.warehouse, arguments.config).metrics()
            write_metrics(metrics, Path(arguments.textfile))
        if has_target:
            for message in send_new(stored, arguments):
                show_message(message, arguments.target)

    def say(step: Interval, message: str, has_ended: bool) -> None:
        if has_ended:
            after = (datetime.now(UTC) - step.end).total_seconds()
            print_line(console, f"{step} {' '.join(message.split())}, {after:,.0f} s after its end")

    def session() -> SparkSession:
        ended_at = grid.floor(datetime.now(UTC))
        steps = Interval(ended_at - 2 * grid.length, ended_at)
        with progress_on() as progress:
            return spark_for(location, arguments.scale, progress, snapshots_of(steps))

    keep = Keep(arguments.keep_snapshots, arguments.keep_results, arguments.keep_quarantine)
    watch = Watch(location, arguments.config, session, keep, retention, tell, say)
    with until_told(watch.stopped.set):
        watch.run()
    return ExitCode.CLEAN
